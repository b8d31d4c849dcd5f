import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { sleep } from "../../src/run/clock.ts";
import { BIN, fileAppears, newProduct } from "../support/product.ts";

const product = await newProduct();
const repo = product.box.repo("work");
const programs = join(product.box.dir, "bin");
const opened = join(product.box.dir, "opened");
const place = join(product.home, "serve.json");
let run: string;

function loopkeeper(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = { ...product.env, PATH: `${programs}:${product.env["PATH"]}` };
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...words], { cwd: repo, env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: out.trim(), err });
    });
  });
}

async function signIn(base: string, token: string): Promise<number> {
  const headers = { "content-type": "application/json", origin: base };
  return (await fetch(`${base}/api/session`, { method: "POST", body: JSON.stringify({ token }), headers })).status;
}

const servePid = (): number =>
  z.object({ identity: z.object({ pid: z.number() }) }).parse(JSON.parse(readFileSync(place, "utf8"))).identity.pid;

beforeAll(async () => {
  mkdirSync(programs);
  writeFileSync(join(programs, "xdg-open"), `#!/bin/sh\nprintf %s "$1" > ${opened}.new && mv ${opened}.new ${opened}\n`);
  chmodSync(join(programs, "xdg-open"), 0o755);
  product.agent("quick", [[{ report: { completed: ["all"], intended: [], verdict: "done" } }]]);
  const door = await product.connect();
  run = (await door.start({ repo, objective: "x", agent: "quick" })).run_id;
  await door.ended(run);
  await door.close();
});

it("starts one serve in the background, finds it again, and opens it at the run without the token in any command line", async () => {
  const first = await loopkeeper("open", "--print");
  expect(first.out).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=\S+$/u);
  const pid = servePid();
  expect(statSync(place).mode & 0o777).toBe(0o600);
  const [base = "", token = ""] = first.out.split("/#token=");
  expect(await signIn(base, token)).toBe(200);
  const second = await loopkeeper("open", run.slice(4, 10));
  expect([second.code, servePid()]).toEqual([0, pid]);
  await fileAppears(opened);
  const shown = readFileSync(opened, "utf8");
  expect(shown).toMatch(/^file:.*console-[\w-]{22}\.html$/u);
  const page = fileURLToPath(shown);
  const html = readFileSync(page, "utf8");
  expect(shown + html).not.toContain(token);
  expect(statSync(page).mode & 0o777).toBe(0o600);
  const [ticket = ""] = html.split(`url=${base}/runs/${run}#token=`)[1]?.split('"') ?? [];
  expect([await signIn(base, ticket), existsSync(page)]).toEqual([200, false]);
  expect(await signIn(base, ticket)).toBe(401);
  process.kill(pid, "SIGTERM");
  while (existsSync(place)) await sleep(50);
});

it("starts a serve that ends by itself when nobody uses it", async () => {
  product.configure({ open_idle_minutes: 0.05 });
  expect((await loopkeeper("open", "--print")).code).toBe(0);
  while (existsSync(place)) await sleep(50);
  product.configure({ open_idle_minutes: 120 });
});

it("does not take a stranger for the serve that ended without a word", async () => {
  await loopkeeper("open", "--print");
  const pid = servePid();
  process.kill(pid, "SIGKILL");
  await sleep(200);
  expect(existsSync(place)).toBe(true);
  expect((await loopkeeper("open", "--print")).code).toBe(0);
  expect(servePid()).not.toBe(pid);
});

it("names a run that is not there before anything is started or opened", async () => {
  expect((await loopkeeper("open", "zzz", "--print")).err).toMatch(/^run_not_found: /u);
});
