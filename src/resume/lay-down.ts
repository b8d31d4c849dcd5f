import type { Checkpoints } from "../checkpoint/checkpoint.ts";
import { LoopkeeperError, refused } from "../run/errors.ts";
import { setting } from "../run/names.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import { said } from "../run/said.ts";
import type { Store } from "../store/store.ts";
import { loadOwned } from "./ownership.ts";
import type { RunRestore } from "./restore.ts";

/**
 * A run that works in place, in a clone where it never was: the uncommitted files of its checkpoint are laid on the clone's own
 * working tree. HEAD and branch are the person's there and are not moved; what the clone has changed in the same paths is a conflict.
 */
export async function planLayDown(
  deps: { readonly store: Pick<Store, "runArtifacts">; readonly checkpoints: Checkpoints },
  run: RunRecord,
  checkpoint: CheckpointRecord | null,
  overwrite: boolean,
): Promise<RunRestore | null> {
  if (checkpoint?.commit == null || checkpoint.tree === null || checkpoint.head === null) return null;
  const repo = await deps.checkpoints.discover(run.workspace_path);
  if (repo.head !== checkpoint.head) throw standsElsewhere(repo, checkpoint);
  const changes = await deps.checkpoints.changedPaths(repo, checkpoint.head, checkpoint.tree);
  if (changes.length === 0) return null;
  const paths = changes.map((change) => ({ path: change.path, target: change.to, last: change.from }));
  const forced = overwrite ? paths.map((entry) => entry.path) : [];
  const plan = await deps.checkpoints.planRestore(repo, {
    run_id: run.run_id,
    paths,
    entries: [],
    overwrite: forced,
    head: null,
  });
  if (plan.conflicts.length > 0)
    throw refused(
      "conflicts",
      said`this clone has changes of its own in ${plan.conflicts.slice(0, 10).join(", ")}, where the run has some too. Commit or stash them, or say ${setting("on_drift", "restore")} (a safety checkpoint is taken first).`,
    );
  return {
    repo,
    target: checkpoint,
    paths,
    entries: [],
    overwrite: forced,
    own_operation: false,
    owned: await loadOwned(deps.store, run.run_id),
    plan,
  };
}

function standsElsewhere(
  repo: { readonly top: string; readonly head: string | null },
  checkpoint: CheckpointRecord,
): LoopkeeperError {
  const branch = checkpoint.branch?.replace("refs/heads/", "") ?? null;
  const where = branch === null ? `commit ${checkpoint.head ?? ""}` : `branch ${branch} at ${checkpoint.head ?? ""}`;
  const way =
    branch === null
      ? `git switch --detach ${checkpoint.head ?? ""}`
      : `git switch ${branch}, then git merge --ff-only ${checkpoint.head ?? ""}`;
  return new LoopkeeperError(
    "repository_problem",
    `the run works in place and stood on ${where}; ${repo.top} stands at ${repo.head ?? "no commit"}. The run's commits are in this clone now. Go there first (in ${repo.top}: ${way}), then call again.`,
  );
}
