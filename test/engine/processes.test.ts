import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { parsePs } from "../../src/engine/process-table.ts";
import { newRunId, newToken } from "../../src/run/id.ts";
import { lives, pidIn } from "./support/processes.ts";
import { type Workbench, workbench } from "./support/workbench.ts";

let bench: Workbench;
afterEach(() => bench.close());

const at = (name: string): string => join(bench.cwd, name);

test("stop ends a detached process in a session of its own, a grandchild and a command that is running", async () => {
  bench = await workbench();
  const engine = await bench.engine({
    turns: [
      [
        { spawn: "echo $$ > detached; exec sleep 300" },
        { spawn: { command: "sh -c 'echo $$ > grandchild; sleep 300' & sleep 300", detached: false } },
        { run: "echo $$ > running; sleep 300" },
      ],
    ],
  });
  const turn = engine.prompt("go");
  const pids = await Promise.all(["detached", "grandchild", "running"].map((name) => pidIn(at(name))));
  expect(await Promise.all(pids.map(lives))).toEqual([true, true, true]);
  await engine.stop();
  expect(await Promise.all(pids.map(lives))).toEqual([false, false, false]);
  expect(await turn).toMatchObject({ kind: "cancelled" });
});

test("killMarked ends what a run left behind and no process of another run", async () => {
  bench = await workbench();
  const other = newRunId();
  const mine = { cwd: bench.cwd, run_id: bench.run_id, nonce: newToken(), timeout_s: 30 };
  await bench.engines.runCommand({ ...mine, command: "setsid sh -c 'echo $$ > mine; exec sleep 300' &" });
  await bench.engines.runCommand({ ...mine, run_id: other, command: "setsid sh -c 'echo $$ > theirs; exec sleep 300' &" });
  const [left, foreign] = await Promise.all([pidIn(at("mine")), pidIn(at("theirs"))]);

  expect(await bench.engines.killMarked(bench.run_id)).toBe(1);
  expect([await lives(left), await lives(foreign)]).toEqual([false, true]);
  expect(await bench.engines.killMarked(other)).toBe(1);
  expect(await bench.engines.killMarked(other)).toBe(0);
});

test("a command answers with its exit code and the end of its output", async () => {
  bench = await workbench({ GIT_INDEX_FILE: "/elsewhere" });
  const base = { cwd: bench.cwd, run_id: bench.run_id, nonce: bench.nonce, timeout_s: 30 };
  const run = (command: string) => bench.engines.runCommand({ ...base, command });
  expect(await run("echo out; echo err >&2; exit 3")).toEqual({ exit_code: 3, timed_out: false, tail: "out\nerr\n" });
  expect(await run("no-such-program-here")).toMatchObject({ exit_code: 127 });
  expect(await run("cat; pwd; echo [$GIT_INDEX_FILE]")).toMatchObject({ exit_code: 0, tail: `${bench.cwd}\n[]\n` });
  const long = await run("head -c 100000 /dev/zero | tr '\\0' x; echo end");
  expect(long.tail.length).toBe(4000);
  expect(long.tail.endsWith("xend\n")).toBe(true);
  expect(await run("echo ghp_0123456789abcdefghijABCDEFGHIJ012345")).toMatchObject({
    tail: expect.not.stringContaining("ghp_0"),
  });
});

test("a command that leaves a process behind answers when it exits itself", async () => {
  bench = await workbench();
  const base = { cwd: bench.cwd, run_id: bench.run_id, nonce: bench.nonce, timeout_s: 30 };
  const result = await bench.engines.runCommand({ ...base, command: "echo $$ > shell; sleep 300 & echo $! > left; echo ok" });
  expect(result).toEqual({ exit_code: 0, timed_out: false, tail: "ok\n" });
  const left = await pidIn(at("left"));
  expect(await lives(left)).toBe(true);
  await bench.engines.killMarked(bench.run_id);
  expect(await lives(left)).toBe(false);
});

test("a command at its limit is killed with its whole tree, and the engine of the same attempt lives", async () => {
  bench = await workbench();
  const engine = await bench.engine({ turns: [[{ say: "alive" }]] });
  const result = await bench.engines.runCommand({
    command: "echo begun; setsid sh -c 'echo $$ > deep; exec sleep 300' & sleep 300",
    cwd: bench.cwd,
    run_id: bench.run_id,
    nonce: bench.nonce,
    timeout_s: 0.5,
  });
  expect(result).toEqual({ exit_code: null, timed_out: true, tail: "begun\n" });
  expect(await lives(await pidIn(at("deep")))).toBe(false);
  expect(await engine.prompt("still there?")).toMatchObject({ kind: "ended" });
});

test("an aborted command is killed and has not timed out", async () => {
  bench = await workbench();
  const abort = new AbortController();
  const running = bench.engines.runCommand({
    command: "echo $$ > pid; sleep 300",
    cwd: bench.cwd,
    run_id: bench.run_id,
    nonce: bench.nonce,
    timeout_s: 30,
    signal: abort.signal,
  });
  const pid = await pidIn(at("pid"));
  abort.abort();
  expect(await running).toEqual({ exit_code: null, timed_out: false, tail: "" });
  expect(await lives(pid)).toBe(false);
});

test("a process is known by host, boot, pid and start time", async () => {
  bench = await workbench();
  const own = await bench.engines.processIdentity();
  expect(own.pid).toBe(process.pid);
  expect(await bench.engines.isAlive(own)).toBe(true);
  expect(await bench.engines.isAlive({ ...own, host: `${own.host}x` })).toBe(null);
  expect(await bench.engines.isAlive({ ...own, boot_id: "another boot" })).toBe(false);
  expect(await bench.engines.isAlive({ ...own, start_time: "1" })).toBe(false);
});

test("a pid that was given to another process is not the process that had it", async () => {
  bench = await workbench();
  const own = await bench.engines.processIdentity();
  const child = spawn("sleep", ["300"], { stdio: "ignore" });
  try {
    expect(await bench.engines.isAlive({ ...own, pid: child.pid ?? 0 })).toBe(false);
  } finally {
    child.kill("SIGKILL");
  }
});

test("rows of ps are read on hosts without /proc", () => {
  const text = "    1     0     0 Ss   Sun Nov 29 18:00:01 2026\n  812     1   812 Z    Sun Nov 29 19:00:01 2026\n\nnonsense\n";
  expect(parsePs(text)).toEqual([
    { pid: 1, ppid: 0, session: 0, start_time: "Sun Nov 29 18:00:01 2026", zombie: false },
    { pid: 812, ppid: 1, session: 812, start_time: "Sun Nov 29 19:00:01 2026", zombie: true },
  ]);
});
