import { lstat, readdir, readFile, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { WorktreeState } from "./drift-shapes.ts";
import { exists, findCommonDir, findGitDir } from "./git-dir.ts";

/** Looks at a folder as a worktree of the repository with this common directory. Changes nothing. */
export async function worktreeState(path: string, commonDir: string): Promise<WorktreeState> {
  const info = await lstat(path).catch(() => null);
  if (info === null) return "missing";
  // A link would carry every write to where it points.
  if (!info.isDirectory()) return "occupied";
  const names = await readdir(path).catch(() => null);
  if (names === null) return "occupied";
  if (names.length === 0) return "missing";
  const known = (await entryFor(commonDir, path)) !== null;
  const dotGit = await lstat(join(path, ".git")).catch(() => null);
  if (dotGit === null) return known ? "unregistered" : "occupied";
  if (!dotGit.isFile()) return "occupied";
  const gitDir = await findGitDir(path).catch(() => null);
  if (gitDir === null || !(await exists(join(gitDir, "HEAD"))))
    return known || (await namesEntryOf(path, commonDir)) ? "unregistered" : "occupied";
  const common = await findCommonDir(gitDir).catch(() => null);
  if (common === null) return known ? "unregistered" : "occupied";
  if (common !== (await realOf(commonDir))) return "occupied";
  // A linked worktree's entry names its folder; an entry that names another one belongs to that.
  const back = await readFile(join(gitDir, "gitdir"), "utf8").catch(() => null);
  if (back === null) return "occupied";
  const named = resolve(gitDir, back.trim());
  if ((await realOf(named)) !== (await realOf(join(path, ".git")))) return (await exists(named)) ? "occupied" : "unregistered";
  // git writes the index last: an entry without one is of a worktree that was never finished.
  return (await exists(join(gitDir, "index"))) ? "present" : "unfinished";
}

/** The entry in the repository's list of worktrees that names this folder, or null. */
export async function entryFor(commonDir: string, path: string): Promise<string | null> {
  const entries = join(commonDir, "worktrees");
  const wanted = await realOf(join(path, ".git"));
  for (const name of await readdir(entries).catch(() => [])) {
    const named = await readFile(join(entries, name, "gitdir"), "utf8").catch(() => null);
    if (named !== null && (await realOf(resolve(entries, name, named.trim()))) === wanted) return join(entries, name);
  }
  return null;
}

/** True when the folder's `.git` file names a place in this repository's list of worktrees, there or gone. */
async function namesEntryOf(path: string, commonDir: string): Promise<boolean> {
  const text = await readFile(join(path, ".git"), "utf8").catch(() => "");
  const named = /^gitdir: (.+?)\r?\n*$/s.exec(text)?.[1];
  if (named === undefined) return false;
  return (await realOf(dirname(resolve(path, named)))) === join(await realOf(commonDir), "worktrees");
}

/** The real path as far as it exists, for comparing with names of folders that may be gone. */
export async function realOf(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  if (real !== null) return real;
  const up = dirname(path);
  return up === path ? path : join(await realOf(up), basename(path));
}
