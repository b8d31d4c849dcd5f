import { randomBytes } from "node:crypto";
import { chmod, lstat, open, readFile, rename, rm } from "node:fs/promises";
import type { OwnedPath } from "./checkpoint.ts";
import { type Meta, readMeta } from "./meta.ts";
import { absolute } from "./path-text.ts";
import type { Sidecar } from "./private-state.ts";
import type { RepoGit } from "./repo-git.ts";
import { contentsAt, sameContent } from "./tree.ts";

/** Exact bytes and modes that belong to the targets: from the named checkpoint first, else from the run's newest that holds the content. */
export async function sidesOf(
  git: RepoGit,
  paths: readonly OwnedPath[],
  metas: readonly Meta[],
  checkpoint: string | null,
): Promise<Sidecar> {
  const sides: Sidecar = {};
  let open = paths.filter((owned) => owned.target !== null);
  const named = checkpoint === null ? null : await readMeta(git, checkpoint);
  const newestFirst = metas.filter((meta) => meta.raw.length + meta.modes.length > 0).sort((a, b) => (a.at < b.at ? 1 : -1));
  for (const meta of named === null ? newestFirst : [named, ...newestFirst]) {
    if (open.length === 0) break;
    const contents = await contentsAt(
      git,
      meta.tree,
      open.map((owned) => owned.path),
    );
    const known = sidesIn(meta);
    const holds = new Set(open.filter((owned, n) => sameContent(contents[n] ?? null, owned.target)).map((owned) => owned.path));
    for (const path of holds) sides[path] = known[path] ?? {};
    open = open.filter((owned) => !holds.has(owned.path));
  }
  return sides;
}

export function sidesIn(meta: Meta): Sidecar {
  const sides: Sidecar = {};
  for (const [path, raw] of meta.raw) sides[path] = { raw };
  for (const [path, mode] of meta.modes) sides[path] = { ...sides[path], mode };
  return sides;
}

/** Gives files that git has written their exact bytes and modes. */
export async function putSides(git: RepoGit, sides: Sidecar): Promise<void> {
  for (const [path, { raw, mode }] of Object.entries(sides)) {
    const file = absolute(git.repo.top, path);
    const info = await lstat(file).catch(() => null);
    if (info === null || !info.isFile()) continue;
    if (raw !== undefined) await putBytes(git, path, raw, info.mode & 0o7777);
    if (mode !== undefined) await chmod(file, mode);
  }
}

/** Writes beside and renames: an open file or a hard link to the old one keeps its bytes. */
async function putBytes(git: RepoGit, path: string, blob: string, mode: number): Promise<void> {
  const { bytes } = await git.run(["cat-file", "blob", blob]);
  const file = absolute(git.repo.top, path);
  if ((await readFile(file)).equals(bytes)) return;
  const beside = absolute(git.repo.top, `${path}.${randomBytes(6).toString("hex")}`);
  const handle = await open(beside, "wx", mode);
  try {
    await handle.writeFile(bytes);
    await handle.chmod(mode);
  } finally {
    await handle.close();
  }
  await rename(beside, file).catch(async (error: unknown) => {
    await rm(beside, { force: true });
    throw error;
  });
}
