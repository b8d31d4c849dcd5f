import type { RestoreResult } from "../checkpoint/checkpoint.ts";
import type { Drift } from "../checkpoint/drift-shapes.ts";
import { conflictsRefusal } from "../resume/drift-gate.ts";
import { driftSinceStop } from "../resume/drift-since.ts";
import { driftView } from "../resume/explain.ts";
import { findRepository, type Place } from "../resume/find-repository.ts";
import type { GateFacts } from "../resume/gate.ts";
import { planLayDown } from "../resume/lay-down.ts";
import { handoffNote, nativeNote } from "../resume/note.ts";
import { recordGaps } from "../resume/record-gaps.ts";
import { entryPoint } from "../resume/redo.ts";
import { lastAttempt, NO_SESSION, sessionToContinue, stepToContinue } from "../resume/reopen.ts";
import { applyRunRestore, HEAD_CONFLICT, planRunRestore, type RunRestore } from "../resume/restore.ts";
import { restoresOf } from "../resume/taken-back.ts";
import { bringCheckpoints, lastCheckpoint, pushedCommit, withRecords } from "../resume/tree-copy.ts";
import { LoopkeeperError } from "../run/errors.ts";
import type { AttemptRecord, CheckpointRecord, RunRecord, StepRecord, StopRecord } from "../run/run.ts";
import type { ToolContext } from "./context.ts";
import { refuseIf } from "./guards.ts";
import { passDrift, removeLocks } from "./lock-gate.ts";

/** The arguments of run_resume that decide about the repository and its files. */
export interface ResumeWish {
  readonly repo?: string | undefined;
  readonly on_drift?: "keep" | "restore" | "refuse" | undefined;
  /** True: nothing is brought from the store either. */
  readonly dry_run?: boolean | undefined;
}

/** Everything that is looked at before a run is reopened; nothing is changed by looking. */
export interface Prepared {
  readonly attempts: readonly AttemptRecord[];
  readonly step: string | null;
  /** Number of the attempt that goes on. */
  readonly attempt: number;
  readonly session: string | null;
  readonly note: string;
  readonly drift: Readonly<Record<string, unknown>>;
  /** What the remote said, so that the driver need not ask it again. */
  readonly remote_answer: string | null;
  readonly restore: RunRestore | null;
  /** Steps whose work an entry restore undoes with it. */
  readonly also: readonly string[];
  /** New paths of the run when its repository is found elsewhere. */
  readonly place: Place | null;
  /** Checkpoints that are other commits here than where they were made. */
  readonly brought: readonly CheckpointRecord[];
  /** Why the run's files cannot be had here, so that it goes on by a hand-off from what was pushed; null when they can. */
  readonly without_files: string | null;
  apply(lease: { readonly fence?: number }): Promise<RestoreResult>;
}

export async function prepareResume(
  ctx: ToolContext,
  facts: GateFacts,
  args: ResumeWish,
  from: "stop" | "entry",
): Promise<Prepared> {
  const { run } = facts;
  const { stop } = run;
  if (stop === null) throw new LoopkeeperError("internal", `the stop of run ${run.run_id} was not recorded.`);
  const { place, brought, without_files } = await settleHere(ctx, run, args);
  // From here on the run is looked at as it is on this machine.
  const here = { ...ctx, store: withRecords(ctx.store, brought) };
  const moved = place === null ? run : { ...run, ...place };
  const drift = await driftSinceStop(here, moved, stop, ctx.settings.fetch_remote);
  const seen = drift === null || place === null ? drift : elsewhere(drift);
  const locks = seen === null ? [] : await passDrift(here, moved, seen, { from, on_drift: args.on_drift });
  const attempts = await ctx.store.attempts(run.run_id);
  const step = stepToContinue(run, facts.steps);
  const layDown = place !== null && run.workspace_kind === "in_place" && args.dry_run !== true && without_files === null;
  const restore = layDown
    ? await planLayDown(
        here,
        moved,
        from === "stop" ? await lastCheckpoint(here.store, run) : await entryOf(here, run, step, attempts),
        args.on_drift === "restore",
      )
    : without_files !== null
      ? null
      : await wantedRestore(here, moved, stop, { from, args, attempts, drift, step });
  const [acts, iterations, { gaps }, restores] = await Promise.all([
    ctx.store.acts(run.run_id, 50),
    ctx.store.iterations(run.run_id, 1),
    recordGaps(ctx.store, run.run_id),
    restoresOf(ctx.store, run.run_id),
  ]);
  const unfinished = iterations[0]?.finished === false;
  const noteFacts = { run: moved, stop, steps: facts.steps, acts, drift, unfinished, gaps, restores, entry: from === "entry" };
  const session = without_files === null ? sessionToContinue(step?.step, attempts) : null;
  const fresh = without_files ?? (from === "entry" ? "the step is taken back to its entry" : NO_SESSION);
  return {
    attempts,
    step: step?.step ?? null,
    attempt: (step?.attempt ?? 0) + 1,
    session,
    note: from === "stop" && session !== null ? nativeNote(noteFacts) : handoffNote(noteFacts, fresh),
    drift: driftView(drift),
    remote_answer: drift?.remote_answer ?? null,
    restore,
    also: from === "entry" && step !== null ? await undoneWith(ctx, { ...facts, attempts }, step) : [],
    place,
    brought,
    without_files,
    apply: async (lease) => {
      if (restore === null) throw new Error("there is no restore to apply");
      const gone = await removeLocks(ctx, restore.repo, moved, locks);
      const result = await applyRunRestore(here, moved, restore, lease);
      const left = result.left_behind;
      const named = left === null ? [] : [`commit ${left.commit.slice(0, 12)} that HEAD left (under ${left.ref})`];
      const stays = restore.plan.conflicts.filter((path) => path === HEAD_CONFLICT);
      return { ...result, removed: [...result.removed, ...gone], kept: [...stays, ...result.kept, ...named] };
    },
  };
}

