import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isLive } from "../../src/run/run.ts";
import type { RunView } from "../support/product.ts";
import type { BackendName } from "../support/stores.ts";
import { deathsOf, share, TIMEOUT_MS } from "./support/deaths.ts";
import { checkWhole, eventually, type Lane, newLane } from "./support/lane.ts";

/** A worker counts its effects from its first claim on; what it does before that is the recovery of what the last death left. */
const CLAIMED = "after claimQueued#1";

interface Effects {
  /** From the claim of a new run to its first prompt. */
  readonly start: readonly string[];
  /** From the claim of a resumed run to the release of its lease. */
  readonly resume: readonly string[];
  readonly recovery: readonly string[];
}

const done = (lines: readonly string[]): string[] => lines.filter((line) => /^after (?!git )/u.test(line));

/** The effects as this build has them on the lane's database: a new one gets its deaths by itself. */
async function recorded(lane: Lane): Promise<Effects> {
  await lane.plan(null);
  const { run_id } = await lane.start({ objective: "Be recorded", max_iterations: 1, setup: ["true"] });
  await lane.door.ended(run_id);
  await lane.product.killWorker();
  const started = done(lane.traced());
  await lane.plan(null, CLAIMED);
  await lane.door.call("run_resume", { run_id, add_iterations: 1, instructions: "recorded" });
  await lane.door.ended(run_id);
  await eventually(lane, "the release", () => lane.traced().some((line) => line.startsWith("after releaseLease")));
  const resumed = done(lane.traced());
  await lane.product.killWorker();
  await lane.plan("after apply(instructions_delivered)#1", CLAIMED);
  lane.door.call("run_resume", { run_id, add_iterations: 1, instructions: "again" }).catch(() => {});
  await eventually(lane, "the death", () => lane.died());
  await lane.plan(null);
  lane.worker();
  await eventually(lane, "the release", () => lane.traced().some((line) => line.startsWith("after releaseLease")));
  const recovery = done(lane.traced());
  await lane.product.killWorker();
  return {
    start: ["before registerWorker#1", ...started.slice(0, started.indexOf("after apply(iteration_started)#1"))],
    resume: resumed.slice(resumed.indexOf(CLAIMED) + 1),
    recovery: recovery.filter((line) => !line.includes("Worker#")),
  };
}

interface Story {
  readonly lane: Lane;
  readonly run_id: string;
  readonly workspace: string;
  granted: number;
  run: RunView;
  work: string;
  readonly words: string[];
}

async function begun(lane: Lane): Promise<Story> {
  await lane.plan(null);
  const { run_id, workspace } = await lane.start({ objective: "Survive", max_iterations: 1 });
  const run = await lane.door.ended(run_id);
  await lane.product.killWorker();
  return { lane, run_id, workspace: workspace.path, granted: 1, run, work: "", words: [] };
}

/** One resume whose worker dies after `effect`. */
async function dieAfter(story: Story, effect: string): Promise<void> {
  const { lane, run_id } = story;
  await lane.plan(effect, CLAIMED);
  lane.worker();
  await recovered(story);
  const word = `word-${story.words.length}-end`;
  story.words.push(word);
  const grant = story.run.max_iterations === story.run.iteration ? 1 : 0;
  story.granted += grant;
  const resuming = lane.door
    .call("run_resume", { run_id, instructions: word, ...(grant === 0 ? {} : { add_iterations: grant }), request_id: word })
    .catch((error: unknown) => error);
  await eventually(lane, `the death ${effect}`, () => lane.died());
  void resuming;
}

/** Somebody has taken the run over and it is as whole as before. */
async function recovered(story: Story): Promise<void> {
  const { lane, run_id } = story;
  await eventually(lane, "a stop after the last death", async () => {
    const seen = await lane.store.run(run_id, "local");
    return seen !== null && !isLive(seen.state);
  });
  story.run = await lane.door.ended(run_id);
  await checkWhole(lane, run_id, story.granted);
  const now = readFileSync(join(story.workspace, "work.txt"), "utf8");
  expect(now.startsWith(story.work)).toBe(true);
  story.work = now;
}

