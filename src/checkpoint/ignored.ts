import { lstat, mkdir, rm, writeFile } from "node:fs/promises";
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
 * Files come into sight of a checkpoint and go out of it without being touched, when an ignore rule changes or an ignored
 * file is tracked: they look as if they were made or deleted. Those are taken apart from what was really done. The tree is
 * looked at as it is now, at the end of the change.
 */
export async function withoutIgnored(
  git: RepoGit,
  input: { readonly from: string; readonly changes: readonly PathChange[] },
): Promise<Settled> {
  const { changes } = input;
  const added = changes.filter((change) => change.from === null).map((change) => change.path);
  const gone: string[] = [];
  for (const { path, to } of changes) if (to === null && (await isThere(git, path))) gone.push(path);
  if (added.length + gone.length === 0) return { changes, unknown: [] };
  const rulesChanged = changes.some((change) => isIgnoreFile(change.path));
  return withPrivateLock(git.private_dir, async () => ({
    changes: gone.length === 0 ? changes : await withoutHidden(git, changes, gone),
    unknown: await ignoredBefore(git, rulesChanged ? input.from : null, added),
  }));
}

async function isThere(git: RepoGit, path: string): Promise<boolean> {
  const info = await lstat(absolute(git.repo.top, path)).catch(() => null);
  return info !== null && !info.isDirectory();
}

/** Files that are out of sight now are as they are on disk, not gone. */
async function withoutHidden(git: RepoGit, changes: readonly PathChange[], hidden: readonly string[]): Promise<PathChange[]> {
  const contents = await contentsAt(git, (await probeLocked(git, hidden)).tree, hidden);
  await dropForced(git);
  const present = new Map(hidden.map((path, n) => [path, contents[n] ?? null] as const));
  return changes
    .map((change) => (change.to === null ? { ...change, to: present.get(change.path) ?? null } : change))
    .filter((change) => !sameContent(change.from, change.to));
}

/** Of the given paths those that the rules of an earlier tree ignore, or without one the rules as they are. */
async function ignoredBefore(git: RepoGit, tree: string | null, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const folder = join(git.private_dir, "rules");
  try {
    if (tree !== null) await writeRules(git, tree, folder);
    const checked = await git.run(["check-ignore", "-z", "--stdin", "--no-index"], {
      // Names are patterns to this command: what stands before them keeps a colon from being read as one.
      input: joinNul(paths, () => "./"),
      ok: [0, 1],
      env: { ...(tree === null ? {} : { GIT_WORK_TREE: folder }), GIT_LITERAL_PATHSPECS: "0" },
    });
    return splitNul(checked.bytes).map((path) => textOfPath(path.subarray(2)));
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
