import { afterEach, expect, test } from "vitest";
import { type Workbench, workbench } from "./support/workbench.ts";

let bench: Workbench;
afterEach(() => bench.close());

const SCRIPT = { turns: [[{ say: "one" }], [{ say: "two" }, { die: "SIGKILL" }], [{ recall: true }]] };

test.each([
  ["session/resume", {}],
  ["session/load", { resume: false }],
])("a session is continued by %s after SIGKILL, with its past and at its next turn", async (_method, change) => {
  bench = await workbench();
  const script = { ...SCRIPT, ...change };
  const first = await bench.engine(script);
  await first.prompt("remember apples");
  expect(await first.prompt("and pears")).toMatchObject({ kind: "died" });
  await first.stop();

  const second = await bench.engine(script, {}, first.session_id);
  expect(second).toMatchObject({ session_id: first.session_id, context: "native", why_not_native: null });
  await second.prompt("what was it?");
  expect(bench.texts("message")).toEqual(["one", "two", "I remember 2 earlier prompts:\nremember apples\nand pears"]);
});

test("a session that the agent does not have is a new one, and says why", async () => {
  bench = await workbench();
  const engine = await bench.engine(SCRIPT, {}, "no-such-session");
  expect(engine.context).toBe("new");
  expect(engine.session_id).not.toBe("no-such-session");
  expect(engine.why_not_native).toContain("could not load");
});

test("a loaded session without any past is not claimed as native", async () => {
  bench = await workbench();
  const script = { ...SCRIPT, resume: false };
  const first = await bench.engine(script);
  await first.stop();
  const second = await bench.engine(script, {}, first.session_id);
  expect(second.context).toBe("new");
  expect(second.why_not_native).toContain("without any past");
});

test("an agent that cannot load sessions gets a new one", async () => {
  bench = await workbench();
  const engine = await bench.engine({ ...SCRIPT, load: false }, {}, "whatever");
  expect(engine.context).toBe("new");
  expect(engine.why_not_native).toContain("cannot load");
});

test("a known model is set and an unknown one is refused before any prompt", async () => {
  bench = await workbench();
  await bench.engine(SCRIPT, { model: "scripted-2" });
  const refused = await bench.start(SCRIPT, { model: "gpt-9" });
  expect(refused).toMatchObject({ ok: false, stop: { reason: "failed", source: "loop" } });
  expect(refused.ok ? "" : refused.stop.evidence).toMatch(/"gpt-9".*scripted-1, scripted-2/);
});

test("a mode that does not hold the permission level is refused before any prompt", async () => {
  bench = await workbench();
  const refused = await bench.start(SCRIPT, { permissions: "ask", mode: "all" });
  expect(refused).toMatchObject({ ok: false, stop: { reason: "failed" } });
  expect(refused.ok ? "" : refused.stop.evidence).toContain('"all"');
  await bench.engine(SCRIPT, { permissions: "all", mode: "ask" });
});

test("a mode that the agent does not have is refused by name", async () => {
  bench = await workbench();
  const refused = await bench.start(SCRIPT, { mode: "turbo" });
  expect(refused.ok ? "" : refused.stop.evidence).toMatch(/no mode "turbo"; it has: all, edits, ask/);
});

test("a program that is not there fails", async () => {
  bench = await workbench();
  const agent = { name: "ghost", profile: "generic", command: "/nowhere/ghost", args: [], env: {} };
  const start = await bench.start(SCRIPT, { agent });
  expect(start).toMatchObject({ ok: false, stop: { reason: "failed", source: "exit" } });
  expect(start.ok ? "" : start.stop.evidence).toContain("/nowhere/ghost");
});

test("a program that exits with 127 at its start fails", async () => {
  bench = await workbench();
  const agent = { name: "broken", profile: "generic", command: "/bin/sh", args: ["-c", "echo gone >&2; exit 127"], env: {} };
  const start = await bench.start(SCRIPT, { agent });
  expect(start).toMatchObject({ ok: false, stop: { reason: "failed", source: "exit" } });
  expect(start.ok ? "" : start.stop.evidence).toContain("gone");
});

test("a program that dies at its start is reported with its exit and its last words", async () => {
  bench = await workbench();
  const agent = { name: "broken", profile: "generic", command: "/bin/sh", args: ["-c", "echo kaputt >&2; exit 3"], env: {} };
  const start = await bench.start(SCRIPT, { agent });
  expect(start).toMatchObject({ ok: false, stop: { source: "exit" } });
  expect(start.ok ? "" : start.stop.evidence).toMatch(/code 3.*kaputt/);
});

test("an agent without injected tools cannot report", async () => {
  bench = await workbench();
  const engine = await bench.engine({ turns: [[{ report: { completed: [], intended: [] } }]] });
  await engine.prompt("go");
  expect(engine.canReport()).toBe(false);
  expect(bench.heard.reports).toEqual([]);
});

test("engines see the user's home and the run's marker, not the caller's git or nesting variables", async () => {
  bench = await workbench({
    GIT_DIR: "/elsewhere",
    CLAUDECODE: "1",
    LOOPKEEPER_KEY: "k",
    LOOPKEEPER_DATABASE_URL: "postgres://u:p@h/d",
    KEEP: "kept",
  });
  const names = ["GIT_DIR", "CLAUDECODE", "LOOPKEEPER_KEY", "LOOPKEEPER_DATABASE_URL", "KEEP", "HOME"];
  const engine = await bench.engine({ turns: [[{ environment: [...names, "LOOPKEEPER_RUN_ID"] }]] });
  await engine.prompt("go");
  const said = bench.texts("message")[0]?.split("\n");
  expect(said).toEqual([
    ...["GIT_DIR=", "CLAUDECODE=", "LOOPKEEPER_KEY=", "LOOPKEEPER_DATABASE_URL=", "KEEP=kept"],
    ...[`HOME=${bench.folder}`, `LOOPKEEPER_RUN_ID=${bench.run_id}`],
  ]);
});
