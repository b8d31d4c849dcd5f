import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { exists } from "./git-dir.ts";

/**
 * What holds a merge, rebase, cherry-pick or revert. Those that git tells the operation by come last: until they are there, or
 * gone, it is the one that it was.
 */
export const MOVABLE_NAMES = [
  "MERGE_MSG",
  "MERGE_MODE",
  "AUTO_MERGE",
  "SQUASH_MSG",
  "REBASE_HEAD",
  "ORIG_HEAD",
  "sequencer",
  "MERGE_HEAD",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "rebase-merge",
  "rebase-apply",
] as const;

/** Files and folders of a git directory that hold an operation under way; a checkpoint keeps them. */
export const STATE_NAMES = [
  ...MOVABLE_NAMES,
  "BISECT_LOG",
  "BISECT_NAMES",
  "BISECT_START",
  "BISECT_TERMS",
  "BISECT_EXPECTED_REV",
  "BISECT_ANCESTORS_OK",
  "BISECT_FIRST_PARENT",
] as const;

const MAX_STATE_BYTES = 5_000_000;

/** The git operation that is under way in a working tree, or null. */
export async function operationOf(gitDir: string): Promise<string | null> {
  const has = (name: string) => exists(join(gitDir, name));
  if ((await has("rebase-merge")) || (await has("rebase-apply"))) return "rebase";
  if (await has("MERGE_HEAD")) return "merge";
  if (await has("CHERRY_PICK_HEAD")) return "cherry-pick";
  if (await has("REVERT_HEAD")) return "revert";
  const todo = await readFile(join(gitDir, "sequencer", "todo"), "utf8").catch(() => null);
  if (todo !== null) return /^\s*(revert|r)\b/.test(todo) ? "revert" : "cherry-pick";
  return (await has("BISECT_LOG")) ? "bisect" : null;
}

/** A bisect keeps refs of the repository, and moves nothing but HEAD: a restore lets it be. */
export function isMovable(operation: string | null): operation is string {
  return operation !== null && operation !== "bisect";
}

/** Files that name what an operation is about; they stay the same from its begin to its end. */
export const OPERATION_KEYS = [
  "rebase-merge/orig-head",
  "rebase-apply/orig-head",
  "MERGE_HEAD",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "BISECT_START",
] as const;

/** Tells one operation from another of the same kind. */
export async function operationKey(gitDir: string): Promise<string> {
  const parts = await Promise.all(
    OPERATION_KEYS.map(async (name) => (await readFile(join(gitDir, name), "utf8").catch(() => "")).trim()),
  );
  return parts.join("|");
}

/** Names (relative to the git directory) of all state files that are there. */
export async function stateFiles(gitDir: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of STATE_NAMES) await walk(gitDir, name, found);
  return found;
}

async function walk(gitDir: string, name: string, found: string[]): Promise<void> {
  const info = await lstat(join(gitDir, name)).catch(() => null);
  if (info === null) return;
  if (info.isFile() && info.size <= MAX_STATE_BYTES) found.push(name);
  if (!info.isDirectory()) return;
  for (const child of (await readdir(join(gitDir, name)).catch(() => [])).sort()) await walk(gitDir, `${name}/${child}`, found);
}

/** Changes whenever a state file appears, vanishes or is written. */
export async function stateKey(gitDir: string): Promise<string> {
  const parts: string[] = [];
  for (const name of await stateFiles(gitDir)) {
    const info = await lstat(join(gitDir, name), { bigint: true }).catch(() => null);
    if (info !== null) parts.push(`${name}:${info.mtimeNs}:${info.size}`);
  }
  return parts.join("|");
}
