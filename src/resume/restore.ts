import type { Checkpoints, OwnedPath, Repository, RestorePlan, RestoreResult } from "../checkpoint/checkpoint.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { newCheckpointId } from "../run/id.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { checkpointRecord } from "./checkpoint-record.ts";
import { driftSince, ownCommits } from "./drift-since.ts";
import { loadOwned, type Owned, sameContent, saveOwned } from "./ownership.ts";

/** Takes back what a run changed, and nothing else. Reset, entry restore and drift restore all go through here. */

interface Deps {
  readonly store: Pick<Store, "acts" | "checkpoint" | "checkpoints" | "runArtifacts" | "setRunArtifacts">;
  readonly checkpoints: Checkpoints;
}

export interface RunRestore {
  readonly repo: Repository;
  readonly target: CheckpointRecord;
  readonly paths: readonly OwnedPath[];
  readonly owned: Owned;
  readonly plan: RestorePlan;
  /** Commits of the run that the branch leaves behind. */
  readonly undone_commits: readonly string[];
}

/** The name under which a HEAD that cannot be moved back stands among the conflicts. */
export const HEAD_CONFLICT = "HEAD";

/** What taking the run's paths (and HEAD, where the run itself moved it) back to `target` would do. */
export async function planRunRestore(
  deps: Deps,
  run: RunRecord,
  target: CheckpointRecord,
  overwrite: readonly string[] | "all",
): Promise<RunRestore> {
  if (target.commit === null || target.tree === null) {
    throw new LoopkeeperError(
      "repository_problem",
      `checkpoint ${target.id} could not be taken at its time (${target.failure ?? "unknown"}); choose another one from run_explain_stop.`,
    );
  }
  const repo = await workspaceOf(deps, run);
  if (!(await deps.checkpoints.isPresent(repo, target.commit))) {
    throw new LoopkeeperError(
      "repository_problem",
      `checkpoint ${target.id} is lost: its objects are gone from the repository. Choose another one from run_explain_stop.`,
    );
  }
  const owned = await loadOwned(deps.store, run.run_id);
  const paths = await ownedPaths(deps, repo, target.tree, owned, overwrite === "all");
  const head = await headMove(deps, run, repo, target);
  const plan = await deps.checkpoints.planRestore(repo, {
    run_id: run.run_id,
    checkpoint: target.commit,
    paths,
    overwrite: overwrite === "all" ? paths.map((entry) => entry.path) : overwrite,
    head: head.move,
  });
  const conflicts = head.conflict ? [...plan.conflicts, HEAD_CONFLICT] : plan.conflicts;
  return { repo, target, paths, owned, plan: { ...plan, conflicts }, undone_commits: head.commits };
}

async function workspaceOf(deps: Deps, run: RunRecord): Promise<Repository> {
  if (run.workspace_kind === "worktree" && (await deps.checkpoints.worktreeState(run.workspace_path)) !== "present") {
    throw new LoopkeeperError(
      "repository_problem",
      `the run's worktree ${run.workspace_path} is missing; run_resume rebuilds it from the stop checkpoint.`,
    );
  }
  return deps.checkpoints.discover(run.workspace_path);
}

/** The run's paths with what the target holds. One that the run itself left as the target has it needs nothing, unless all of them are to be so again. */
async function ownedPaths(deps: Deps, repo: Repository, tree: string, owned: Owned, all: boolean): Promise<readonly OwnedPath[]> {
  const names = [...owned.keys()];
  const contents = await deps.checkpoints.contentAt(repo, tree, names);
  return names.flatMap((path, index) => {
    const entry = owned.get(path);
    const target = contents[index] ?? null;
    if (entry === undefined || (sameContent(entry.last, target) && !all)) return [];
    // A path that is not the run's alone counts as left at the target: whatever is there now is then somebody else's, a conflict.
    return [{ path, target, last: entry.foreign || !entry.attributed ? target : entry.last }];
  });
}

interface HeadMove {
  readonly move: { readonly from: string; readonly to: string } | null;
  readonly conflict: boolean;
  readonly commits: readonly string[];
}

/** HEAD goes back only if the run itself moved it and nobody committed on top. */
async function headMove(deps: Deps, run: RunRecord, repo: Repository, target: CheckpointRecord): Promise<HeadMove> {
  if (target.head === null || repo.head === null || target.head === repo.head)
    return { move: null, conflict: false, commits: [] };
  const own = await ownCommits(deps, run);
  const drift = await driftSince(deps, run, target, { own_commits: own, remote: false });
  const foreign =
    drift === null || drift.commits_by_others.length > 0 || (target.branch !== null && repo.branch !== target.branch);
  if (foreign) return { move: null, conflict: true, commits: [] };
  return { move: { from: repo.head, to: target.head }, conflict: false, commits: own };
}

/** Applies a plan and remembers what the run's paths hold afterwards. The safety checkpoint brings it all back. */
export async function applyRunRestore(deps: Deps, run: RunRecord, restore: RunRestore): Promise<RestoreResult> {
  const result = await deps.checkpoints.applyRestore(restore.repo, {
    run_id: run.run_id,
    ...(restore.target.commit === null ? {} : { checkpoint: restore.target.commit }),
    plan: restore.plan,
    paths: restore.paths,
    safety_id: newCheckpointId(),
  });
  const changed = new Set([...result.restored, ...result.removed]);
  const owned = new Map(restore.owned);
  for (const entry of restore.paths) {
    const before = owned.get(entry.path);
    if (before !== undefined && changed.has(entry.path))
      owned.set(entry.path, { ...before, last: entry.target, foreign: false, attributed: true });
  }
  await saveOwned(deps.store, run.run_id, owned);
  return result;
}

/** The record of a restore's safety checkpoint. */
export function safetyRecord(run: RunRecord, result: RestoreResult, at: string): CheckpointRecord {
  return checkpointRecord(result.safety, {
    kind: "reset",
    iteration: run.iteration,
    step: run.stop?.step ?? null,
    attempt: null,
    at,
  });
}
