import { lstat, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { epochMs, monotonicMs } from "../run/clock.ts";
import type { Repository } from "./checkpoint.ts";
import type { Git } from "./git.ts";
import { splitNul } from "./path-text.ts";

/** What git is configured to in one working tree, in the order in which git reads it: later settings win. */
export interface GitConfig {
  readonly settings: readonly Setting[];
  /** The value that counts; null when nothing sets the key, `true` for a key without a value. */
  last(key: string): string | null;
  /** As git reads a truth value; false when nothing sets the key. */
  isTrue(key: string): boolean;
}

export interface Setting {
  /** `system`, `global`, `local`, `worktree` or `command`. */
  readonly scope: string;
  /** Section and name in small letters, what stands between them as it is. */
  readonly key: string;
  readonly value: string;
}

type Place = Pick<Repository, "top" | "git_dir" | "common_dir">;
export type ReadConfig = (place: Place) => Promise<GitConfig>;

interface Known {
  readonly config: GitConfig;
  readonly files: readonly string[];
  readonly signature: string;
  readonly at_ms: number;
}

const MAX_KNOWN = 100;
/** How long an answer counts at most, for a file that we could not know of (the system's, at an unusual place). */
const MAX_AGE_MS = 60_000;

/**
 * Reads the configuration at each call, for an agent may have changed it since the last one: by git when one of its files
 * (included ones too) is another than it was, else out of memory.
 */
export function configReader(
  git: Git,
  user: { readonly home: string; readonly env: Readonly<Record<string, string>> },
): ReadConfig {
  const known = new Map<string, Known>();
  const home = user.env["HOME"] ?? user.home;
  const xdg = user.env["XDG_CONFIG_HOME"] ?? join(home, ".config");
  const always = ["/etc/gitconfig", join(xdg, "git", "config"), join(home, ".gitconfig")];
  return async (place) => {
    const key = `${place.git_dir}\0${place.top}`;
    const usual = [...always, join(place.common_dir, "config"), join(place.git_dir, "config.worktree")];
    const before = known.get(key);
    if (before !== undefined && monotonicMs() - before.at_ms < MAX_AGE_MS) {
      if ((await look(before.files)).signature === before.signature) return before.config;
    }
    known.delete(key);
    const startedMs = epochMs();
    const first = await look(usual);
    const listed = await list(git, place);
    const included = includedFiles(listed, home);
    if (included === null) return listed.config;
    const files = [...new Set([...usual, ...listed.origins, ...included])];
    const after = await look(files);
    // What was written while git read, or so shortly before that a second write would not show, is read again next time.
    const settled = after.newest_ms <= startedMs && listed.origins.every((file) => !after.missing.has(file));
    if (!settled || (await look(usual)).signature !== first.signature) return listed.config;
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(key, { config: listed.config, files, signature: after.signature, at_ms: monotonicMs() });
    return listed.config;
  };
}

interface Looked {
  readonly signature: string;
  readonly missing: ReadonlySet<string>;
  /** From when on a change of any of the files is sure to show in its times. */
  readonly newest_ms: number;
}

async function look(files: readonly string[]): Promise<Looked> {
  const missing = new Set<string>();
  let newest_ms = 0;
  const parts: string[] = [];
  for (const file of files) {
    // A link's own times tell when it was put there, those of what it names when that was written.
    for (const info of await Promise.all([lstat(file, BIG).catch(() => null), stat(file, BIG).catch(() => null)])) {
      if (info === null) missing.add(file);
      else newest_ms = Math.max(newest_ms, Number(info.ctimeNs / 1_000_000n) + grainOf(info.ctimeNs));
      parts.push(info === null ? "-" : `${info.dev}:${info.ino}:${info.size}:${info.mtimeNs}:${info.ctimeNs}`);
    }
  }
  return { signature: parts.join("\n"), missing, newest_ms };
}

const BIG = { bigint: true } as const;

/** Two writes within so many milliseconds may leave the same times; some file systems keep whole seconds. */
function grainOf(ctimeNs: bigint): number {
  return ctimeNs % 1_000_000_000n === 0n ? 3_000 : 100;
}

interface ListedConfig {
  readonly config: GitConfig;
  /** Files that say something. */
  readonly origins: readonly string[];
  /** `[origin, key, value]` of every order to include a file. */
  readonly includes: readonly (readonly [string, string, string])[];
}

async function list(git: Git, place: Place): Promise<ListedConfig> {
  const { bytes } = await git(["config", "--list", "--show-scope", "--show-origin", "-z"], {
    cwd: place.top,
    env: { GIT_DIR: place.git_dir, GIT_WORK_TREE: place.top },
  });
  const items = splitNul(bytes).map((item) => item.toString("utf8"));
  const settings: Setting[] = [];
  const origins = new Set<string>();
  const includes: (readonly [string, string, string])[] = [];
  for (let at = 0; at + 2 < items.length; at += 3) {
    const [scope = "", from = "", entry = ""] = items.slice(at, at + 3);
    // What comes from our own command line is no setting of anybody's.
    if (scope === "command") continue;
    const end = entry.indexOf("\n");
    const [key, value] = end < 0 ? [entry, "true"] : [entry.slice(0, end), entry.slice(end + 1)];
    settings.push({ scope, key, value });
    const origin = resolve(place.top, from.replace(/^file:/, ""));
    origins.add(origin);
    if (/^include(if\..*)?\.path$/s.test(key)) includes.push([origin, key, value]);
  }
  return { config: configOf(settings), origins: [...origins], includes };
}

/** Files that are included or would be if they were there; null when other things than files decide about it. */
function includedFiles({ includes }: ListedConfig, home: string): string[] | null {
  const files: string[] = [];
  for (const [origin, key, value] of includes) {
    if (key.startsWith("includeif.onbranch:")) return null;
    const path = value.replace(/^~(?=\/)/, home);
    if (/^[~%]/.test(path)) return null;
    files.push(isAbsolute(path) ? path : join(dirname(origin), path));
  }
  return files;
}

function configOf(settings: readonly Setting[]): GitConfig {
  const last = (key: string) => settings.findLast((setting) => setting.key === key)?.value ?? null;
  return { settings, last, isTrue: (key) => isTrue(last(key)) };
}

function isTrue(value: string | null): boolean {
  if (value === null || value === "") return false;
  if (/^(false|no|off)$/i.test(value)) return false;
  return /^(true|yes|on)$/i.test(value) || !/^[-+]?0+[kmg]?$/i.test(value);
}
