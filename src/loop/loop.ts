import { now } from "../run/clock.ts";
import { LeaseLostError, LoopkeeperError, messageOf } from "../run/errors.ts";
import { iterationsLeft } from "../run/grant.ts";
import type { RunRecord, StepRecord } from "../run/run.ts";
import { transition } from "../run/transition.ts";
import { type Attempt, openAttempt } from "./attempt.ts";
import type { LoopContext } from "./context.ts";
import { ceilings } from "./decide.ts";
import { lookAtDrift } from "./drift.ts";
import { breakOffStop, Drive, loopStop, StopRun } from "./drive.ts";
import { runIteration } from "./iteration.ts";
import { lastResume } from "./resumed.ts";
import { nextStep, unreachableAfter } from "./stages.ts";
import { closeCutIteration, stopRun } from "./stop.ts";
import { prepareWorkspace } from "./workspace.ts";

/** Drives one claimed run until it is stopped or done. Never throws: whatever goes wrong becomes the run's stop. */
export async function driveRun(
  ctx: LoopContext,
  claimed: { readonly run: RunRecord; readonly fence: number },
  onDrive: (drive: Drive) => void,
): Promise<void> {
  const steps = await ctx.store.steps(claimed.run.run_id);
  const drive = new Drive(ctx, claimed.run, claimed.fence, steps);
  onDrive(drive);
  try {
    await claim(drive);
    const resumed = await lastResume(drive);
    await lookAtDrift(drive, resumed);
    await prepareWorkspace(drive, resumed);
    await runSteps(drive);
  } catch (error) {
    await settle(drive, error, null, null);
  } finally {
    await drive.close();
    if (drive.breakOff?.kind !== "lease_lost") await ctx.store.releaseLease(claimed.run.run_id, claimed.fence);
  }
}

async function claim(drive: Drive): Promise<void> {
  const next = transition(drive.run.state, drive.run.stop_reason, { type: "claim" });
  if (next === null) throw new LeaseLostError(`run ${drive.run.run_id} is ${drive.run.state}, not queued`);
  const at = now();
  // With the revision that was claimed: the owner may have stopped the run between its claim and this.
  await drive.apply({
    expected_revision: drive.run.revision,
    bump_revision: true,
    run: { state: next.state, stop_reason: null, started_at: drive.run.started_at ?? at, alive_at: at, waiting_until: null },
    events: [{ type: "run_claimed", at, data: { worker: drive.ctx.worker_id, fence: drive.fence } }],
  });
}

/** Steps in topological order; a failed one makes those that need it unreachable, independent ones go on. */
async function runSteps(drive: Drive): Promise<void> {
  let firstFailure: { step: StepRecord; stop: ReturnType<typeof loopStop> } | null = null;
  let between = false;
  for (let step = nextStep(drive.steps); step !== null; step = nextStep(drive.steps)) {
    const ended = await runStep(drive, step, between);
    between = true;
    if (ended.kind === "stopped") return;
    if (ended.kind === "failed") firstFailure ??= { step, stop: ended.stop };
  }
  const failed = drive.steps.find((step) => step.state === "failed");
  const stop =
    firstFailure?.stop ?? (failed === undefined ? loopStop("done", "every step succeeded") : await earlierFailure(drive, failed));
  await finishRun(drive, stop);
}

/** A step failed before this drive, and the run was stopped before it could end for that. */
async function earlierFailure(drive: Drive, step: StepRecord): Promise<ReturnType<typeof loopStop>> {
  const rows = await drive.ctx.store.iterations(drive.run.run_id, 1_000);
  const said = rows.find((row) => row.step === step.step)?.summary ?? null;
  return loopStop("failed", `step ${step.step} had failed before${said === null ? "" : `: ${said}`}`);
}

async function finishRun(drive: Drive, stop: ReturnType<typeof loopStop>): Promise<void> {
  if (stop.reason === "done" && drive.run.settings.on_done === "commit" && drive.run.workspace_kind === "worktree") {
    const title = drive.run.objective.split("\n")[0]?.slice(0, 70) ?? "Loopkeeper run";
    const commit = await drive.ctx.checkpoints.commitAll(drive.repo, `${title}\n\nRun: ${drive.run.run_id}`);
    const at = now();
    const act = { kind: "commit", what: title, ref: commit, iteration: drive.run.iteration, at, status: "landed" } as const;
    const events = [{ type: "work_committed", at, data: { commit, title } }] as const;
    if (commit !== null) await drive.apply({ bump_revision: false, acts: [act], events });
  }
  await stopRun(drive, { stop, ceiling: null, step: null, attempt: null });
}

type StepEnd =
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly stop: ReturnType<typeof loopStop> }
  | { readonly kind: "stopped" };

/** One step: open its attempt, iterate until a verdict or a stop. `between`: another step ended just before. */
async function runStep(drive: Drive, step: StepRecord, between: boolean): Promise<StepEnd> {
  let attempt: Attempt | null = null;
  try {
    breakOffIfAsked(drive);
    if (between) await stopAfterIteration(drive);
    stopAtCeiling(drive, step, null);
    attempt = await openAttempt(drive, step);
    for (;;) {
      breakOffIfAsked(drive);
      const decision = await runIteration(drive, step, attempt);
      if (decision.kind === "succeeded" || decision.kind === "failed") {
        await attempt.engine.stop();
        return await endStep(drive, step, attempt, decision);
      }
      if (decision.kind === "stop" && !(await grantedMeanwhile(drive, decision.stop)))
        throw new StopRun(decision.stop, decision.ceiling);
      await stopAfterIteration(drive);
    }
  } catch (error) {
    const failed = await failedAlone(drive, error, step, attempt);
    if (failed !== null) return failed;
    await settle(drive, error, step, attempt);
    return { kind: "stopped" };
  } finally {
    // Whatever happened, no engine outlives its step: one that goes on writing would spoil every checkpoint after this.
    if (attempt !== null) await attempt.engine.stop();
  }
}

