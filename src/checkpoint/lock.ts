import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { epochMs, monotonicMs, sleep } from "../run/clock.ts";
import { LoopkeeperError, systemCode } from "../run/errors.ts";
import { newToken } from "../run/id.ts";

const holderSchema = z.object({ pid: z.number(), started: z.string().nullable(), token: z.string() });
type Holder = z.infer<typeof holderSchema>;

const POLL_MS = 20;
const WAIT_MS = 120_000;
/** A lock without a readable holder is one whose writer died between creating and filling it, once it is this old. */
const EMPTY_STALE_MS = 10_000;

/**
 * Runs `work` while no other process uses the private index in `dir`. The lock of a dead process is taken over;
 * git's own `index.lock` that a killed git left beside our index is removed, which is safe only under this lock.
 */
export async function withPrivateLock<T>(dir: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dir, { recursive: true });
  const lock = join(dir, "lock");
  await take(lock);
  try {
    await dropLeftLocks(dir);
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

/** A killed git leaves `<index>.lock` beside each of our indexes, and every later write would fail on it. */
async function dropLeftLocks(dir: string): Promise<void> {
  for (const name of await readdir(dir).catch(() => []))
    if (/^index[\w.-]*\.lock$/.test(name)) await rm(join(dir, name), { force: true });
}

/** This process as the holder of a lock, for the lock's content. */
export async function holderText(): Promise<string> {
  const holder: Holder = { pid: process.pid, started: await startOf(process.pid), token: newToken() };
  return JSON.stringify(holder);
}

/** True when the text names a holder of ours and that process is gone. */
export async function isLeftBehind(text: string): Promise<boolean> {
  const holder = parseHolder(text);
  return holder !== null && !(await isAlive(holder));
}

async function take(lock: string): Promise<void> {
  const holder = await holderText();
  const since = monotonicMs();
  for (;;) {
    try {
      await writeFile(lock, holder, { flag: "wx" });
      return;
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
    }
    const stale = await staleText(lock);
    if (stale !== null) await removeStale(lock, stale);
    else if (monotonicMs() - since > WAIT_MS) {
      throw new LoopkeeperError(
        "repository_problem",
        "Another process has been saving this working tree for two minutes. Try again later.",
      );
    } else await sleep(POLL_MS);
  }
}

/** The lock's text when its holder is gone, else null. */
async function staleText(lock: string): Promise<string | null> {
  let text: string;
  try {
    text = await readFile(lock, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
  const holder = parseHolder(text);
  if (holder === null) {
    const info = await stat(lock).catch(() => null);
    return info !== null && epochMs() - info.mtimeMs > EMPTY_STALE_MS ? text : null;
  }
  return (await isAlive(holder)) ? null : text;
}

function parseHolder(text: string): Holder | null {
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

async function isAlive(holder: Holder): Promise<boolean> {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if (systemCode(error) === "ESRCH") return false;
  }
  const started = await startOf(holder.pid);
  // A process id is used again; the start time tells whether it is still the same process.
  return started === null || holder.started === null || started === holder.started;
}

/** Start time of a process in clock ticks since boot (Linux); null where it cannot be read. */
async function startOf(pid: number): Promise<string | null> {
  const line = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  return line?.slice(line.lastIndexOf(")") + 2).split(" ")[19] ?? null;
}

/** Two waiters may see the same stale lock; whoever moved away a fresh one puts it back. */
export async function removeStale(lock: string, stale: string): Promise<void> {
  const aside = `${lock}.${newToken().slice(0, 8)}`;
  try {
    await rename(lock, aside);
  } catch {
    return;
  }
  if ((await readFile(aside, "utf8").catch(() => stale)) !== stale) await rename(aside, lock);
  else await rm(aside, { force: true });
}