async function finished(story: Story): Promise<void> {
  const { lane, run_id, words } = story;
  await lane.plan(null);
  lane.worker();
  await recovered(story);
  const more = story.run.max_iterations === story.run.iteration ? { add_iterations: 1 } : {};
  await lane.door.call("run_resume", { run_id, instructions: "FINISH", ...more });
  expect(await lane.door.ended(run_id)).toMatchObject({ state: "done" });
  expect(words.map((word) => [word, lane.prompts(word)])).toEqual(words.map((word) => [word, 1]));
  expect(await lane.store.instructions(run_id, "undelivered")).toEqual([]);
}

async function diesInResumes(backend: BackendName, effects: readonly string[]): Promise<void> {
  const story = await begun(await newLane(backend));
  for (const effect of effects) await dieAfter(story, effect);
  await finished(story);
}

/** One death in the middle of a turn, and then one after each effect of its recovery. */
async function diesInRecoveries(backend: BackendName, effects: readonly string[]): Promise<void> {
  const lane = await newLane(backend);
  const story = await begun(lane);
  for (const effect of effects) {
    if (!isLive(stateOf(await lane.store.run(story.run_id, "local"))))
      await dieAfter(story, "after apply(instructions_delivered)#1");
    await lane.plan(effect);
    lane.worker();
    await eventually(lane, `the death ${effect}`, () => lane.died());
  }
  await finished(story);
}

function stateOf(run: { readonly state: RunView["state"] } | null): "queued" | "running" | "stopping" | "stopped" | "done" {
  return run?.state === "running" || run?.state === "queued" || run?.state === "stopping" ? run.state : "stopped";
}

/** A new run each; the order to finish is given at the start and must not be lost. */
async function diesInStarts(backend: BackendName, effects: readonly string[]): Promise<void> {
  const lane = await newLane(backend);
  const started: RunView[] = [];
  for (const effect of effects) {
    await lane.plan(effect, effect.includes("egisterWorker") ? undefined : CLAIMED);
    started.push(
      await lane.start({
        objective: `Start ${effect}`,
        instructions: "FINISH",
        setup: ["echo ran >> setup-ran"],
        request_id: effect,
      }),
    );
    lane.worker();
    await eventually(lane, `the death ${effect}`, () => lane.died());
  }
  await lane.plan(null);
  lane.worker();
  await Promise.all(
    started.map(async ({ run_id, workspace }) => {
      const run = await lane.door.ended(run_id);
      if (run.state !== "done") {
        expect(run).toMatchObject({ stop_reason: "interrupted", iteration: 0 });
        await checkWhole(lane, run_id, run.max_iterations);
        await lane.door.call("run_resume", { run_id });
        expect(await lane.door.ended(run_id)).toMatchObject({ state: "done" });
      }
      expect(existsSync(join(workspace.path, "setup-ran"))).toBe(true);
    }),
  );
  expect((await lane.door.call("run_list", { limit: 50 })).summary).toContain(String(started.length));
}

describe.concurrent("a killed worker", async () => {
  const effects = await recorded(await newLane());

  test(
    "C38: after any effect of a resumed iteration and its stop leaves a run that is whole and goes on",
    async () => {
      expect(effects.resume.length).toBeGreaterThan(15);
      const deaths = deathsOf(effects.resume, 4);
      await Promise.all([0, 1].map((n) => diesInResumes("sqlite", share(deaths, 2, n))));
    },
    TIMEOUT_MS,
  );

  test(
    "C38: does so on Postgres too",
    async () => {
      const { resume } = await recorded(await newLane("postgres"));
      await diesInResumes("postgres", deathsOf(resume, 8));
    },
    TIMEOUT_MS,
  );

  test(
    "after any effect of a start leaves a run that begins, with its setup and its instructions",
    async () => {
      expect(effects.start.length).toBeGreaterThan(8);
      await diesInStarts("sqlite", deathsOf(effects.start, 2));
    },
    TIMEOUT_MS,
  );

  test(
    "after any effect of a recovery leaves it to the next one",
    async () => {
      expect(effects.recovery.length).toBeGreaterThan(5);
      await diesInRecoveries("sqlite", deathsOf(effects.recovery, 2));
    },
    TIMEOUT_MS,
  );
});
