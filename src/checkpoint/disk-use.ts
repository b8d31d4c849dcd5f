import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "../run/id.ts";
import { GitFailure } from "./git.ts";
import type { DiskUse } from "./holdings.ts";
import { checkpointOf, listRunRefs } from "./refs.ts";
import type { RepoGit } from "./repo-git.ts";
import { entryFor } from "./worktree-state.ts";

/** Looks at so many files at once: enough to keep a disk busy, few enough for the limit of open files. */
const AT_ONCE = 64;
const BLOCK = 512;

export async function diskUse(
  git: RepoGit,
  input: { readonly run_id: string; readonly worktree: string | null; readonly only?: readonly string[] },
): Promise<DiskUse> {
  return {
    worktree: input.worktree === null ? 0 : await folderBytes(input.worktree),
    checkpoints: await checkpointBytes(git, input.run_id, input.only),
  };
}

/** Bytes on disk of all below a folder, links not followed; 0 when it is not there, null when it cannot be read. */
async function folderBytes(top: string): Promise<number | null> {
  if ((await lstat(top).catch(() => null)) === null) return 0;
  let bytes = 0;
  const folders = [top];
  try {
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const entries = await readdir(folder, { withFileTypes: true });
      const here = folder;
      folders.push(...entries.filter((entry) => entry.isDirectory()).map((entry) => join(here, entry.name)));
      const files = entries.filter((entry) => !entry.isDirectory());
      for (let from = 0; from < files.length; from += AT_ONCE) {
        const group = files.slice(from, from + AT_ONCE).map((entry) => lstat(join(here, entry.name)).catch(() => null));
        for (const info of await Promise.all(group)) bytes += info === null ? 0 : info.blocks * BLOCK;
      }
    }
    return bytes;
  } catch {
    return null;
  }
}

/** What `git gc` could free if the run's hidden refs were gone. Null where git is too old to tell. */
async function checkpointBytes(git: RepoGit, runId: string, only?: readonly string[]): Promise<number | null> {
  const refs = (await listRunRefs(git, runId)).filter(({ ref }) => {
    const id = checkpointOf(ref);
    return only === undefined || id === null || only.includes(id);
  });
  if (refs.length === 0) return 0;
  const others = ["--not", `--exclude=refs/loopkeeper/runs/${runId}/*`, "--all"];
  const input = refs.map(({ commit }) => `${commit}\n`).join("");
  try {
    const told = await git.run(["rev-list", "--objects", "--disk-usage", "--stdin", ...others], { input });
    const bytes = Number(told.text);
    return Number.isFinite(bytes) ? bytes : null;
  } catch (error) {
    if (error instanceof GitFailure) return null;
    throw error;
  }
}

/** See `Reclaiming.standing`. */
export async function standing(git: RepoGit, worktree: string | null): Promise<string> {
  const refs = await git.run(["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/remotes", "refs/stash"]);
  const entry = worktree === null ? null : await entryFor(git.repo.common_dir, worktree);
  const files = [
    ...(entry === null ? [] : ["HEAD", "index", "index.lock", "locked", "MERGE_HEAD"].map((name) => join(entry, name))),
    ...(worktree === null ? [] : [worktree]),
  ];
  const marks = await Promise.all(
    files.map(async (path) => {
      const info = await stat(path, { bigint: true }).catch(() => null);
      return info === null ? "" : `${info.ino} ${info.size} ${info.mtimeNs}`;
    }),
  );
  return sha256([refs.text, ...marks].join("\n")).slice(0, 16);
}
