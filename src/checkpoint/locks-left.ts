import { mkdir, readdir, readFile, readlink, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { epochMs } from "../run/clock.ts";
import { newToken } from "../run/id.ts";
import type { GitLock } from "./drift-shapes.ts";
import { leftByUs } from "./index-lock.ts";

export interface LockPlaces {
  readonly top: string;
  readonly git_dir: string;
  readonly common_dir: string;
  /** Full ref name of the run's branch. */
  readonly branch: string | null;
  /** Instant of the stop in epoch milliseconds. */
  readonly stopped_ms: number;
}

/** The locks that would hinder work in this working tree. Looks only. */
export async function locksLeft(places: LockPlaces): Promise<readonly GitLock[]> {
  const { git_dir, common_dir, branch } = places;
  const paths = [
    join(git_dir, "index.lock"),
    join(git_dir, "HEAD.lock"),
    join(common_dir, "packed-refs.lock"),
    join(common_dir, "config.lock"),
    ...(branch === null ? [] : [join(common_dir, `${branch}.lock`)]),
  ];
  const found: GitLock[] = [];
  for (const path of paths) {
    const info = await stat(path).catch(() => null);
    // One of a killed process of ours goes away with the next checkpoint.
    if (info === null || (await leftByUs(path)) !== null) continue;
    const age_s = Math.max(0, Math.floor((epochMs() - info.mtimeMs) / 1000));
    const holder = await holderOf(path, places);
    const state = holder !== null ? "live" : info.mtimeMs <= places.stopped_ms ? "stale" : "unclear";
    found.push({ path, age_s, holder, state });
  }
  return found;
}

/**
 * Moves a lock out of git's way, into our own folder beside it, so that nothing is destroyed. Null when it is no longer
 * what was looked at: somebody took it since.
 */
export async function setLockAside(lock: GitLock, places: LockPlaces): Promise<string | null> {
  const again = (await locksLeft(places)).find((one) => one.path === lock.path);
  if (again?.state !== "stale") return null;
  const folder = join(places.git_dir, "loopkeeper", "stale-locks");
  await mkdir(folder, { recursive: true });
  const aside = join(folder, `${lock.path.split("/").at(-1) ?? "lock"}.${newToken().slice(0, 8)}`);
  await rename(lock.path, aside);
  return aside;
}

/**
 * The process that has the lock open, or a git that works in this working tree: git closes its lock file while an editor or
 * a hook runs and still holds the lock. Null also where processes cannot be looked at.
 */
async function holderOf(lock: string, places: LockPlaces): Promise<GitLock["holder"]> {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const looked = await Promise.all(pids.map(async (pid) => ((await holds(pid, lock, places)) ? pid : null)));
  const pid = looked.find((one) => one !== null);
  if (pid === undefined || pid === null) return null;
  const words = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0").filter((word) => word !== "");
  return { pid, command: words.join(" ").slice(0, 80) };
}

async function holds(pid: number, lock: string, places: LockPlaces): Promise<boolean> {
  if (pid === process.pid) return false;
  const command = (await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")).trim();
  if (/^git($|-)/.test(command)) {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => "");
    const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    const roots = [places.top, places.git_dir];
    if (roots.some((root) => cwd === root || cwd.startsWith(`${root}/`))) return true;
    if (environment.split("\0").some((line) => line === `GIT_DIR=${places.git_dir}`)) return true;
  }
  const handles = await readdir(`/proc/${pid}/fd`).catch(() => []);
  for (const handle of handles) {
    if ((await readlink(`/proc/${pid}/fd/${handle}`).catch(() => "")) === lock) return true;
  }
  return false;
}