/** Steps that began on the work of the one that goes back to its entry, and those that need one of them. */
async function undoneWith(
  ctx: ToolContext,
  facts: Parameters<typeof entryPoint>[1],
  step: StepRecord,
): Promise<readonly string[]> {
  const point = await entryPoint(ctx.store, facts, step);
  return point === null ? [] : [...point.began_after, ...point.dependents].map((other) => other.step);
}

/** On another machine the run's worktree is not there yet: that is no change that anybody made. */
function elsewhere(drift: Drift): Drift {
  return {
    ...drift,
    workspace_missing: false,
    workspace: "present",
    files_changed: [],
    files_changed_total: 0,
    head_moved: null,
  };
}

interface Settled {
  readonly place: Place | null;
  readonly brought: readonly CheckpointRecord[];
  readonly without_files: string | null;
}

/** Finds the repository; in a clone that never saw the run, its checkpoints are brought from the store. */
async function settleHere(ctx: ToolContext, run: RunRecord, args: ResumeWish): Promise<Settled> {
  const last = await lastCheckpoint(ctx.store, run);
  const from = { given: args.repo, cwd: ctx.cwd, workspaces: ctx.settings.workspaces };
  const { repo, place, has_checkpoint } = await findRepository(ctx.checkpoints, run, from, last);
  const tree =
    place === null && run.workspace_kind === "worktree"
      ? await ctx.checkpoints.worktreeState(run.workspace_path, run.repo_common_dir)
      : null;
  if (last === null || has_checkpoint || tree === "present") return { place, brought: [], without_files: null };
  const fetch = ctx.settings.fetch_remote;
  const options = { wanted: last.id, fetch, only_look: args.dry_run === true };
  const { records, unavailable } = await bringCheckpoints(ctx, run, repo, options);
  if (unavailable === null || place === null) return { place, brought: records, without_files: null };
  const commit = await pushedCommit(ctx, run, repo, last, fetch && args.dry_run !== true);
  const behind = commit === last.head ? "" : ` and its commits since ${commit.slice(0, 10)}`;
  return {
    place,
    brought: [],
    without_files: `${unavailable}. Its ${last.files} uncommitted files${behind} are not in this clone`,
  };
}

/** Where the step that goes on began; null when it never did, or has yet to begin again: then there is nothing of it to undo. */
async function entryOf(
  ctx: ToolContext,
  run: RunRecord,
  step: StepRecord | null,
  attempts: readonly AttemptRecord[],
): Promise<CheckpointRecord | null> {
  const id = step === null ? null : lastAttempt(attempts, step.step)?.entry_checkpoint;
  return id == null ? null : ctx.store.checkpoint(run.run_id, id);
}

/** The restore that the call asks for: the step's entry, or the stop as it was; null when the tree stays as it is. */
async function wantedRestore(
  ctx: ToolContext,
  run: RunRecord,
  stop: StopRecord,
  input: {
    readonly from: "stop" | "entry";
    readonly args: ResumeWish;
    readonly attempts: readonly AttemptRecord[];
    readonly drift: Drift | null;
    readonly step: StepRecord | null;
  },
): Promise<RunRestore | null> {
  // A missing worktree is rebuilt whole by the driver; there is nothing to compose with.
  if (input.drift?.workspace_missing === true) return null;
  const { from, args, step, attempts } = input;
  const target = from === "entry" ? await entryOf(ctx, run, step, attempts) : await stopToRestore(ctx, run, stop, args);
  if (target === null) return null;
  const force = input.args.on_drift === "restore";
  const restore = await planRunRestore(ctx, run, target, force ? "all" : []);
  if (restore.plan.conflicts.length > 0 && !force) refuseIf(conflictsRefusal(restore.plan.conflicts));
  return restore;
}

/** Paths that keep a failed step's start from being restored as things are; none where that cannot be looked at. */
export async function entryConflicts(ctx: ToolContext, facts: GateFacts, drift: Drift | null): Promise<readonly string[]> {
  const { run } = facts;
  if (run.stop_reason !== "failed" || drift?.workspace !== "present") return [];
  const target = await entryOf(ctx, run, stepToContinue(run, facts.steps), await ctx.store.attempts(run.run_id));
  try {
    return target === null ? [] : (await planRunRestore(ctx, run, target, [])).plan.conflicts;
  } catch (error) {
    if (error instanceof LoopkeeperError) return [];
    throw error;
  }
}

async function stopToRestore(
  ctx: ToolContext,
  run: RunRecord,
  stop: StopRecord,
  args: ResumeWish,
): Promise<CheckpointRecord | null> {
  if (args.on_drift !== "restore" || stop.uncommitted?.checkpoint == null) return null;
  return ctx.store.checkpoint(run.run_id, stop.uncommitted.checkpoint);
}
