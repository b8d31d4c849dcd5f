import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { probeLocked } from "./capture.ts";
import type { PathChange } from "./checkpoint.ts";
import { withPrivateLock } from "./lock.ts";
import { absolute, joinNul, splitNul, textOfPath } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";
import { dropForced, isIgnoreFile } from "./snapshot.ts";
import { contentsAt, sameContent } from "./tree.ts";

export interface Settled {
  readonly changes: readonly PathChange[];
  /** Paths that came into sight with a rule: what they held before, no checkpoint tells. */
  readonly unknown: readonly string[];
}

/**
 * When ignore rules change, files come into sight or go out of it without being touched: they look as if they were made
 * or deleted. Those are taken apart from what was really done. The tree is looked at as it is now, at the end of the change.
 */
export async function withoutIgnored(
  git: RepoGit,
  input: { readonly from: string; readonly changes: readonly PathChange[] },
): Promise<Settled> {
  const { changes } = input;
  if (!changes.some((change) => isIgnoreFile(change.path))) return { changes, unknown: [] };
  return withPrivateLock(git.private_dir, async () => {
    const added = changes.filter((change) => change.from === null).map((change) => change.path);
    return { changes: await withoutHidden(git, changes), unknown: await ignoredBefore(git, input.from, added) };
  });
}

/** Files that a rule hides now are as they are on disk, not gone. */
async function withoutHidden(git: RepoGit, changes: readonly PathChange[]): Promise<PathChange[]> {
  const gone = changes.filter((change) => change.to === null).map((change) => change.path);
  if (gone.length === 0) return [...changes];
  const contents = await contentsAt(git, (await probeLocked(git, gone)).tree, gone);
  await dropForced(git);
  const present = new Map(gone.map((path, n) => [path, contents[n] ?? null] as const));
  return changes
    .map((change) => (change.to === null ? { ...change, to: present.get(change.path) ?? null } : change))
    .filter((change) => !sameContent(change.from, change.to));
}

/** Of the given paths those that the rules of an earlier tree ignore. */
async function ignoredBefore(git: RepoGit, tree: string, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const folder = join(git.private_dir, "rules");
  try {
    await writeRules(git, tree, folder);
    const checked = await git.run(["check-ignore", "-z", "--stdin", "--no-index"], {
      input: joinNul(paths),
      ok: [0, 1],
      env: { GIT_WORK_TREE: folder },
    });
    return splitNul(checked.bytes).map(textOfPath);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeRules(git: RepoGit, tree: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const listed = await git.run(["ls-tree", "-r", "-z", "--full-tree", tree]);
  for (const item of splitNul(listed.bytes)) {
    const tab = item.indexOf(9);
    const path = textOfPath(item.subarray(tab + 1));
    const [mode, kind, oid] = item.toString("latin1", 0, tab).split(" ");
    // A link as an ignore file is not followed by git either.
    if (!isIgnoreFile(path) || kind !== "blob" || mode === "120000" || oid === undefined) continue;
    const file = absolute(folder, path);
    await mkdir(file.subarray(0, file.lastIndexOf(47)), { recursive: true });
    await writeFile(file, (await git.run(["cat-file", "blob", oid])).bytes);
  }
}
