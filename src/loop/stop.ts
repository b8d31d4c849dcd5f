import type { Captured } from "../checkpoint/checkpoint.ts";
import { type ClassifiedStop, isOpen, type ToolCallSeen } from "../engine/engine.ts";
import { uncommittedOf } from "../resume/owners.ts";
import { loadOwned, type OwnedState } from "../resume/ownership.ts";
import { lastCheckpoint } from "../resume/tree-copy.ts";
import { msOf, now } from "../run/clock.ts";
import { LeaseLostError, LoopkeeperError, messageOf } from "../run/errors.ts";
import { newCheckpointId } from "../run/id.ts";
import type { CheckpointRecord, IterationRecord, StepRecord, StopRecord, Uncommitted } from "../run/run.ts";
import { transition } from "../run/transition.ts";
import type { Attempt } from "./attempt.ts";
import { backgroundCommands } from "./background.ts";
import { captureFault, captureOrStop, recordOf } from "./capture.ts";
import type { Drive } from "./drive.ts";
import { absorbChanges, type TreeEnd } from "./effects.ts";
import { autoResumeAt } from "./scheduled.ts";
import { copyLeftSession, copySession } from "./session-copy.ts";
import { unreachableAfter } from "./stages.ts";
import { copyTree } from "./tree-copy.ts";
import { callsSeen, openCalls } from "./turn-seen.ts";

const WRITE_TRIES = 10;

export interface StopInput {
  readonly stop: ClassifiedStop;
  readonly ceiling: "run" | "step" | null;
  /** The step that was under way; null when none was. */
  readonly step: StepRecord | null;
  readonly attempt: Attempt | null;
  /** Last sign of life of the driver that died, of a run that is recovered. */
  readonly alive_until?: string | null;
  /** What a recovery could read of the iteration that its dead driver had begun. */
  readonly cut?: CutIteration | null;
}

export interface CutIteration {
  /** Working tree and index at the iteration's start. */
  readonly from: TreeEnd | null;
  readonly calls: readonly Pick<ToolCallSeen, "title" | "command" | "paths" | "status" | "held">[];
  readonly commits: readonly string[];
}

/**
 * Ends a run that cannot or need not go on: stopping -> all processes ended -> tree and session saved -> one transaction
 * writes the stop. Until that transaction the run stays live for everybody, so a crash in between is recovered as one.
 */
export async function stopRun(drive: Drive, input: StopInput): Promise<void> {
  await beginStop(drive, input);
  if (input.attempt !== null) await input.attempt.engine.stop();
  await drive.ctx.engines.killMarked(drive.run.run_id);
  await drive.journal.flush();
  const saved = await saveTree(drive, input);
  if (input.attempt === null) await copyLeftSession(drive, input.cut === undefined ? null : input.step);
  else await copySession(drive, input.attempt.agent, input.attempt.engine.session_id, drive.run.iteration);
  if (saved.record?.commit != null && drive.workspace !== null) {
    await copyTree(drive, { id: saved.record.id, commit: saved.record.commit }, "all");
    await packHidden(drive);
  }
  await writeStop(drive, input, { ...saved, background: await backgroundCommands(drive) });
}

/** Loose refs cost every git command of the person; a fault here costs nothing else. */
async function packHidden(drive: Drive): Promise<void> {
  try {
    await drive.ctx.checkpoints.packRefs(drive.repo);
  } catch (error) {
    drive.ctx.log("warn", "the hidden refs could not be packed", { run_id: drive.run.run_id, error: messageOf(error) });
  }
}

async function beginStop(drive: Drive, input: StopInput): Promise<void> {
  const next = transition(drive.run.state, drive.run.stop_reason, { type: "begin_stop" });
  if (next === null || drive.run.state === "stopping") return;
  await drive.apply({
    bump_revision: true,
    run: { state: next.state },
    events: [{ type: "run_stopping", at: now(), data: { reason: input.stop.reason } }],
  });
}

interface SavedTree {
  readonly record: CheckpointRecord | null;
  readonly uncommitted: Uncommitted | null;
  readonly gaps: readonly string[];
  /** Set when the work could not be recorded. */
  readonly storage: string | null;
  readonly unfinished: IterationRecord | null;
}

interface Saved extends SavedTree {
  readonly background: readonly string[];
}

