import { link, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { epochMs, monotonicMs, sleep } from "../run/clock.ts";
import { LoopkeeperError, systemCode } from "../run/errors.ts";
import { newToken } from "../run/id.ts";
import { holderText, isLeftBehind, removeStale } from "./lock.ts";
import type { RepoGit } from "./repo-git.ts";
import { userIndexPath } from "./user-index.ts";

/** The user's index, held by its own lock file: no git command that writes the index or commits can run meanwhile. */
export interface HeldIndex {
  /** Puts a finished index file in the place of the user's, and lets go of the lock. */
  replace(fresh: string): Promise<void>;
}

/** More than what we write into it; a lock of git's holds a whole index or nothing. */
const OWN_BYTES = 1_000;
const WAIT_MS = 3_000;
const POLL_MS = 100;

export async function withIndexLock<T>(git: RepoGit, work: (held: HeldIndex) => Promise<T>): Promise<T> {
  const index = userIndexPath(git);
  const lock = `${index}.lock`;
  await take(git, lock);
  try {
    // The lock itself stays ours to tell until it is gone, so that one of a killed process is never taken for git's.
    return await work({ replace: (fresh) => rename(fresh, index) });
  } finally {
    await rm(lock, { force: true });
  }
}

/** Removes the lock that a killed process of ours left: git in this working tree would fail on it for ever. */
export async function dropOwnIndexLock(git: RepoGit): Promise<void> {
  const lock = `${userIndexPath(git)}.lock`;
  const left = await leftByUs(lock);
  if (left !== null) await removeStale(lock, left);
}

/** The lock's text when it is of a process of ours that is gone; null when it is git's, or held, or not there. */
export async function leftByUs(lock: string): Promise<string | null> {
  const info = await stat(lock).catch(() => null);
  if (info === null || info.size === 0 || info.size > OWN_BYTES) return null;
  const text = await readFile(lock, "utf8").catch(() => "");
  return (await isLeftBehind(text)) ? text : null;
}

/** A live git is waited for; a lock of git's that stays is reported, never removed. */
async function take(git: RepoGit, lock: string): Promise<void> {
  await mkdir(git.private_dir, { recursive: true });
  const own = join(git.private_dir, `holder.${newToken().slice(0, 8)}`);
  await writeFile(own, await holderText());
  try {
    await takeAs(git, own, lock);
  } finally {
    await rm(own, { force: true });
  }
}

/** A link is made with its content at once: there is no moment in which the lock is there and says nothing. */
async function takeAs(git: RepoGit, own: string, lock: string): Promise<void> {
  const since = monotonicMs();
  for (;;) {
    try {
      await link(own, lock);
      return;
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
    }
    await dropOwnIndexLock(git);
    if (monotonicMs() - since > WAIT_MS) {
      const info = await stat(lock).catch(() => null);
      const age = info === null ? 0 : Math.max(0, Math.floor((epochMs() - info.mtimeMs) / 1000));
      throw new LoopkeeperError(
        "repository_problem",
        `Another git process holds ${lock} (${age} s old). Wait for it; if no git runs in this working tree, remove that file and try again.`,
      );
    }
    await sleep(POLL_MS);
  }
}
