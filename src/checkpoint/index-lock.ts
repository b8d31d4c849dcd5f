import { open, rename, rm, stat } from "node:fs/promises";
import { epochMs, monotonicMs, sleep } from "../run/clock.ts";
import { LoopkeeperError, systemCode } from "../run/errors.ts";
import type { RepoGit } from "./repo-git.ts";
import { userIndexPath } from "./user-index.ts";

/** The user's index, held by its own lock file: no git command that writes the index or commits can run meanwhile. */
export interface HeldIndex {
  /** Puts a finished index file in the place of the user's, and lets go of the lock. */
  replace(fresh: string): Promise<void>;
}

const WAIT_MS = 3_000;
const POLL_MS = 100;

export async function withIndexLock<T>(git: RepoGit, work: (held: HeldIndex) => Promise<T>): Promise<T> {
  const index = userIndexPath(git);
  const lock = `${index}.lock`;
  await take(lock);
  let held = true;
  try {
    return await work({
      replace: async (fresh) => {
        await rename(fresh, lock);
        await rename(lock, index);
        held = false;
      },
    });
  } finally {
    // After the swap a lock file of that name is somebody else's.
    if (held) await rm(lock, { force: true });
  }
}

/** A live git is waited for; a lock that stays is reported, never removed. */
async function take(lock: string): Promise<void> {
  const since = monotonicMs();
  for (;;) {
    try {
      await (await open(lock, "wx")).close();
      return;
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
    }
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
