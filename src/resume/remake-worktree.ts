import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { Checkpoints } from "../checkpoint/checkpoint.ts";
import { now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { tool } from "../run/names.ts";
import type { RunRecord } from "../run/run.ts";
import { said, toCallers } from "../run/said.ts";
import type { Store } from "../store/store.ts";
import { isSameRepository } from "./find-repository.ts";
import { lastCheckpoint } from "./tree-copy.ts";

interface Deps {
  readonly store: Pick<Store, "checkpoint" | "checkpoints" | "apply">;
  readonly checkpoints: Checkpoints;
}

/**
 * Makes a run's worktree again from its last checkpoint, with its branch where the run left it. The making stays begun in the
 * record, so that the next resume runs the setup commands in it.
 */
export async function remakeWorktree(deps: Deps, run: RunRecord): Promise<void> {
  const { checkpoints, store } = deps;
  const repo = await checkpoints.discover(run.repo_path);
  const last = await lastCheckpoint(store, run);
  const here = repo.common_dir === run.repo_common_dir && isSameRepository(repo, run);
  if (!here || last?.commit == null || !(await checkpoints.isPresent(repo, last.commit)))
    throw new LoopkeeperError(
      "repository_problem",
      said`the run's worktree ${run.workspace_path} is gone, and the checkpoint that it would be made again from is ${here ? "lost" : said`not in this clone; ${tool("run_resume")} brings it`}.${toCallers(said` ${tool("run_explain_stop")} shows what is left.`)}`,
    );
  await mkdir(dirname(run.workspace_path), { recursive: true, mode: 0o700 });
  const data = { path: run.workspace_path, rebuilt: true, from_checkpoint: last.id };
  await store.apply({
    run_id: run.run_id,
    at: now(),
    bump_revision: false,
    events: [{ type: "workspace_begun", at: now(), data }],
  });
  await checkpoints.rebuildWorktree(repo, { path: run.workspace_path, branch: last.branch, head: last.head ?? "" });
  const worktree = await checkpoints.discover(run.workspace_path);
  await checkpoints.restoreWhole(worktree, { run_id: run.run_id, commit: last.commit });
}
