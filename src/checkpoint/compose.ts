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

/** `tree` with exactly the given paths at their target. */
export async function composeTree(git: RepoGit, tree: string, paths: readonly OwnedPath[]): Promise<string> {
  const index = join(git.private_dir, "index.compose");
  await rm(index, { force: true });
  await git.run(["read-tree", tree], { index });
  const changes = new Map(paths.map(({ path, target }) => [path, target] as const));
  await git.run(["update-index", "-z", "--index-info"], { index, input: indexInfo(git, changes) });
  const composed = (await git.run(["write-tree"], { index })).text;
  await rm(index, { force: true });
  return composed;
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
  readonly safety_id: string;
}

/** Reads the working tree again: nothing but what was meant to change may differ. */
export async function verifyTree(
  git: RepoGit,
  expected: string,
  { paths, rules_changed, safety_id }: Expectation,
): Promise<void> {
  const plain = await probeLocked(git);
  const differing = (await changedBetween(git, expected, plain.tree)).map((change) => change.path);
  // A restored ignore file hides files that are still there: looked at by name they must be the same.
  const after = differing.length + paths.length === 0 ? plain : await extendSnapshot(git, plain, [...differing, ...paths]);
  const wrong = (await changedBetween(git, expected, after.tree)).filter((change) => !(rules_changed && change.from === null));
  await dropForced(git);
  if (wrong.length === 0) return;
  const names = wrong.slice(0, 5).map((change) => change.path);
  throw new LoopkeeperError(
    "repository_problem",
    `While the restore wrote, ${names.join(", ")} changed too. What was there before is in checkpoint ${safety_id}.`,
  );
}
