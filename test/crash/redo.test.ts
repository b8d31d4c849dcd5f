import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isLive } from "../../src/run/run.ts";
import { type Door, newProduct, type Product, type RunView } from "../support/product.ts";
import { manifest, read } from "../support/repos.ts";
import { BLOCKED, DONE, does, states } from "../support/steps.ts";
import type { BackendName } from "../support/stores.ts";
import { deathsOf, TIMEOUT_MS } from "./support/deaths.ts";
import { eventually, type Lane, newLane } from "./support/lane.ts";
import { Victims } from "./support/victims.ts";

/** A redo whose server or worker is killed at any of its effects: it is as before, or carried on, and nobody's bytes are lost. */

const STEPS = [
  { step: "one", objective: "first" },
  { step: "two", objective: "second", needs: ["one"] },
];
/** A run whose first step failed after it had made and committed something. */
async function failedRun(product: Product, door: Door): Promise<RunView> {
  const env = { LOOPKEEPER_TEST_RAN: join(product.box.dir, "ran") };
  const turns = [does("one", { commit: "Work of one" }, { edit: { path: "made", content: "by the run" } }, BLOCKED)];
  const agent = product.agent("redo", turns, { env });
  const { run_id } = await door.start({
    repo: product.box.repo("redo"),
    agent,
    objective: "redo",
    steps: STEPS,
    max_iterations: 200,
  });
  return door.ended(run_id);
}

async function serverDies(backend: BackendName, every: number): Promise<void> {
  const product = await newProduct(backend);
  const door = await product.connect();
  const victims = new Victims(product);
  const run = await failedRun(product, door);
  const { run_id } = run;
  const tree = run.workspace.path;
  writeFileSync(join(tree, "person.txt"), "mine\n");
  const preview = async (): Promise<Readonly<Record<string, unknown>>> => {
    const { confirm_token } = await door.call("run_redo", { run_id, step: "one" });
    return { run_id, step: "one", confirm_token };
  };
  const points = await victims.points("run_redo", { ...(await preview()), request_id: "x-0" });
  expect(points.some((point) => point.includes("apply(step_redone"))).toBe(true);
  expect(points.some((point) => point.includes("applyRestore"))).toBe(true);
  for (const [index, point] of deathsOf(points, every).entries()) {
    const before = await door.ended(run_id);
    expect([point, read(tree, "made"), read(tree, "person.txt")]).toEqual([point, "by the run", "mine\n"]);
    const work = manifest(tree);
    const first = { ...(await preview()), request_id: `x-${index + 1}` };
    await victims.dies(point, "run_redo", first);
    const after = (await door.call("run_status", { run_id })).run;
    if (after?.state === "stopped" && after.revision === before.revision) await bringBack(door, run_id, tree, work);
    await finish(door, first);
    const ended = await door.ended(run_id);
    expect([point, states(ended)]).toEqual([point, { one: ["failed", index + 3], two: ["unreachable", 0] }]);
    expect(ended.iteration).toBe(index + 3);
  }
}

/** The same call again, and as long as it answers with a preview, once more with that one's token. */
async function finish(door: Door, first: Readonly<Record<string, unknown>>): Promise<void> {
  let answer = await door.call("run_redo", first);
  for (let tries = 0; answer["redone"] === undefined && tries < 3; tries += 1)
    answer = await door.call("run_redo", { run_id: first["run_id"], step: "one", confirm_token: answer.confirm_token });
  expect(answer["redone"]).toBeDefined();
}

/** What the broken-off redo had taken away is in its safety checkpoint, when it came so far as to take one. */
async function bringBack(door: Door, run_id: string, tree: string, work: Readonly<Record<string, string>>): Promise<void> {
  if (JSON.stringify(manifest(tree)) === JSON.stringify(work)) return;
  const { explanation } = await door.call("run_explain_stop", { run_id });
  const [safety] = (explanation?.checkpoints ?? []).filter((one) => one.kind === "reset");
  const { confirm_token } = await door.call("run_reset", { run_id, to: safety?.id });
  await door.call("run_reset", { run_id, confirm_token });
  expect(manifest(tree)).toEqual(work);
}

