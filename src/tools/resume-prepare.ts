import { join, resolve } from "node:path";
import type { Drift, Repository, RestoreResult } from "../checkpoint/checkpoint.ts";
import { driftSinceStop } from "../resume/drift-since.ts";
import { driftView } from "../resume/explain.ts";
import type { GateFacts } from "../resume/gate.ts";
import { handoffNote, nativeNote } from "../resume/note.ts";
import { recordGaps } from "../resume/record-gaps.ts";
import { entryPoint } from "../resume/redo.ts";
import { sessionToContinue, stepToContinue } from "../resume/reopen.ts";
import { applyRunRestore, HEAD_CONFLICT, planRunRestore, type RunRestore } from "../resume/restore.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { shortId } from "../run/id.ts";
import type { AttemptRecord, CheckpointRecord, RunRecord, StepRecord, StopRecord } from "../run/run.ts";
import type { ToolContext } from "./context.ts";
import { passDrift, removeLocks } from "./lock-gate.ts";

/** The arguments of run_resume that decide about the repository and its files. */
export interface ResumeWish {
  readonly repo?: string | undefined;
  readonly on_drift?: "keep" | "restore" | "refuse" | undefined;
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
  readonly place: { readonly repo_path: string; readonly repo_common_dir: string; readonly workspace_path: string } | null;
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
  const place = await findRepository(ctx, run, args.repo);
  const placed = place === null ? run : { ...run, ...place };
  const drift = await driftSinceStop(ctx, placed, stop, ctx.settings.fetch_remote);
  const locks = drift === null ? [] : await passDrift(ctx, placed, drift, { from, on_drift: args.on_drift });
  const attempts = await ctx.store.attempts(run.run_id);
  const step = stepToContinue(run, facts.steps);
  const restore = await wantedRestore(ctx, run, stop, { from, args, attempts, drift });
  const [acts, iterations, { gaps }] = await Promise.all([
    ctx.store.acts(run.run_id, 50),
    ctx.store.iterations(run.run_id, 1),
    recordGaps(ctx.store, run.run_id),
  ]);
  const noteFacts = { run, stop, steps: facts.steps, acts, drift, unfinished: iterations[0]?.finished === false, gaps };
  const session = sessionToContinue(step?.step, attempts);
  return {
    attempts,
    step: step?.step ?? null,
    attempt: (step?.attempt ?? 0) + 1,
    session,
    note:
      from === "stop" && session !== null
        ? nativeNote(noteFacts)
        : handoffNote(noteFacts, from === "entry" ? "the step is taken back to its entry" : "no engine session was recorded"),
    drift: driftView(drift),
    remote_answer: drift?.remote_answer ?? null,
    restore,
    also: from === "entry" && step !== null ? await undoneWith(ctx, { ...facts, attempts }, step) : [],
    place,
    apply: async (lease) => {
      if (restore === null) throw new Error("there is no restore to apply");
      const gone = await removeLocks(ctx, restore.repo, run, locks);
      const result = await applyRunRestore(ctx, run, restore, lease);
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

/** The repository: where `repo` says, else where it was, else where the caller is - and it must be the same one. */
async function findRepository(ctx: ToolContext, run: RunRecord, repo: string | undefined): Promise<Prepared["place"]> {
  const candidates = repo === undefined ? [run.repo_path, ctx.cwd] : [resolve(ctx.cwd, repo)];
  for (const candidate of candidates) {
    const found = await discoverOrNull(ctx, candidate);
    if (found === null) continue;
    if (found.common_dir === run.repo_common_dir) return null;
    if (!sameRepository(found, run)) continue;
    const workspace = run.workspace_kind === "in_place" ? found.top : join(ctx.settings.workspaces, shortId(run.run_id));
    return { repo_path: found.top, repo_common_dir: found.common_dir, workspace_path: workspace };
  }
  const wanted =
    run.repo_remote === null
      ? `the repository with root commit ${run.root_commit ?? "unknown"}`
      : `a clone of ${run.repo_remote}`;
  throw new LoopkeeperError(
    "repository_problem",
    `the run's repository was at ${run.repo_path} and is not there; give \`repo\`: the path of ${wanted} on this machine.`,
  );
}

async function discoverOrNull(ctx: ToolContext, path: string): Promise<Repository | null> {
  try {
    return await ctx.checkpoints.discover(path);
  } catch (error) {
    if (error instanceof LoopkeeperError) return null;
    throw error;
  }
}

function sameRepository(found: Repository, run: RunRecord): boolean {
  if (run.repo_remote !== null && found.remote === run.repo_remote) return true;
  return run.root_commit !== null && found.root_commit === run.root_commit;
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
  },
): Promise<RunRestore | null> {
  // A missing worktree is rebuilt whole by the driver; there is nothing to compose with.
  if (input.drift?.workspace_missing === true) return null;
  const target = await targetOf(ctx, run, stop, input);
  if (target === null) return null;
  const force = input.args.on_drift === "restore";
  const restore = await planRunRestore(ctx, run, target, force ? "all" : []);
  if (restore.plan.conflicts.length > 0 && !force) {
    throw new LoopkeeperError(
      "not_allowed",
      `conflicts: others changed ${restore.plan.conflicts.slice(0, 10).join(", ")} since, so the step's start cannot be restored without losing that. Use from: "stop" with instructions, or on_drift: "restore" (a safety checkpoint is taken first).`,
    );
  }
  return restore;
}

async function targetOf(
  ctx: ToolContext,
  run: RunRecord,
  stop: StopRecord,
  input: { readonly from: "stop" | "entry"; readonly args: ResumeWish; readonly attempts: readonly AttemptRecord[] },
): Promise<CheckpointRecord | null> {
  if (input.from === "entry") {
    const id = input.attempts.findLast((attempt) => attempt.step === stop.step)?.entry_checkpoint ?? null;
    return id === null ? null : ctx.store.checkpoint(run.run_id, id);
  }
  if (input.args.on_drift !== "restore" || stop.uncommitted?.checkpoint == null) return null;
  return ctx.store.checkpoint(run.run_id, stop.uncommitted.checkpoint);
}