/** Captures the stop checkpoint, or says why it could not. */
async function saveTree(drive: Drive, input: StopInput): Promise<SavedTree> {
  const [last] = await drive.ctx.store.iterations(drive.run.run_id, 1);
  const open = last !== undefined && !last.finished && last.checkpoint_end === null ? last : null;
  if (drive.workspace === null) return notLookedAt(drive, open);
  const id = newCheckpointId();
  const about = { kind: "stop", step: input.step?.step ?? null, attempt: input.attempt?.record.attempt ?? null } as const;
  try {
    const captured = await drive.ctx.checkpoints.capture(drive.workspace, {
      run_id: drive.run.run_id,
      id,
      kind: "stop",
      thorough: true,
    });
    const owned = await ownAtStop(drive, input, captured, open !== null);
    const uncommitted = await uncommittedOf(drive.ctx, {
      run: drive.run,
      repo: drive.workspace,
      checkpoint: captured,
      owned: owned.files,
    });
    return {
      record: recordOf(drive, captured, about),
      uncommitted,
      gaps: [],
      storage: null,
      unfinished: open === null ? null : { ...open, checkpoint_end: id, ended_at: open.ended_at ?? now() },
    };
  } catch (error) {
    if (error instanceof LeaseLostError) throw error;
    const fault = captureFault(error);
    const gone = error instanceof LoopkeeperError && error.code === "repository_problem";
    return {
      record: failedRecord(drive, id, about, fault),
      uncommitted: null,
      gaps: [fault],
      storage: gone ? null : fault,
      unfinished: open,
    };
  }
}

/** The end of a cut-off iteration after which the run goes on with another step: its checkpoint, and what it changed. */
export async function closeCutIteration(drive: Drive, attempt: Attempt): Promise<void> {
  const [row] = await drive.ctx.store.iterations(drive.run.run_id, 1);
  if (row === undefined || row.finished || row.checkpoint_end !== null) return;
  const captured = await captureOrStop(drive, newCheckpointId(), "iteration");
  await absorbChanges(drive, {
    owned: attempt.owned,
    from: attempt.last.captured,
    to: captured,
    calls: callsSeen(attempt.turn),
    commits: attempt.cut_commits,
  });
  const about = { kind: "iteration", step: row.step, attempt: row.attempt } as const;
  await drive.apply({
    bump_revision: false,
    iterations: [{ ...row, checkpoint_end: captured.id, ended_at: row.ended_at ?? now() }],
    checkpoints: [recordOf(drive, captured, about)],
    events: [{ type: "checkpoint_taken", at: now(), data: { checkpoint: captured.id, ...about } }],
  });
}

/** The working tree is not here: what is known of it is the last checkpoint, made by whoever drove the run. */
async function notLookedAt(drive: Drive, open: IterationRecord | null): Promise<SavedTree> {
  const { run } = drive;
  const nothing = { record: null, storage: null, unfinished: open };
  const last = await lastCheckpoint(drive.ctx.store, { ...run, stop: null });
  const before = run.stop?.uncommitted ?? null;
  if (last === null || last.id === before?.checkpoint) return { ...nothing, uncommitted: before, gaps: [] };
  return {
    ...nothing,
    uncommitted: { total_files: last.files, added: 0, removed: 0, truncated: true, checkpoint: last.id, files: [] },
    gaps: [
      `the working tree ${run.workspace_path} is not here to be looked at: what changed after checkpoint ${last.id} of iteration ${last.iteration} is not known`,
    ],
  };
}

/** What a cut-off iteration changed is the run's too: its end is the stop checkpoint. Without one nothing more is the run's. */
async function ownAtStop(drive: Drive, input: StopInput, captured: Captured, cutOff: boolean): Promise<OwnedState> {
  const owned = input.attempt?.owned ?? (await loadOwned(drive.ctx.store, drive.run.run_id));
  const from = input.attempt?.last.captured ?? input.cut?.from ?? null;
  if (from === null || !cutOff) return owned;
  const commits = input.attempt?.cut_commits ?? input.cut?.commits ?? [];
  const calls = input.attempt === null ? (input.cut?.calls ?? []) : callsSeen(input.attempt.turn);
  return absorbChanges(drive, { owned, from, to: captured, calls, commits });
}

function failedRecord(
  drive: Drive,
  id: string,
  about: Pick<CheckpointRecord, "kind" | "step" | "attempt">,
  failure: string,
): CheckpointRecord {
  return {
    id,
    ...about,
    iteration: drive.run.iteration,
    at: now(),
    commit: null,
    tree: null,
    index_tree: null,
    head: null,
    branch: null,
    files: 0,
    bytes: 0,
    skipped: [],
    state: "failed",
    failure,
  };
}

