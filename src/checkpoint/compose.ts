import { rm } from "node:fs/promises";
import { join } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import { probeLocked } from "./capture.ts";
import type { OwnedPath } from "./checkpoint.ts";
import { GitFailure } from "./git.ts";
import { indexInfo } from "./index-entries.ts";
import type { RepoGit } from "./repo-git.ts";
import { dropForced, extendSnapshot } from "./snapshot.ts";
import { changedBetween } from "./tree.ts";

/** `tree` with exactly the given paths at their target, left in an index of its own for `stageFiles`. */
export async function composeTree(
  git: RepoGit,
  tree: string,
  paths: readonly OwnedPath[],
): Promise<{ readonly tree: string; readonly index: string }> {
  const index = join(git.private_dir, "index.compose");
  await rm(index, { force: true });
  const config = ["core.sparseCheckout=false"];
  await git.run(["read-tree", tree], { index, config });
  const changes = new Map(paths.map(({ path, target }) => [path, target] as const));
  await git.run(["update-index", "-z", "--index-info"], { index, config, input: indexInfo(git, changes) });
  return { tree: (await git.run(["write-tree"], { index, config })).text, index };
}

export async function dropComposed(git: RepoGit): Promise<void> {
  await rm(join(git.private_dir, "index.compose"), { force: true });
}

/**
 * Writes the difference between the index and `tree` into the working tree. git checks every file first and refuses as a
 * whole when one changed since the index was written; it writes new files and renames, so neither links nor hard links
 * carry a write elsewhere. Sparse rules stay out of it: they would delete files outside of their cone.
 */
export async function checkOut(git: RepoGit, index: string, tree: string): Promise<void> {
  try {
    await git.run(["read-tree", "-m", "-u", "--no-sparse-checkout", tree], { index });
  } catch (error) {
    if (!(error instanceof GitFailure) || error.code !== null) throw error;
    throw new LoopkeeperError(
      "repository_problem",
      "A file changed while the restore was about to write. Nothing was changed. Ask for a new preview.",
      {
        cause: error,
      },
    );
  }
}

export interface Expectation {
  /** Paths that were put in place. */
  readonly paths: readonly string[];
  /** An ignore file was among them: files that it had hidden may come into sight. */
  readonly rules_changed: boolean;
}

/** Reads the working tree again. Gives the paths that are not as `expected` says. */
export async function differingFrom(git: RepoGit, expected: string, { paths, rules_changed }: Expectation): Promise<string[]> {
  const plain = await probeLocked(git);
  const differing = (await changedBetween(git, expected, plain.tree)).map((change) => change.path);
  // A restored ignore file hides files that are still there: looked at by name they must be the same.
  const after = differing.length + paths.length === 0 ? plain : await extendSnapshot(git, plain, [...differing, ...paths]);
  const wrong = (await changedBetween(git, expected, after.tree)).filter((change) => !(rules_changed && change.from === null));
  await dropForced(git);
  return wrong.map((change) => change.path);
}

/** For a restore of a whole tree: nothing at all may differ. */
export async function verifyTree(git: RepoGit, expected: string, safety_id: string): Promise<void> {
  const wrong = await differingFrom(git, expected, { paths: [], rules_changed: true });
  if (wrong.length > 0) throw notAsMeant(wrong, safety_id);
}

export function notAsMeant(paths: readonly string[], safetyId: string): LoopkeeperError {
  return new LoopkeeperError(
    "repository_problem",
    `After the restore ${paths.slice(0, 5).join(", ")} is not as it was to be. What was there before is in checkpoint ${safetyId}.`,
  );
}