async function endStep(
  drive: Drive,
  step: StepRecord,
  attempt: Attempt,
  decision: { kind: "succeeded" } | { kind: "failed"; stop: ReturnType<typeof loopStop> },
): Promise<StepEnd> {
  const only = drive.steps.length === 1;
  if (decision.kind === "failed" && only) throw new StopRun(decision.stop);
  const at = now();
  const state = decision.kind;
  const unreachable =
    state === "failed"
      ? unreachableAfter(drive.steps.map((other) => (other.step === step.step ? { ...other, state } : other)))
      : [];
  await drive.apply({
    bump_revision: true,
    steps: [{ step: step.step, state }, ...unreachable.map((name) => ({ step: name, state: "unreachable" }) as const)],
    attempts: [
      { step: step.step, attempt: attempt.record.attempt, ended_at: at, ended_by: state === "succeeded" ? "done" : "failed" },
    ],
    events: [{ type: "step_changed", at, data: { step: step.step, state, unreachable } }],
  });
  return decision;
}

/**
 * A turn that ended as failed (the model refused) fails its step; when others do not need it, the run goes on with them.
 * What the cut-off turn changed is recorded first. Null when this is the end of the run.
 */
async function failedAlone(drive: Drive, error: unknown, step: StepRecord, attempt: Attempt | null): Promise<StepEnd | null> {
  if (!(error instanceof StopRun) || error.stop.reason !== "failed" || attempt === null || drive.breakOff !== null) return null;
  const without = drive.steps.map((other) => (other.step === step.step ? { ...other, state: "failed" as const } : other));
  if (nextStep(without) === null) return null;
  await attempt.engine.stop();
  await closeCutIteration(drive, attempt);
  return endStep(drive, step, attempt, { kind: "failed", stop: error.stop });
}

/** Turns whatever was thrown into the run's stop; after a lost lease nothing is written, the new driver does that. */
async function settle(drive: Drive, error: unknown, step: StepRecord | null, attempt: Attempt | null): Promise<void> {
  const { ctx, run } = drive;
  try {
    if (error instanceof LoopkeeperError && error.code === "revision_conflict") {
      ctx.log("info", "the run moved before it was begun", { run_id: run.run_id });
      return;
    }
    if (error instanceof LeaseLostError || drive.breakOff?.kind === "lease_lost") {
      ctx.log("warn", "the lease was lost; the engine is ended and nothing more is written", { run_id: run.run_id });
      if (attempt !== null) await attempt.engine.stop();
      return;
    }
    if (error instanceof StopRun) {
      await stopRun(drive, { stop: error.stop, ceiling: error.ceiling, step: underWay(drive, step, error.ceiling), attempt });
      return;
    }
    if (error instanceof LoopkeeperError && error.code === "store_unavailable") {
      await stopRun(drive, { stop: loopStop("storage", error.message), ceiling: null, step, attempt });
      return;
    }
    ctx.log("error", "driving the run failed", {
      run_id: run.run_id,
      error: messageOf(error),
      stack: error instanceof Error ? error.stack : undefined,
    });
    await stopRun(drive, {
      stop: loopStop("failed", `a defect of Loopkeeper ended the run: ${messageOf(error)}`),
      ceiling: null,
      step,
      attempt,
    });
  } catch (second) {
    ctx.log("error", "the stop could not be recorded; the run is recovered as interrupted later", {
      run_id: run.run_id,
      error: messageOf(second),
    });
  }
}

/** The step that a stop is about: one that had not begun is none, unless its own ceiling is the cause. */
function underWay(drive: Drive, step: StepRecord | null, ceiling: "run" | "step" | null): StepRecord | null {
  const state = drive.steps.find((other) => other.step === step?.step)?.state;
  return state === "running" || ceiling === "step" ? step : null;
}

function breakOffIfAsked(drive: Drive): void {
  if (drive.breakOff !== null) throw new StopRun(breakOffStop(drive.breakOff));
}

function stopAtCeiling(drive: Drive, step: StepRecord, attempt: Attempt | null): void {
  const decision = ceilings(drive.run, step, attempt ?? { entry_key: "", keys: [] });
  if (decision.kind === "stop") throw new StopRun(decision.stop, decision.ceiling);
}

/** A grant that came while the last iteration was being recorded counts: the run goes on. */
async function grantedMeanwhile(drive: Drive, stop: ReturnType<typeof loopStop>): Promise<boolean> {
  if (stop.reason !== "max_iterations") return false;
  const seen = await drive.ctx.store.run(drive.run.run_id, drive.run.owner);
  if (seen === null || iterationsLeft(seen) === 0 || seen.max_iterations === drive.run.max_iterations) return false;
  drive.run = seen;
  return true;
}

/** `run_stop` with `after_iteration` is looked at between two iterations only. */
async function stopAfterIteration(drive: Drive): Promise<void> {
  const seen = await drive.ctx.store.run(drive.run.run_id, drive.run.owner);
  if (seen?.stop_request?.mode !== "after_iteration") return;
  throw new StopRun(
    loopStop("cancelled", seen.stop_request.why ?? "the owner called run_stop (after_iteration)", { source: "owner" }),
  );
}
