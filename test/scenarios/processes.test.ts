import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { sleep } from "../../src/run/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { type Door, fileAppears, newProduct, type Product, refusalOf } from "../support/product.ts";
import { rawSql } from "../support/stores.ts";

/** What a run leaves alive, and whom it takes for whom, when processes die, hang or come back. */

const done = [{ report: { completed: [], intended: [], verdict: "done" } }];
const products = {
  plain: await newProduct(),
  reboot: await newProduct(),
  stranger: await newProduct(),
  orphans: await newProduct(),
  neighbour: await newProduct(),
  skewed: await newProduct("postgres"),
  pushed: await newProduct(),
};
const plain = await products.plain.connect();

const foreigners: ChildProcess[] = [];
afterAll(() => {
  for (const child of foreigners) child.kill("SIGKILL");
});

/** Ids of living processes with these words in their command line. */
function running(words: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/u.test(name))
    .filter((pid) => {
      try {
        const state = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.charAt(0);
        return state !== "Z" && readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").includes(words);
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function rows(product: Product, text: string): Promise<void> {
  const options = { url: product.env["LOOPKEEPER_DATABASE_URL"] ?? null, path: join(product.home, "loopkeeper.db") };
  await rawSql({ options }, text);
}

/** A run whose first iteration ends and whose second one is under way. */
async function inSecondIteration(product: Product, door: Door, name: string): Promise<string> {
  const agent = product.agent(name, [
    [{ edit: { path: "one", content: "1" } }],
    [{ edit: { path: "two", content: "2" } }, { run: "touch begun; sleep 300" }],
    done,
  ]);
  const { run_id, workspace } = await door.start({ repo: product.box.repo(name), objective: name, agent });
  await fileAppears(join(workspace.path, "begun"));
  return run_id;
}

describe.concurrent("processes", () => {
  test("a wait for an iteration that names an older revision is told at once of one that ended since", async () => {
    const run_id = await inSecondIteration(products.plain, plain, "waited");
    const wait = { run_id, until: "iteration", timeout_s: 0 };
    expect(await plain.call("run_wait", { ...wait, since_revision: 1 })).toMatchObject({
      timed_out: false,
      run: { iteration: 1 },
    });
    expect(await plain.call("run_wait", wait)).toMatchObject({ timed_out: true, run: { iteration: 1 } });
    await plain.call("run_stop", { run_id });
  });

  test("C27: a resume with no iterations left is refused at once and starts no engine", async () => {
    const product = products.plain;
    const agent = product.agent("spent", [[{ edit: { path: "a", content: "1" } }], done]);
    const { run_id } = await plain.start({ repo: product.box.repo("spent"), objective: "spent", agent, max_iterations: 1 });
    const before = await plain.ended(run_id);
    expect(await refusalOf(plain.call("run_resume", { run_id, instructions: "go on" }))).toMatch(
      /^not_allowed: needs_iterations: .*0 iterations left.*run_grant_iterations/u,
    );
    const after = await plain.call("run_status", { run_id });
    expect(after.run).toMatchObject({ state: "stopped", stop_reason: "max_iterations", revision: before.revision });
    await plain.call("run_resume", { run_id, add_iterations: 1 });
    expect(await plain.ended(run_id)).toMatchObject({ state: "done", iteration: 2, max_iterations: 2 });
  });

  test("C37: after a kill in the second iteration a new server makes it interrupted, keeps the first one, and resumes it", async () => {
    const product = products.reboot;
    const run_id = await inSecondIteration(product, await product.connect(), "rebooted");
    await product.killEverything();
    const door = await product.connect();
    expect(await door.ended(run_id)).toMatchObject({
      state: "stopped",
      stop_reason: "interrupted",
      iteration: 1,
      resumable: true,
    });
    const { explanation, choices } = await door.call("run_explain_stop", { run_id });
    expect(explanation).toMatchObject({ cause: { stop_reason: "interrupted", source: "recovery" } });
    expect(explanation?.uncommitted.files.map((file) => file.path)).toContain("two");
    expect(choices?.find((choice) => choice.recommended)).toMatchObject({ action: "resume", allowed: true });
    await door.call("run_resume", { run_id });
    expect(await door.ended(run_id)).toMatchObject({ state: "done", iteration: 2 });
  });

  test("C40: a pid that belongs to a stranger now is no driver, and the stranger is never signalled", async () => {
    const product = products.stranger;
    const first = await product.connect();
    const [here, elsewhere] = await Promise.all([
      inSecondIteration(product, first, "here"),
      inSecondIteration(product, first, "elsewhere"),
    ]);
    await product.killEverything();
    const stranger = spawn("sleep", ["9999"], { stdio: "ignore" });
    foreigners.push(stranger);
    const as = (host: string): string => `identity = json_set(json_set(identity, '$.pid', ${stranger.pid ?? 0})${host})`;
    await rows(product, `update workers set ${as("")}`);
    await rows(product, `update leases set ${as("")} where run_id = '${here}'`);
    await rows(product, `update leases set ${as(", '$.host', 'another-host'")} where run_id = '${elsewhere}'`);
    const door = await product.connect();
    for (const run_id of [here, elsewhere]) {
      expect(await door.ended(run_id)).toMatchObject({ stop_reason: "interrupted", iteration: 1 });
      await door.call("run_resume", { run_id });
      expect(await door.ended(run_id)).toMatchObject({ state: "done" });
    }
    expect(stranger.exitCode).toBeNull();
    expect(stranger.signalCode).toBeNull();
  });

  test("C42: nothing that a run started outlives its stop or its crash, detached and disguised as it may be; others' live on", async () => {
    const product = products.orphans;
    const leave = (seconds: number) => [
      { spawn: `exec sleep ${seconds}1` },
      { run: `(env -i /usr/bin/setsid /bin/sh -c 'cd /; /bin/sleep ${seconds}2 & exit' >/dev/null 2>&1 &)` },
      { run: `touch left-${seconds}; sleep 300` },
    ];
    const first = await product.connect();
    const neighbour = await products.neighbour.connect();
    const start = async (on: Product, door: Door, seconds: number) => {
      const agent = on.agent(`leaves-${seconds}`, [leave(seconds)]);
      const run = await door.start({ repo: on.box.repo(`leaves-${seconds}`), objective: `leaves ${seconds}`, agent });
      await fileAppears(join(run.workspace.path, `left-${seconds}`));
      return run.run_id;
    };
    const [stopped, crashed] = await Promise.all([
      start(product, first, 70771),
      start(product, first, 70772),
      start(products.neighbour, neighbour, 70773),
    ]);
    for (const seconds of [70771, 70772, 70773]) {
      expect(running(`sleep ${seconds}1`)).toHaveLength(1);
      expect(running(`sleep ${seconds}2`)).toHaveLength(1);
    }
    await first.call("run_stop", { run_id: stopped });
    expect(await first.ended(stopped)).toMatchObject({ stop_reason: "cancelled" });
    expect(running("sleep 70771")).toEqual([]);
    expect(running("sleep 70772")).toHaveLength(2);
    await product.killWorker();
    await first.close();
    const second = await product.connect();
    expect(await second.ended(crashed)).toMatchObject({ stop_reason: "interrupted" });
    expect(running("sleep 70772")).toEqual([]);
    expect(running("sleep 70773")).toHaveLength(2);
    await neighbour.close();
  });

  test("C39: of two servers with clocks ten minutes apart one drives; a driver that was frozen past its lease can write nothing", async () => {
    const product = products.skewed;
    const shim = join(product.box.dir, "ten-minutes-ahead.cjs");
    writeFileSync(
      shim,
      "const R = Date, ahead = 600000; globalThis.Date = class extends R { constructor(...a) { a.length > 0 ? super(...a) : super(R.now() + ahead); } static now() { return R.now() + ahead; } };",
    );
    const right = await product.connect();
    const ahead = await product.connect({ LOOPKEEPER_HOME: `${product.home}-ahead`, NODE_OPTIONS: `--require ${shim}` });
    expect((await ahead.call("run_list")).summary).toContain("run");
    const agent = product.agent("frozen", [
      [{ run: "touch begun; sleep 18; echo whole > whole" }],
      [{ run: "touch again; sleep 300" }],
      done,
    ]);
    const { run_id, workspace } = await right.start({ repo: product.box.repo("frozen"), objective: "frozen", agent });
    // A turn longer than the lease is nobody's to take.
    await fileAppears(join(workspace.path, "again"));
    expect((await ahead.call("run_status", { run_id })).run).toMatchObject({ state: "running", iteration: 1 });
    const [worker] = running("loopkeeper.js worker").filter((pid) => product.processesWith(product.home).includes(pid));
    if (worker === undefined) throw new Error("no worker");
    process.kill(worker, "SIGSTOP");
    expect(await ahead.ended(run_id)).toMatchObject({ stop_reason: "interrupted", iteration: 1 });
    expect(product.processesWith(`LOOPKEEPER_RUN_ID=${run_id}`)).toEqual([]);
    const options = { url: product.env["LOOPKEEPER_DATABASE_URL"] ?? null, path: "" };
    const store = await openStore(options);
    const before = await store.events(run_id, { after: 0, limit: 1_000 });
    process.kill(worker, "SIGCONT");
    // It finds itself signed off and leaves.
    while (existsSync(`/proc/${worker}/cmdline`) && readFileSync(`/proc/${worker}/cmdline`, "utf8") !== "") await sleep(200);
    expect(await store.events(run_id, { after: 0, limit: 1_000 })).toEqual(before);
    await store.close();
    await ahead.call("run_resume", { run_id });
    expect(await right.ended(run_id)).toMatchObject({ state: "done", iteration: 2 });
  });

  test("C54: a repeated call has its effect once with its id and says so; without one it is a second call", async () => {
    const product = products.plain;
    const agent = product.agent("twice", [
      [{ edit: { path: "a", content: "1" } }],
      [{ edit: { path: "a", content: "2" } }],
      done,
    ]);
    const args = { repo: product.box.repo("twice"), objective: "twice", agent, max_iterations: 1 };
    const [one, two] = await Promise.all([1, 2].map(() => plain.call("coding_loop_start", { ...args, request_id: "start" })));
    expect(one?.run?.run_id).toBe(two?.run?.run_id);
    expect([one, two].filter((answer) => answer?.["replayed"] !== null)).toHaveLength(1);
    const run_id = one?.run?.run_id ?? "";
    const stopped = await plain.ended(run_id);
    const grant = { run_id, iterations: 1, continue: false, expected_revision: stopped.revision };
    const granted = await plain.call("run_grant_iterations", { ...grant, request_id: "grant" });
    const again = await plain.call("run_grant_iterations", { ...grant, request_id: "grant" });
    expect(again).toMatchObject({ granted: granted["granted"], replayed: { first_at: expect.any(String) } });
    expect(again.summary).toContain("Nothing was done now");
    expect(again.run?.max_iterations).toBe(2);
    expect(await refusalOf(plain.call("run_grant_iterations", { ...grant, iterations: 2, request_id: "grant" }))).toMatch(
      /^bad_input/u,
    );
    expect(await refusalOf(plain.call("run_stop", { run_id, request_id: "grant" }))).toMatch(/^bad_input/u);
    expect((await plain.call("run_grant_iterations", { run_id, iterations: 1, continue: false })).run?.max_iterations).toBe(3);
    await plain.call("run_resume", { run_id, request_id: "resume" });
    expect(await plain.call("run_resume", { run_id, request_id: "resume" })).toMatchObject({
      replayed: { first_at: expect.any(String) },
    });
    await plain.ended(run_id);
    const attempts = (await plain.call("run_status", { run_id })).run?.steps[0]?.attempt;
    expect(attempts).toBe(2);
  });

  test("C54: a push that was not recorded before the crash is named, and the note says to check before it is repeated", async () => {
    const product = products.pushed;
    const { box } = product;
    const repo = box.repo("pushing");
    box.git(box.dir, "clone", "-q", "--bare", repo, "remote.git");
    box.git(repo, "remote", "add", "origin", join(box.dir, "remote.git"));
    const agent = product.agent("pushing", [
      [
        { edit: { path: "fix", content: "fix" } },
        { commit: "Fix it" },
        { run: "git push -q origin HEAD; touch pushed; sleep 300" },
      ],
      done,
    ]);
    const first = await product.connect();
    const { run_id, workspace } = await first.start({ repo, objective: "push", agent });
    await fileAppears(join(workspace.path, "pushed"));
    await product.killEverything();
    const door = await product.connect();
    await door.ended(run_id);
    const { explanation } = await door.call("run_explain_stop", { run_id });
    const pushes = [...(explanation?.acts.landed ?? []), ...(explanation?.acts.unobserved ?? [])].filter(
      (act) => act.kind === "push",
    );
    expect(pushes).toHaveLength(1);
    const { resumed } = await door.call("run_resume", { run_id });
    expect(resumed?.note).toMatch(/push/u);
    expect(await door.ended(run_id)).toMatchObject({ state: "done" });
    expect(box.git(box.dir, "--git-dir=remote.git", "log", "--all", "--format=%s", "--grep=Fix it")).toBe("Fix it");
  });
});
