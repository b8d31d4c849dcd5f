import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { sleep } from "../../src/run/clock.ts";
import { BIN, newProduct } from "../support/product.ts";
import { startServe } from "../support/serve.ts";

const home = realpathSync(mkdtempSync(join(tmpdir(), "lk-doctor-")));
const state = join(home, "state");
const programs = join(home, "bin");
const config = join(home, "config.json");
const SECRET = "sk-ant-oat01-abcdefghijklmnopqrstuvwxyz0123456789";
afterAll(() => rmSync(home, { recursive: true, force: true }));

const pageSchema = z.object({
  ok: z.boolean(),
  findings: z.array(z.object({ what: z.string(), state: z.string(), found: z.string(), do: z.string().nullable() })),
});

function loopkeeper(words: readonly string[], more: Record<string, string> = {}): Promise<{ code: number; out: string }> {
  const env = {
    PATH: `${programs}:${process.env["PATH"]}`,
    HOME: home,
    LOOPKEEPER_HOME: state,
    LOOPKEEPER_CONFIG: config,
    ...more,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...words], { cwd: home, env }, (error, out) => {
      resolve({ code: error === null ? 0 : Number(error.code), out });
    });
  });
}

async function doctor(words: readonly string[] = [], more: Record<string, string> = {}) {
  const { code, out } = await loopkeeper(["doctor", "--json", ...words], more);
  const { findings, ok } = pageSchema.parse(JSON.parse(out));
  return { code, out, ok, of: (what: string) => findings.find((finding) => finding.what === what) };
}

function put(path: string, text: string, mode = 0o600): void {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode });
  chmodSync(file, mode);
}

/** A program on PATH that answers the first message of ACP, or just ends. */
const agent = (answer: boolean): string =>
  `#!${process.execPath}\n${answer ? `process.stdin.once("data", () => console.log('{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'));` : "process.exit(7);"}\n`;

beforeAll(() => {
  put("config.json", "{}");
  put("bin/claude-agent-acp", agent(true), 0o755);
  put("bin/codex-acp", agent(false), 0o755);
  put("bin/package.json", '{"name": "x", "version": "9.8.7"}');
  put(
    ".claude/.credentials.json",
    JSON.stringify({ claudeAiOauth: { accessToken: SECRET, refreshToken: SECRET, expiresAt: 1 } }),
  );
});

describe("doctor", () => {
  it("finds a usable place well before anything is made in it, and makes nothing", async () => {
    const { code, ok, of } = await doctor();
    expect([code, ok]).toEqual([0, true]);
    expect(of("store")).toMatchObject({ state: "ok", found: expect.stringContaining("not there yet") });
    expect(of("agent claude")).toMatchObject({ state: "ok", found: "9.8.7, logged in by its login file" });
    expect(of("agent codex")).toMatchObject({ state: "warning", do: "Log in: codex login" });
    const after = await loopkeeper(["doctor"]);
    expect(after.out).toMatch(/ok {7}home +.*not there yet/u);
  });

  it("names the serve of this home", async () => {
    const serve = await startServe({ PATH: process.env["PATH"] ?? "", HOME: home, LOOPKEEPER_HOME: join(home, "served") });
    const { of } = await doctor([], { LOOPKEEPER_HOME: join(home, "served") });
    expect(of("serve")).toEqual({ what: "serve", state: "ok", found: `${serve.url}, process ${serve.child.pid}`, do: null });
    serve.child.kill("SIGTERM");
    await serve.exit();
  });

  it("tells a worker that lives and gives no sign", async () => {
    const product = await newProduct();
    const agent = product.agent("hangs", [[{ say: "I begin." }, { hang: true }]]);
    const door = await product.connect();
    await door.start({ repo: product.box.repo("work"), objective: "x", agent });
    await door.close();
    const worker = async () => (await doctor([], product.env)).of("worker");
    let at = await worker();
    for (; at?.found.endsWith("drives 1 run") !== true; at = await worker()) await sleep(200);
    const pid = Number(/^process (\d+)/u.exec(at.found)?.[1]);
    process.kill(pid, "SIGSTOP");
    while ((await worker())?.state === "ok") await sleep(500);
    expect(await worker()).toMatchObject({ state: "warning", do: expect.stringContaining(`kill -9 ${pid}`) });
  });

  it.skipIf(process.getuid?.() === 0)("names the folder above a home that cannot be made", async () => {
    put("closed/x", "");
    chmodSync(join(home, "closed"), 0o500);
    const { of } = await doctor([], { LOOPKEEPER_HOME: join(home, "closed/a/b") });
    expect(of("home")).toMatchObject({ state: "problem", found: expect.stringContaining(`may not write in ${home}/closed`) });
    chmodSync(join(home, "closed"), 0o700);
  });

  it("shows no secret, whatever the look", async () => {
    const outs = await Promise.all([
      doctor([], { OPENAI_API_KEY: SECRET, LOOPKEEPER_DATABASE_URL: `postgres://ann:${SECRET}@127.0.0.1:1/x` }),
      doctor([], { LOOPKEEPER_KEY: SECRET }),
    ]);
    for (const { out } of outs) expect(out).not.toContain(SECRET);
    expect(outs[0]?.of("agent codex")?.found).toContain("logged in by OPENAI_API_KEY");
    expect(outs[0]?.of("store")).toMatchObject({ state: "problem" });
    expect(outs[1]?.of("configuration")).toMatchObject({ state: "problem", found: expect.stringContaining("openssl rand") });
  });

  it("asks each agent with --deep, as `agents` does, and says why one does not answer", async () => {
    const [deep, agents] = await Promise.all([doctor(["--deep"]), loopkeeper(["agents"])]);
    expect(deep.code).toBe(1);
    expect(deep.of("agent claude")?.found).toMatch(/, answers$/u);
    expect(deep.of("agent codex")).toMatchObject({ state: "problem", found: expect.stringContaining("it ended with code 7") });
    expect(agents.out).toMatch(/^claude +found +9\.8\.7, logged in by its login file, answers$/mu);
    expect(agents.out).toMatch(/^gemini +not found /mu);
  });

  it("names a file of the configuration that cannot be read, and looks at the rest all the same", async () => {
    put("broken.json", "{");
    const { code, of } = await doctor([], { LOOPKEEPER_CONFIG: join(home, "broken.json") });
    expect(code).toBe(1);
    expect(of("configuration")).toMatchObject({ state: "problem", found: expect.stringContaining("broken.json is not JSON") });
    expect(of("git")).toMatchObject({ state: "ok" });
  });

  it("tells a damaged store, rights that are too wide, faults of the worker and a worktree of no run", async () => {
    await loopkeeper(["list"]);
    put("state/logs/worker.log", `${JSON.stringify({ level: 50, time: Date.now(), msg: "it fell over \u001b[2J" })}\n`);
    put("state/workspaces/zzzzzzzz/a.txt", "mine");
    put("state/notes.txt", "of the owner");
    chmodSync(state, 0o755);
    const sick = await doctor();
    expect(sick.of("home")).toMatchObject({ state: "warning", do: expect.stringContaining("chmod 700") });
    expect(sick.of("worker")).toMatchObject({ state: "warning", found: expect.stringContaining("it fell over") });
    expect(sick.of("worktrees")).toMatchObject({ state: "warning", found: expect.stringContaining("zzzzzzzz") });
    put("state/loopkeeper.db", "no database at all, and longer than nothing".repeat(100));
    const broken = await doctor();
    expect([broken.code, broken.of("store")?.state]).toEqual([1, "problem"]);
  });
});
