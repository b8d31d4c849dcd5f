import { rm } from "node:fs/promises";
import type { PathContent } from "./checkpoint.ts";
import { copyIndex } from "./index-file.ts";
import type { Meta } from "./meta.ts";
import { bytesOfPath, splitNul, textOfPath } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";
import { userIndexPath, zeroOid } from "./user-index.ts";

/** What an entry of an index becomes: a content, nothing, or the stages of a conflict. */
export type EntryChange = PathContent | Meta["unmerged"];

/** The conflicts that a checkpoint saw, by path. */
export function stagesOf({ unmerged }: Meta): Map<string, Meta["unmerged"]> {
  const found = new Map<string, Meta["unmerged"]>();
  for (const entry of unmerged) found.set(entry.path, [...(found.get(entry.path) ?? []), entry]);
  return found;
}

/** All stages and flags of one path in an index, as git lists them. */
export type EntryLines = ReadonlyMap<string, readonly string[]>;

/** An index by path. Two equal listings mean the same to git, whatever stat data and extensions the files hold. */
export async function entryLines(git: RepoGit, index: string): Promise<EntryLines> {
  const listed = await git.run(["ls-files", "-z", "-s", "-v"], { index });
  const found = new Map<string, string[]>();
  for (const item of splitNul(listed.bytes)) {
    const tab = item.indexOf(9);
    const path = textOfPath(item.subarray(tab + 1));
    found.set(path, [...(found.get(path) ?? []), item.toString("latin1", 0, tab)]);
  }
  return found;
}

/** The entry's content when it is a plain one (`tag mode oid 0`); `conflict` when it has stages. */
export function entryContent(lines: readonly string[] | undefined): PathContent | "conflict" {
  if (lines === undefined) return null;
  const [, mode = "", oid = "", stage = ""] = (lines[0] ?? "").split(" ");
  return lines.length === 1 && stage === "0" ? { mode, oid } : "conflict";
}

/** Copies the user's index to `fresh` with the given entries set or removed, and checks that every other entry is the same. */
export async function rewriteIndex(git: RepoGit, fresh: string, changes: ReadonlyMap<string, EntryChange>): Promise<boolean> {
  await rm(fresh, { force: true });
  await copyIndex(userIndexPath(git), fresh);
  const before = await entryLines(git, userIndexPath(git));
  await git.run(["update-index", "-z", "--index-info"], { index: fresh, input: indexInfo(git, changes) });
  return sameExcept(before, await entryLines(git, fresh), changes);
}

/** Input of `update-index --index-info`: removals first, so that a file can take the place of a folder, and stages that of an entry. */
export function indexInfo(git: RepoGit, changes: ReadonlyMap<string, EntryChange>): Buffer {
  const line = (head: string, path: string) => [Buffer.from(`${head}\t`, "latin1"), bytesOfPath(path), Buffer.from([0])];
  const all = [...changes];
  const going = all.filter(([, change]) => change === null || isStages(change));
  return Buffer.concat([
    ...going.flatMap(([path]) => line(`0 ${zeroOid(git)}`, path)),
    ...all.flatMap(([path, change]) => {
      if (change === null) return [];
      if (!isStages(change)) return line(`${change.mode} ${change.oid}`, path);
      return change.flatMap(({ mode, oid, stage }) => line(`${mode} ${oid} ${stage}`, path));
    }),
  ]);
}

function isStages(change: EntryChange): change is Meta["unmerged"] {
  return Array.isArray(change);
}

function sameExcept(before: EntryLines, after: EntryLines, changed: ReadonlyMap<string, EntryChange>): boolean {
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    if (!changed.has(path) && before.get(path)?.join("\n") !== after.get(path)?.join("\n")) return false;
  }
  return true;
}
