import type { PathLike } from "node:fs";
import { lstat, readFile, realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";

/** Real path of the git directory that `<top>/.git` is or names, or null when there is none. */
export async function findGitDir(top: string): Promise<string | null> {
  const dotGit = join(top, ".git");
  const kind = await stat(dotGit).catch(() => null);
  if (kind === null) return null;
  if (kind.isDirectory()) return realpath(dotGit);
  const named = /^gitdir: (.+?)\r?\n*$/s.exec(await readFile(dotGit, "utf8"))?.[1];
  if (named === undefined) return null;
  return realpath(resolve(top, named)).catch(() => null);
}

/** Real path of the common directory of a git directory (itself, unless it belongs to a linked worktree). */
export async function findCommonDir(gitDir: string): Promise<string> {
  const named = await readFile(join(gitDir, "commondir"), "utf8").catch(() => null);
  return named === null ? gitDir : realpath(resolve(gitDir, named.trim()));
}

/** True when the folder itself is laid out as a git directory. */
export async function looksLikeGitDir(folder: string): Promise<boolean> {
  const [head, objects, refs] = await Promise.all([
    exists(join(folder, "HEAD")),
    exists(join(folder, "objects")),
    exists(join(folder, "refs")),
  ]);
  return head && ((await exists(join(folder, "commondir"))) || (objects && refs));
}

export async function exists(path: PathLike): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null;
}
