import { constants } from "node:fs";
import { access, lstat } from "node:fs/promises";
import type { SkippedPath } from "../run/run.ts";
import { exists } from "./git-dir.ts";
import type { Limits } from "./limits.ts";
import type { Listed } from "./list.ts";
import { absolute, parentsOf } from "./path-text.ts";

/** Smaller files never count towards what a run may write: source is always covered. */
const LARGE_BYTES = 2 ** 20;

/** Bytes of the large ones among the files that are to be written. */
export function largeBytes(sizes: ReadonlyMap<string, number>): number {
  return [...sizes.values()].filter((bytes) => bytes >= LARGE_BYTES).reduce((sum, bytes) => sum + bytes, 0);
}

export interface Classified {
  /** Paths whose present content goes into the private index. */
  readonly stage: string[];
  /** Paths that leave the private index. */
  readonly remove: string[];
  readonly skipped: SkippedPath[];
  /** Sizes of regular files in `stage`. */
  readonly sizes: Map<string, number>;
}

export interface TrackedFacts {
  readonly submodules: ReadonlySet<string>;
  /** Everything in the user's index; asked for only when a file is over a limit. */
  tracked(): Promise<ReadonlySet<string>>;
  /** At least the bytes of untracked files that the private index holds: quick to know. */
  readonly untracked_bound: number;
  /** Bytes of large files that earlier checkpoints of the same run wrote. */
  readonly spent_bytes: number;
  /** Size by path of all that the private index holds; read only when the bound is over the limit. */
  held(): Promise<ReadonlyMap<string, number>>;
}

/** Decides by `lstat` what happens to each listed path. Never opens a file: a fifo would block for ever. */
export async function classify(
  top: string,
  listed: ReadonlyMap<string, Listed>,
  facts: TrackedFacts,
  limits: Limits,
): Promise<Classified> {
  const result: Classified = { stage: [], remove: [], skipped: [], sizes: new Map() };
  const links = new Map<string, boolean>();
  for (const [path, how] of listed) await classifyOne(top, path, how, facts, limits, links, result);
  await applyQuota(facts, limits, result);
  return result;
}

async function classifyOne(
  top: string,
  path: string,
  how: Listed,
  facts: TrackedFacts,
  limits: Limits,
  links: Map<string, boolean>,
  result: Classified,
): Promise<void> {
  if (path.endsWith("/")) {
    result.skipped.push({ path: path.slice(0, -1), bytes: 0, why: "nested_repository" });
    return;
  }
  const skip = (bytes: number, why: SkippedPath["why"]) => result.skipped.push({ path, bytes, why });
  const info = (await beneathLink(top, path, links)) ? null : await lstat(absolute(top, path)).catch(() => null);
  if (info === null || how === "dropped") {
    result.remove.push(path);
  } else if (info.isDirectory()) {
    const submodule = how === "submodule" || facts.submodules.has(path);
    if (submodule && (await exists(absolute(top, `${path}/.git`)))) result.stage.push(path);
    else result.remove.push(path);
  } else if (info.isSymbolicLink()) {
    result.stage.push(path);
  } else if (!info.isFile()) {
    skip(0, "special");
    if (how !== "untracked") result.remove.push(path);
  } else if (!(await readable(top, path))) {
    // What cannot be read keeps its last captured content in the tree, and is named.
    skip(info.size, "unreadable");
  } else if (how !== "forced" && info.size > limits.file_bytes && !(await facts.tracked()).has(path)) {
    skip(info.size, "too_big");
    if (how !== "untracked") result.remove.push(path);
  } else {
    result.stage.push(path);
    result.sizes.set(path, info.size);
  }
}

/** Leaves out the largest untracked files first, so that as many as possible are covered. */
async function applyQuota(facts: TrackedFacts, limits: Limits, result: Classified): Promise<void> {
  const staged = [...result.sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  const room = limits.run_bytes - facts.spent_bytes;
  if (facts.untracked_bound + staged <= limits.total_bytes && largeBytes(result.sizes) <= room) return;
  const [tracked, held] = [await facts.tracked(), await facts.held()];
  let total = 0;
  for (const [path, bytes] of held) if (!tracked.has(path) && !result.sizes.has(path)) total += bytes;
  const fresh = [...result.sizes].filter(([path]) => !tracked.has(path)).sort(([, a], [, b]) => b - a);
  for (const [, bytes] of fresh) total += bytes;
  for (const [path, bytes] of fresh) {
    const overRun = bytes >= LARGE_BYTES && largeBytes(result.sizes) > room;
    if (total <= limits.total_bytes && !overRun) return;
    total -= bytes;
    result.stage.splice(result.stage.indexOf(path), 1);
    result.sizes.delete(path);
    if (held.has(path)) result.remove.push(path);
    result.skipped.push({ path, bytes, why: "quota" });
  }
}

/** True when a parent of the path is a symbolic link: what lies behind it is not in this working tree. */
async function beneathLink(top: string, path: string, known: Map<string, boolean>): Promise<boolean> {
  for (const parent of parentsOf(path)) {
    let link = known.get(parent);
    if (link === undefined) {
      link = (await lstat(absolute(top, parent)).catch(() => null))?.isSymbolicLink() ?? false;
      known.set(parent, link);
    }
    if (link) return true;
  }
  return false;
}

async function readable(top: string, path: string): Promise<boolean> {
  try {
    await access(absolute(top, path), constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
