import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { HeadMove, OperationMove } from "./checkpoint.ts";
import { exists } from "./git-dir.ts";
import { commitOf } from "./head.ts";
import { type Meta, stateText } from "./meta.ts";
import { isMovable, MOVABLE_NAMES } from "./op-state.ts";
import type { RepoGit } from "./repo-git.ts";

/**
 * What a restore does to the git operation under way (`from`): it takes the run's own back to what the target had, which is mostly none.
 * Null when there is nothing to do, and when the operation is somebody else's: it is never ended for them.
 */
export async function operationMove(
  git: RepoGit,
  from: string | null,
  target: Meta | null,
  own: boolean,
): Promise<OperationMove | null> {
  if (target === null || from === "bisect" || (from !== null && !own)) return null;
  const to = isMovable(target.operation) ? target.operation : null;
  if (from === null && to === null) return null;
  return { from, to, branch: to === "rebase" ? await rebasedBranch(git, target) : null };
}

async function rebasedBranch(git: RepoGit, target: Meta): Promise<OperationMove["branch"]> {
  const read = async (name: string): Promise<string | null> =>
    (await stateText(git, target, `rebase-merge/${name}`)) ?? stateText(git, target, `rebase-apply/${name}`);
  const [ref, to] = [await read("head-name"), await read("orig-head")];
  // `detached HEAD`: it works on no branch.
  if (ref === null || to === null || !ref.startsWith("refs/heads/")) return null;
  return { ref, from: await commitOf(git, ref), to };
}

/** Whether a rebase's branch stands where HEAD leaves it, or already where it has to be: nobody's commits are passed over. */
export function isBranchFree({ branch }: OperationMove, head: HeadMove | null): boolean {
  if (branch === null || branch.from === branch.to || branch.from === null) return true;
  return head?.branch?.from === branch.ref && head.from === branch.from;
}

/**
 * Puts the checkpoint's state files in place of those that are there. Each name changes at once, and the ones that git goes by
 * come last: broken off in between, the operation is still the same one, and the restore can be done again.
 */
export async function switchOperation(git: RepoGit, meta: Meta, names: readonly string[] = MOVABLE_NAMES): Promise<void> {
  const { git_dir } = git.repo;
  const gone = join(git.private_dir, "operation.old");
  const fresh = join(git.private_dir, "operation.new");
  for (const folder of [gone, fresh]) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
  }
  for (const [name, blob] of meta.state) {
    const file = join(fresh, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, (await git.run(["cat-file", "blob", blob])).bytes);
  }
  for (const name of names) {
    if (await exists(join(git_dir, name))) await rename(join(git_dir, name), join(gone, name));
    if (await exists(join(fresh, name))) await rename(join(fresh, name), join(git_dir, name));
  }
  for (const folder of [gone, fresh]) await rm(folder, { recursive: true, force: true });
}
