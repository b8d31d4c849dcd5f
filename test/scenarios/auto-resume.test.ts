import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { epochMs, isoOf, msOf, sleep } from "../../src/run/clock.ts";
import { type Door, newProduct, type RunView, refusalOf } from "../support/product.ts";
import { rawSql } from "../support/stores.ts";

const product = await newProduct();
const rebooted = await newProduct();
const door: Door = await product.connect();

const done = [{ report: { completed: [], intended: [], verdict: "done" } }];
const limit = (resets: string) => [{ edit: { path: "half", content: resets } }, { fail: { kind: "usage_limit", resets } }];
const lost = [{ say: "hm" }, { fail: "overloaded" }];

async function stopOf(name: string, turns: readonly unknown[], args: Readonly<Record<string, unknown>> = {}): Promise<RunView> {
  const repo = product.box.repo(name);
  const { run_id } = await door.start({ repo, objective: name, agent: product.agent(name, turns), max_iterations: 5, ...args });
  return stopped(run_id, 0);
}

/** The run once it has stopped more than `stops` times; run_wait by default would wait for the next resume too. */
async function stopped(runId: string, stops: number): Promise<RunView> {
  const query = `select count(*) as n from events where run_id = '${runId}' and type in ('run_stopped', 'run_done')`;
  while (Number((await rows(query))[0]?.["n"]) <= stops) await sleep(100);
  const { run } = await door.call("run_status", { run_id: runId });
  if (run === undefined) throw new Error("the answer holds no run");
  return run;
}

async function rows(text: string, home = product.home): Promise<Record<string, unknown>[]> {
  const place = {
    options: { url: null, path: join(home, "loopkeeper.db") },
    open: () => Promise.reject(new Error("not here")),
  };
  const found = await rawSql(place, text);
  return found.flatMap((row) => (typeof row === "object" && row !== null ? [{ ...row }] : []));
}

/** The waiting is over: as if the time had come. */
const letTimeCome = (runId: string): Promise<unknown> =>
  rows(`update runs set waiting_until = '${isoOf(epochMs() - 1000)}' where run_id = '${runId}'`);

const minutesUntil = (run: RunView): number => (msOf(run.waiting_until ?? "") - epochMs()) / 60_000;

