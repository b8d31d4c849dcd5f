import { copyFile, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { epochMs } from "../run/clock.ts";
import { newToken } from "../run/id.ts";
import { probeLocked } from "./capture.ts";
import type { PathChange } from "./checkpoint.ts";
import { copyIndex } from "./index-file.ts";
import { withPrivateLock } from "./lock.ts";
import { privateIndex, STATE_FILES } from "./private-state.ts";
import { quotedPath, type RepoGit } from "./repo-git.ts";
import { changedBetween } from "./tree.ts";

const PREFIX = "look-";
const LEFT_OVER_MS = 3_600_000;

/**
 * What differs between a tree and the working tree now. The content of changed files is hashed into a folder of its own and
 * thrown away: a look that wrote blobs nobody refers to would fill the user's repository, explanation by explanation.
 */
export async function changedSince(git: RepoGit, tree: string): Promise<PathChange[]> {
  const dir = join(git.private_dir, `${PREFIX}${newToken().slice(0, 12)}`);
  const objects = join(dir, "objects");
  try {
    await mkdir(objects, { recursive: true });
    await withPrivateLock(git.private_dir, () => copyState(git.private_dir, dir));
    const env = {
      GIT_OBJECT_DIRECTORY: objects,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: quotedPath(join(git.repo.common_dir, "objects")),
    };
    const aside: RepoGit = {
      ...git,
      private_dir: dir,
      run: (args, call = {}) => git.run(args, { ...call, env: { ...env, ...call.env } }),
    };
    return await changedBetween(aside, tree, (await probeLocked(aside)).tree);
  } finally {
    await rm(dir, { recursive: true, force: true });
    await dropLeftOvers(git.private_dir);
  }
}

/** The private index with what belongs to it, so that only what changed is hashed. A missing part is made anew. */
async function copyState(from: string, to: string): Promise<void> {
  await copyIndex(privateIndex(from), privateIndex(to));
  for (const file of Object.values(STATE_FILES)) await copyFile(join(from, file), join(to, file)).catch(() => {});
}

/** Folders of looks whose process was killed. */
async function dropLeftOvers(dir: string): Promise<void> {
  for (const name of await readdir(dir).catch(() => [])) {
    if (!name.startsWith(PREFIX)) continue;
    const info = await stat(join(dir, name)).catch(() => null);
    if (info !== null && epochMs() - info.mtimeMs > LEFT_OVER_MS) await rm(join(dir, name), { recursive: true, force: true });
  }
}
