import { createHash, generateKeyPairSync, randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { newProduct } from "../support/product.ts";
import { storedTexts } from "../support/stored-texts.ts";
import { backends } from "../support/stores.ts";

// Shapes are built here so that no scanner of this repository takes a test for a leak.
const random = (length: number): string =>
  createHash("sha512").update(randomUUID()).digest("base64").replaceAll(/[+/=]/gu, "").slice(0, length);
const upper = (length: number): string => createHash("sha256").update(randomUUID()).digest("hex").toUpperCase().slice(0, length);
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function newSecrets() {
  const pem = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const secrets = {
    database: `pw${random(12)}`,
    password: `hunter-7${random(6)}`,
    bearer: random(32),
    basic: Buffer.from(`ann:${random(12)}`).toString("base64"),
    github: `${"gh"}p_${random(36)}`,
    github_pat: `${"github"}_pat_${random(22)}_${random(59)}`,
    anthropic: `${"sk-"}ant-api03-${random(60)}`,
    openai: `${"sk-"}proj-${random(48)}`,
    aws: `${"AK"}IA${upper(16)}`,
    aws_secret: random(40),
    slack: `${"xo"}xb-123456789012-1234567890123-${random(24)}`,
    npm: `${"np"}m_${random(36)}`,
    gitlab: `${"gl"}pat-${random(20)}`,
    google: `${"AI"}za${random(35)}`,
    stripe: `${"sk"}_live_${random(24)}`,
    huggingface: `${"h"}f_${random(34)}`,
    jwt: `${base64url({ alg: "HS256" })}.${base64url({ sub: randomUUID(), name: "Ann" })}.${random(43)}`,
  };
  const env = [
    `DATABASE_URL=postgres://app:${secrets.database}@db.internal:5432/app`,
    `DB_PASSWORD=${secrets.password}`,
    `AWS_ACCESS_KEY_ID=${secrets.aws}`,
    `AWS_SECRET_ACCESS_KEY=${secrets.aws_secret}`,
    `GITHUB_TOKEN=${secrets.github}`,
  ].join("\n");
  const prose = [
    `curl -H "Authorization: Bearer ${secrets.bearer}" https://api.example.com`,
    `Authorization: Basic ${secrets.basic}`,
    `pushed with ${secrets.github_pat}, asked ${secrets.anthropic} and ${secrets.openai}`,
    `told ${secrets.slack}; published with ${secrets.npm}; cloned with ${secrets.gitlab}`,
    `maps ${secrets.google}, paid ${secrets.stripe}, model ${secrets.huggingface}`,
    `session ${secrets.jwt}`,
  ].join("\n");
  const keyLines = pem.trim().split("\n").slice(1, -1);
  return { pem, env, prose, hidden: [...Object.values(secrets), ...keyLines], secrets };
}

describe.each(backends)("secrets on %s", async (backend) => {
  const product = await newProduct(backend);

  test("C50: no secret that an agent shows is in any answer, row, journal or log, and hashes and ids stay", async () => {
    const { pem, env, prose, hidden, secrets } = newSecrets();
    const kept = [
      createHash("sha1").update(randomUUID()).digest("hex"),
      randomUUID(),
      createHash("md5").update("x").digest("hex"),
    ];
    const all = `${env}\n${prose}\n${pem}`;
    const repo = product.box.repo(`secrets-${backend}`);
    const file = join(product.box.dir, `env-${backend}`);
    writeFileSync(file, all);
    const half = Math.floor(pem.length / 2);
    const agent = product.agent("leaky", [
      [
        { say: `I read this:\n${all}\nand ${kept.join(" and ")}` },
        // In two chunks, and with another update between the halves.
        { say: `\nthe token is ${secrets.github.slice(0, 17)}` },
        { say: secrets.github.slice(17) },
        { say: `\nand ${secrets.npm.slice(0, 20)}` },
        { think: `hm ${secrets.jwt.slice(0, 40)}` },
        { say: `${secrets.npm.slice(20)} is it\n${pem.slice(0, half)}` },
        { think: secrets.jwt.slice(40) },
        { say: pem.slice(half) },
        { run: `cat ${file}` },
        {
          run: {
            command: `curl -u ann:${secrets.password} -H "Authorization: Bearer ${secrets.bearer}" http://127.0.0.1:1/`,
            title: `curl with ${secrets.openai}`,
          },
        },
        { plan: [[`rotate ${secrets.aws} and ${secrets.slack}`, "in_progress"]] },
        { edit: { path: "config/local.env", content: all } },
        { edit: { path: `notes-${secrets.gitlab}.txt`, content: "x\n" } },
        { run: `git checkout -qb fix/${secrets.github}` },
        { commit: `Use ${secrets.anthropic}\n\n${prose}` },
        { edit: { path: "left.env", content: all } },
        {
          report: {
            completed: [`set DB_PASSWORD=${secrets.password}`],
            midway: `trying ${secrets.google}`,
            intended: [`use ${secrets.stripe}`],
            summary: prose,
          },
        },
      ],
      [{ say: `again ${prose}` }, { fail: { code: -32603, message: `upstream said: ${prose}`, data: { env, key: pem } } }],
      [{ say: "going on" }, { fail: "auth" }],
    ]);
    const door = await product.connect();
    const started = await door.call("coding_loop_start", {
      repo,
      objective: `Deploy with ${secrets.github_pat}`,
      agent,
      verify: [`cat ${file}; exit 1`],
      permissions: "all",
    });
    const runId = started.run?.run_id ?? "";
    expect(await door.ended(runId)).toMatchObject({ stop_reason: "failed" });
    const texts = [
      JSON.stringify(started),
      await door.text("run_explain_stop", { run_id: runId }),
      JSON.stringify(await door.call("run_explain_stop", { run_id: runId })),
      JSON.stringify(await door.call("run_status", { run_id: runId })),
      await door.text("run_list", {}),
    ];
    expect(
      await door.text("run_resume", { run_id: runId, from: "stop", instructions: "Use DB_PASSWORD=hunter2", dry_run: true }),
    ).toContain("Warning: what you gave holds what looks like a credential (password)");
    const resumed = await door.call("run_resume", {
      run_id: runId,
      from: "stop",
      instructions: `The password is ${secrets.password}: DB_PASSWORD=${secrets.password}`,
    });
    texts.push(JSON.stringify(resumed));
    expect(await door.ended(runId)).toMatchObject({ stop_reason: "engine_auth" });
    const dry = await door.call("coding_loop_start", { repo, objective: "Next", agent, dry_run: true, workspace: "in_place" });
    texts.push(JSON.stringify(dry));
    for (const what of ["report", "transcript", "iterations/1", "iterations/2", "diff", "plan", "note"])
      texts.push(await door.read(`loopkeeper://runs/${runId}/${what}`));
    for (const tool of ["run_transcript", "run_diff"])
      texts.push(await door.text(tool, { run_id: runId }), JSON.stringify(await door.call(tool, { run_id: runId })));
    texts.push(await door.text("run_transcript", { run_id: runId, search: "token" }));
    await door.close();
    const stored = await storedTexts(product.home, product.env["LOOPKEEPER_DATABASE_URL"]);
    const places = new Map([...stored, ...texts.map((text, index) => [`answer ${index}`, text] as const)]);

    const found = [...places].flatMap(([place, text]) =>
      hidden.filter((secret) => text.includes(secret)).map((secret) => `${place}: ${secret}`),
    );
    expect(found).toEqual([]);
    // A half of a token that was cut by another update is no use to anybody, but the other half must not follow it.
    const readable = [...places.values()].join("\n");
    expect(readable).not.toContain(secrets.npm.slice(20));
    expect(readable).not.toContain(secrets.jwt.slice(60));
    expect(readable).toContain("[redacted: github-token]");
    expect(readable).toContain("[redacted: private-key]");
    for (const text of kept) expect(readable).toContain(text);
    expect(String(started["warnings"])).toContain("github-token");
  });
});

describe("secrets in a long line", async () => {
  const product = await newProduct();

  test("C50: no half of a token is on a page of a diff or a transcript, wherever the page ends", async () => {
    const repo = product.box.repo("long-line");
    const tokens = Array.from({ length: 120 }, () => `${"gh"}p_${random(36)}`);
    const line = tokens
      .map((token, index) => `{"id":${index},"text":"${"lorem ipsum ".repeat(8 + (index % 9))}","t":"${token}"}`)
      .join(",");
    const agent = product.agent("long-line", [
      [
        { edit: { path: "one-line.json", content: line } },
        { say: line },
        { report: { completed: [], intended: [], verdict: "done" } },
      ],
    ]);
    const door = await product.connect();
    const { run_id } = await door.start({ repo, objective: "Write a long line", agent });
    await door.ended(run_id);
    const pages: string[] = [];
    for (const tool of ["run_diff", "run_transcript"]) {
      for (let cursor: unknown = null, n = 0; n === 0 || (typeof cursor === "string" && n < 60); n += 1) {
        const answer = await door.call(tool, { run_id, ...(typeof cursor === "string" ? { cursor } : {}) });
        pages.push(JSON.stringify(answer));
        cursor = answer["next_cursor"];
      }
    }
    await door.close();
    const all = pages.join("\n");
    expect(pages.length).toBeGreaterThan(6);
    expect(all.split("[redacted: github-token]").length).toBeGreaterThan(tokens.length);
    expect(tokens.filter((token) => all.includes(token.slice(0, 22)) || all.includes(token.slice(-20)))).toEqual([]);
  });
});