describe.concurrent("a run that may go on by itself", () => {
  test("C35: nothing starts by itself unless it was asked for, and the status says since when it can be resumed", async () => {
    const run = await stopOf("unasked", [limit("in 2 seconds"), done]);
    expect(run).toMatchObject({ stop_reason: "engine_limit", waiting_until: null, auto_resume: null });
    const at = run.stop?.["resets_at"];
    await sleep(Math.max(0, msOf(String(at)) - epochMs()) + 3_000);
    const later = await door.call("run_status", { run_id: run.run_id });
    expect(later.run).toMatchObject({ state: "stopped", revision: run.revision });
    expect(later.summary).toContain(`it can be resumed since ${String(at)}`);
    await door.call("run_resume", { run_id: run.run_id });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
  });

  test("waits for the reset and a margin, says so, and goes on with its context without a lost iteration", async () => {
    const run = await stopOf("window", [limit("in 2 hours"), done], { auto_resume: { times: 3 } });
    const margin = msOf(run.waiting_until ?? "") - msOf(String(run.stop?.["resets_at"]));
    expect(margin).toBeGreaterThanOrEqual(30_000);
    expect(margin).toBeLessThanOrEqual(90_000);
    const waiting = await door.call("run_wait", { run_id: run.run_id, timeout_s: 1 });
    expect(waiting).toMatchObject({ timed_out: true, run: { state: "stopped" } });
    expect(waiting.summary).toContain(
      `waits until ${run.waiting_until ?? ""} and then goes on by itself (auto_resume, time 1 of 3)`,
    );
    await letTimeCome(run.run_id);
    expect(await door.ended(run.run_id)).toMatchObject({
      state: "done",
      iteration: 1,
      waiting_until: null,
      auto_resume: { times: 3, used: 1 },
    });
    const kinds = await rows(`select context from attempts where run_id = '${run.run_id}' and attempt = 2`);
    expect(kinds).toEqual([{ context: "native" }]);
  });

  test("without a known time waits longer after each refusal, counts each, burns no iteration, and stops for good in the end", async () => {
    const run = await stopOf("unknown", [lost, lost, lost, done], { auto_resume: { reasons: ["relay_timeout"], times: 2 } });
    expect(run).toMatchObject({ stop_reason: "relay_timeout", iteration: 0 });
    expect(Math.round(minutesUntil(run))).toBe(1);
    await letTimeCome(run.run_id);
    const second = await stopped(run.run_id, 1);
    expect(second).toMatchObject({ stop_reason: "relay_timeout", iteration: 0, auto_resume: { used: 1 } });
    expect(Math.round(minutesUntil(second))).toBe(5);
    await letTimeCome(run.run_id);
    const third = await door.ended(run.run_id);
    expect(third).toMatchObject({ stop_reason: "relay_timeout", iteration: 0, waiting_until: null, auto_resume: { used: 2 } });
    expect((await door.call("run_status", { run_id: run.run_id })).summary).toContain("auto_resume is used up (2 of 2)");
  });

  test("does not when its reason was not named, and run_stop ends a pending resume", async () => {
    const [other, pending] = await Promise.all([
      stopOf("other", [limit("in 2 hours"), done], { auto_resume: { reasons: ["interrupted"], times: 2 } }),
      stopOf("pending", [limit("in 2 hours"), done], { auto_resume: { times: 2 } }),
    ]);
    expect(other.waiting_until).toBeNull();
    expect(await refusalOf(door.call("run_stop", { run_id: other.run_id }))).toMatch(/^not_allowed: stopped/u);
    const ended = await door.call("run_stop", { run_id: pending.run_id, why: "not tonight" });
    expect(ended.run).toMatchObject({ state: "stopped", stop_reason: "engine_limit", waiting_until: null });
    expect(await door.ended(pending.run_id)).toMatchObject({ state: "stopped" });
  });

  test("a person's resume meanwhile wins, and the pending one is gone", async () => {
    const run = await stopOf("person", [limit("in 2 hours"), done], { auto_resume: { times: 2 } });
    await door.call("run_resume", { run_id: run.run_id, at: "now" });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done", waiting_until: null, auto_resume: { used: 0 } });
  });

  test("goes on after a reboot: the next door that is opened wakes a worker for it", async () => {
    const { box } = rebooted;
    const before = await rebooted.connect();
    const agent = rebooted.agent("reboot", [limit("in 2 hours"), done]);
    const { run_id } = await before.start({ repo: box.repo("reboot"), objective: "reboot", agent, auto_resume: { times: 2 } });
    while ((await before.call("run_status", { run_id })).run?.waiting_until == null) await sleep(100);
    await rebooted.killEverything();
    await rows(`update runs set waiting_until = '${isoOf(epochMs() - 1000)}' where run_id = '${run_id}'`, rebooted.home);
    const after = await rebooted.connect();
    expect(await after.ended(run_id)).toMatchObject({ state: "done", auto_resume: { used: 1 } });
    await after.close();
  });

  test("a stop that was asked for during the iteration keeps the run stopped whatever ended it", async () => {
    const up = join(product.box.dir, "asked-up");
    const repo = product.box.repo("asked");
    const agent = product.agent("asked", [
      [
        { run: `touch ${up}; while [ ! -e ${up}-go ]; do sleep 0.05; done` },
        { fail: { kind: "usage_limit", resets: "in 2 hours" } },
      ],
    ]);
    const { run_id } = await door.start({ repo, objective: "asked", agent, auto_resume: { times: 2 } });
    product.box.sh(repo, `while [ ! -e ${up} ]; do sleep 0.05; done`);
    await door.call("run_stop", { run_id, mode: "after_iteration" });
    product.box.sh(repo, `touch ${up}-go`);
    expect(await door.ended(run_id)).toMatchObject({ stop_reason: "engine_limit", waiting_until: null });
  });
});