const CLAIMED = "after claimQueued#1";

/** A redo of the first of two steps of a done run; its worker dies after each of these effects. */
async function workerDies(backend: BackendName, every: number): Promise<void> {
  const lane = await newLane(backend);
  const { product, door } = lane;
  const ran = join(product.box.dir, "ran");
  const agent = product.agent("steps", [does("one"), does("two"), [DONE]], { env: { LOOPKEEPER_TEST_RAN: ran } });
  await lane.plan(null);
  const { run_id, workspace } = await lane.start({ agent, objective: "redo", steps: STEPS, max_iterations: 200 });
  expect(await door.ended(run_id)).toMatchObject({ state: "done" });
  writeFileSync(join(workspace.path, "person.txt"), "mine\n");
  const redo = async (): Promise<void> => {
    const { confirm_token } = await door.call("run_redo", { run_id, step: "one" });
    await door.call("run_redo", { run_id, step: "one", confirm_token });
  };
  const released = (): boolean => lane.traced().some((line) => line.startsWith("after releaseLease"));
  await lane.plan(null, CLAIMED);
  lane.worker();
  await redo();
  await door.ended(run_id);
  await eventually(lane, "the release", released);
  const traced = lane.traced().filter((line) => /^after (?!git )/u.test(line));
  const effects = traced.slice(traced.indexOf(CLAIMED) + 1);
  expect(effects.length).toBeGreaterThan(every);
  let deaths = 0;
  for (const effect of deathsOf(effects, every)) {
    rmSync(ran, { force: true });
    await lane.plan(effect, CLAIMED);
    await redo();
    lane.worker();
    // A record that a later redo has nothing new for is not written again: that one comes to its end.
    await eventually(lane, `the death ${effect}`, () => lane.died() || (!effect.startsWith("after releaseLease") && released()));
    deaths += Number(lane.died());
    await lane.plan(null);
    lane.worker();
    const stopped = await settled(lane, run_id);
    expect(stopped.steps.every((step) => ["pending", "stopped", "succeeded"].includes(step.state))).toBe(true);
    if (stopped.state === "stopped") {
      expect([effect, stopped.stop_reason]).toEqual([effect, "interrupted"]);
      await door.call("run_resume", { run_id });
    }
    const ended = await door.ended(run_id);
    expect([effect, ended.state, ended.steps.map((step) => step.state)]).toEqual([effect, "done", ["succeeded", "succeeded"]]);
    // What a step's agent was cut off in, its own session knows; nothing is worked at again from the beginning.
    const worked = existsSync(ran) ? readFileSync(ran, "utf8").trim().split("\n") : [];
    expect([effect, worked]).toEqual([effect, [...new Set(worked)].sort()]);
    expect(read(workspace.path, "person.txt")).toBe("mine\n");
  }
  expect(deaths).toBeGreaterThan(0);
  const events = await lane.store.events(run_id, { after: 0, limit: 10_000 });
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
}

async function settled(lane: Lane, run_id: string): Promise<RunView> {
  await eventually(lane, "somebody who takes the run over", async () => {
    const seen = await lane.store.run(run_id, "local");
    return seen !== null && !isLive(seen.state);
  });
  return lane.door.ended(run_id);
}

/** Two or so of each list: each death is several runs of engines. */
describe.concurrent("a redo", () => {
  test("whose server dies at an effect is as before or carried on, and done once", () => serverDies("sqlite", 7), TIMEOUT_MS);
  test("does so on Postgres too", () => serverDies("postgres", 7), TIMEOUT_MS);
  test("whose worker dies at an effect goes on to its end, each step worked at once", () => workerDies("sqlite", 20), TIMEOUT_MS);
  test("does so with a worker on Postgres too", () => workerDies("postgres", 20), TIMEOUT_MS);
});
