import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../run/errors.ts";
import type { Repository } from "./checkpoint.ts";
import type { GitConfig } from "./git-config.ts";

type Place = Pick<Repository, "git_dir" | "common_dir">;

/** Commit and branch of HEAD. */
export interface Standing {
  readonly head: string | null;
  readonly branch: string | null;
}

/**
 * Branches and HEAD as git keeps them in files: where a run stands is asked so often that a process for each answer would
 * be most of a checkpoint's cost. Whatever is not plain - links, other ref storages, refs that name refs - is left to git:
 * then the answer is undefined.
 */
export async function standInFiles(place: Place, config: GitConfig): Promise<Standing | undefined> {
  if (!inFiles(config)) return undefined;
  const file = join(place.git_dir, "HEAD");
  if ((await kindOf(file)) !== "file") return undefined;
  const text = await readFile(file, "utf8").catch(() => "");
  const oid = oidIn(text);
  if (oid !== undefined) return { head: oid, branch: null };
  const branch = /^ref: (refs\/heads\/\S+)\n$/.exec(text)?.[1];
  if (branch === undefined) return undefined;
  const head = await refInFiles(place, config, branch);
  return head === undefined ? undefined : { head, branch };
}

/** The commit of a branch or of a remote's branch; null when there is none. */
export async function refInFiles({ common_dir }: Place, config: GitConfig, ref: string): Promise<string | null | undefined> {
  if (!inFiles(config) || !PLAIN_REF.test(ref)) return undefined;
  const file = join(common_dir, ref);
  const kind = await kindOf(file);
  if (kind === "file") return oidIn(await readFile(file, "utf8").catch(() => ""));
  // A folder is what is left of branches with longer names.
  return kind === "other" ? undefined : packed(join(common_dir, "packed-refs"), ref);
}

/** One that needs no thought about what git, or a file system, makes of it. */
const PLAIN_REF = /^refs\/(heads|remotes)(\/(?!\.)[\w.,=+%@#-]+)+$/;

function inFiles(config: GitConfig): boolean {
  return [null, "files"].includes(config.last("extensions.refstorage"));
}

function oidIn(text: string): string | undefined {
  return /^([0-9a-f]{40}|[0-9a-f]{64})\n?$/.exec(text)?.[1];
}

/** Read after the loose file was not there: git writes a packed ref before it removes the loose one. */
async function packed(file: string, ref: string): Promise<string | null | undefined> {
  const kind = await kindOf(file);
  if (kind === "none") return null;
  const text = kind === "file" ? await readFile(file, "latin1").catch(() => null) : null;
  if (text === null) return undefined;
  const at = text.indexOf(` ${ref}\n`);
  if (at < 0) return null;
  return oidIn(text.slice(text.lastIndexOf("\n", at) + 1, at));
}

async function kindOf(path: string): Promise<"file" | "folder" | "none" | "other"> {
  try {
    const info = await lstat(path);
    return info.isFile() ? "file" : info.isDirectory() ? "folder" : "other";
  } catch (error) {
    return ["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "") ? "none" : "other";
  }
}
