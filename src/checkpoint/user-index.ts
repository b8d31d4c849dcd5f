import { open, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../run/errors.ts";
import { copyIndex, type IndexEntry, isSpecial, parseIndex } from "./index-file.ts";
import { joinNul } from "./path-text.ts";
import { readState, STATE_FILES, type UserIndexCache, userIndexCopy, userIndexSchema } from "./private-state.ts";
import type { RepoGit } from "./repo-git.ts";

/** The user's index as it stands, read from a copy: nothing here writes to the original or takes its lock. */
export interface UserIndex {
  readonly present: boolean;
  /** Equal keys mean an unchanged file. */
  readonly key: string;
  readonly index_tree: string;
  /** Entries that a tree cannot say everything about. */
  readonly special: readonly IndexEntry[];
  /** The facts came from the last reading. */
  readonly unchanged: boolean;
  /** Key of the ignore rules at the last reading; null at the first. */
  readonly ignore_key: string | null;
}

export async function readUserIndex(git: RepoGit): Promise<UserIndex> {
  const original = userIndexPath(git);
  const key = await keyOf(original, git.repo.object_format === "sha256" ? 32 : 20);
  const cached = await readState(git.private_dir, STATE_FILES.user, userIndexSchema);
  const present = key !== "none";
  if (cached !== null && cached.key === key) return fromCache(cached, present);
  const copy = userIndexCopy(git.private_dir);
  const special = (await copyUserIndex(git, copy)) ? await specialEntries(git, copy) : [];
  await dropConflicts(git, copy, special);
  const index_tree = (await git.run(["write-tree"], { index: copy })).text;
  return { present, key, index_tree, special, unchanged: false, ignore_key: cached?.ignore_key ?? null };
}

export function userIndexPath(git: RepoGit): string {
  return join(git.repo.git_dir, "index");
}

/** Copies the user's index to `to`, or empties `to` when there is none. */
export async function copyUserIndex(git: RepoGit, to: string): Promise<boolean> {
  const copied = await copyIndex(userIndexPath(git), to);
  if (!copied) await rm(to, { force: true });
  return copied;
}

/** All names in the user's index: what the user tracks is never skipped for its size. */
export async function trackedPaths(git: RepoGit): Promise<ReadonlySet<string>> {
  const copy = userIndexCopy(git.private_dir);
  if (!(await copyUserIndex(git, copy))) return new Set();
  await unsplit(git, copy);
  return new Set(parseIndex(await readFile(copy), git.repo.object_format, "all").entries.map((entry) => entry.path));
}

function conflictedPaths(entries: readonly IndexEntry[]): string[] {
  return [...new Set(entries.filter((entry) => entry.stage > 0).map((entry) => entry.path))];
}

/** Takes all stages of conflicted paths out of an index, which then can be written as a tree. */
export async function dropConflicts(git: RepoGit, index: string, entries: readonly IndexEntry[]): Promise<void> {
  const paths = conflictedPaths(entries);
  if (paths.length === 0) return;
  await git.run(["update-index", "-z", "--index-info"], { index, input: joinNul(paths, () => `0 ${zeroOid(git)}\t`) });
}

export function zeroOid(git: RepoGit): string {
  return "0".repeat(git.repo.object_format === "sha256" ? 64 : 40);
}

async function specialEntries(git: RepoGit, copy: string): Promise<IndexEntry[]> {
  await unsplit(git, copy);
  return parseIndex(await readFile(copy), git.repo.object_format, "special").entries.filter(isSpecial);
}

async function unsplit(git: RepoGit, copy: string): Promise<void> {
  if (parseIndex(await readFile(copy), git.repo.object_format, "special").split) {
    await git.run(["update-index", "--no-split-index"], { index: copy });
  }
}

function fromCache(cached: UserIndexCache, present: boolean): UserIndex {
  const { key, index_tree, special, ignore_key } = cached;
  return { present, key, index_tree, special, unchanged: true, ignore_key };
}

/** Inode, size, time and checksum: two of them may repeat within one clock tick, all four do not. */
async function keyOf(path: string, hash: number): Promise<string> {
  try {
    const file = await open(path, "r");
    try {
      const info = await file.stat({ bigint: true });
      const trailer = Buffer.alloc(hash);
      await file.read(trailer, 0, hash, Math.max(0, Number(info.size) - hash));
      return `${info.ino}:${info.size}:${info.mtimeNs}:${trailer.toString("hex")}`;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (systemCode(error) === "ENOENT") return "none";
    throw error;
  }
}

/** Changes when a file of ignore rules outside the tree changes. */
export async function ignoreKey(git: RepoGit): Promise<string> {
  const files = [join(git.repo.common_dir, "info", "exclude"), git.excludes_file];
  const parts: string[] = [];
  for (const file of files) {
    const info = await stat(file, { bigint: true }).catch(() => null);
    parts.push(info === null ? "-" : `${info.mtimeNs}:${info.size}`);
  }
  return `${git.excludes_file}|${parts.join("|")}`;
}
