import type { Checkpoints } from "../checkpoint/checkpoint.ts";
import type { Drift } from "../checkpoint/drift-shapes.ts";
import { msOf } from "../run/clock.ts";
import type { CheckpointRecord, RunRecord, StopRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";

interface Deps {
  readonly store: Pick<Store, "checkpoint" | "acts">;
  readonly checkpoints: Pick<Checkpoints, "drift" | "discover">;
}

/** What changed in the repository since the stop; null when there is no stop checkpoint to compare with. */
export async function driftSinceStop(
  deps: Deps,
  run: RunRecord,
  stop: StopRecord,
  remote: boolean | string,
): Promise<Drift | null> {
  const id = stop.uncommitted?.checkpoint;
  const checkpoint = id == null ? null : await deps.store.checkpoint(run.run_id, id);
  return checkpoint === null ? null : driftSince(deps, run, checkpoint, { own_commits: await ownCommits(deps, run), remote });
}

/** What differs between a checkpoint of the run and now; null when the checkpoint holds no tree. */
export async function driftSince(
  deps: Pick<Deps, "checkpoints">,
  run: RunRecord,
  checkpoint: CheckpointRecord,
  options: { readonly own_commits: readonly string[]; readonly remote: boolean | string },
): Promise<Drift | null> {
  if (checkpoint.commit === null || checkpoint.tree === null) return null;
  return deps.checkpoints.drift({
    repo_path: run.repo_path,
    repo_common_dir: run.repo_common_dir,
    workspace_path: run.workspace_path,
    workspace_kind: run.workspace_kind,
    stopped_ms: msOf(run.stop?.at ?? checkpoint.at),
    run_id: run.run_id,
    branch: run.branch,
    checkpoint: { commit: checkpoint.commit, tree: checkpoint.tree, head: checkpoint.head, branch: checkpoint.branch },
    base_branch: await baseBranch(deps, run),
    ...options,
  });
}

/** Commits of the run itself: they are never somebody else's. */
export async function ownCommits(deps: { readonly store: Pick<Store, "acts"> }, run: RunRecord): Promise<readonly string[]> {
  const acts = await deps.store.acts(run.run_id, 100_000);
  return acts.flatMap((act) => (act.kind === "commit" && act.ref !== null ? [act.ref] : []));
}

/** Where a worktree run's branch would be merged into: the branch of the repository's own working tree. */
async function baseBranch(deps: Pick<Deps, "checkpoints">, run: RunRecord): Promise<string | null> {
  if (run.workspace_kind === "in_place") return null;
  try {
    const { branch } = await deps.checkpoints.discover(run.repo_path);
    return branch === `refs/heads/${run.branch ?? ""}` ? null : branch;
  } catch {
    return null;
  }
}