/** Tried again when the owner wrote in between: a stop or a grant that came meanwhile must be seen, not written over. */
async function writeStop(drive: Drive, input: StopInput, saved: Saved): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    drive.run = (await drive.ctx.store.run(drive.run.run_id, drive.run.owner)) ?? drive.run;
    try {
      await writeStopOf(drive, input, saved);
      return;
    } catch (error) {
      const moved = error instanceof LoopkeeperError && error.code === "revision_conflict";
      if (!moved || tries >= WRITE_TRIES) throw error;
    }
  }
}

async function writeStopOf(drive: Drive, input: StopInput, saved: Saved): Promise<void> {
  const at = now();
  const reason = saved.storage === null ? input.stop.reason : "storage";
  const next = transition(drive.run.state, drive.run.stop_reason, { type: "stop", reason });
  if (next === null) return;
  const stepState = reason === "failed" ? "failed" : "stopped";
  const running = drive.steps.filter((step) => step.state === "running");
  const after = drive.steps.map((step) =>
    step.state === "running" ? { ...step, state: stepState } : step,
  ) satisfies StepRecord[];
  const unreachable = reason === "failed" ? unreachableAfter(after) : [];
  const without = after.filter((step) => step.state === "unreachable").map((step) => step.step);
  const staged = reason === "failed" && drive.steps.length > 1;
  const failed = after.filter((step) => step.state === "failed").map((step) => step.step);
  const record: StopRecord = {
    reason,
    source: input.stop.source,
    evidence:
      saved.storage === null
        ? input.stop.evidence
        : `${saved.storage}; it was stopping as ${input.stop.reason}: ${input.stop.evidence}`,
    step: input.step?.step ?? (reason === "failed" ? (failed[0] ?? null) : null),
    iteration: drive.run.iteration,
    at,
    resets_at: input.stop.resets_at,
    resets_at_source: input.stop.resets_at_source,
    resets_at_zone: input.stop.resets_at_zone,
    resets_at_confidence: input.stop.resets_at_confidence,
    question: input.stop.question,
    same_stop_in_a_row: drive.run.stop?.reason === reason ? drive.run.stop.same_stop_in_a_row + 1 : 1,
    ceiling: input.ceiling,
    uncommitted: saved.uncommitted,
    open_tool_calls: openCallTitles(input),
    background: saved.background,
    alive_until: input.alive_until ?? null,
    gaps: [...saved.gaps, ...drive.gaps.values()],
    failed_steps: staged ? failed : [],
    unreachable_steps: staged ? [...without, ...unreachable] : [],
  };
  const nowMs = msOf(await drive.ctx.store.clock());
  // Whoever asked for a stop, even one that something else forestalled, does not want it to go on by itself.
  const until = drive.run.stop_request === null ? autoResumeAt(drive.run, record, nowMs) : null;
  await drive.apply({
    expected_revision: drive.run.revision,
    bump_revision: true,
    run: {
      state: next.state,
      stop_reason: reason,
      stop: record,
      stop_request: null,
      stopped_at: at,
      waiting_until: until,
    },
    steps: [
      ...running.map((step) => ({ step: step.step, state: stepState }) as const),
      ...unreachable.map((step) => ({ step, state: "unreachable" }) as const),
    ],
    attempts: running.map((step) => ({ step: step.step, attempt: step.attempt, ended_at: at, ended_by: reason })),
    ...(saved.record === null ? {} : { checkpoints: [saved.record] }),
    ...(saved.unfinished === null ? {} : { iterations: [saved.unfinished] }),
    events: [
      {
        type: reason === "done" ? "run_done" : "run_stopped",
        at,
        data: {
          reason,
          source: record.source,
          evidence: record.evidence,
          iteration: record.iteration,
          checkpoint: saved.record?.id ?? null,
        },
      },
      ...(until === null ? [] : [{ type: "run_scheduled", at, data: { until, by: "auto_resume" } } as const]),
    ],
    tree_hold: null,
  });
}

function openCallTitles(input: StopInput): string[] {
  const calls = input.attempt === null ? (input.cut?.calls ?? []).filter(isOpen) : openCalls(input.attempt.turn);
  return [...new Set(calls.map((call) => call.command ?? call.title))].slice(0, 10);
}
