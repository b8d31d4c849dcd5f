import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { epochMs } from "../../src/run/clock.ts";

/**
 * Sandboxes, stores and databases of tests are thousands of small files that git and SQLite flush one by one. Where the machine has
 * the memory for them they lie there: tests kill processes and never the machine, so none of them needs a disk. A TMPDIR that
 * somebody has set is taken as it is.
 */
const MEMORY = "/dev/shm";
const PREFIX = "loopkeeper-tests-";
const OWN = join(MEMORY, `${PREFIX}${process.pid}`);
/** All tests at once hold some 300 MB there; the rest is for their processes. */
const NEEDED_BYTES = 4 * 2 ** 30;
const UNUSED_MS = 3_600_000;
/** The temp folder of before, for what later test runs use again. */
const LASTING = "LOOPKEEPER_TEST_LASTING_TMPDIR";

/** For this process and those that it starts from now on. */
export function moveIntoMemory(): void {
  if (process.env["TMPDIR"] !== undefined || !memoryServes()) return;
  sweep();
  process.env[LASTING] = tmpdir();
  mkdirSync(OWN, { recursive: true });
  process.env["TMPDIR"] = OWN;
}

export function leaveMemory(): void {
  rmSync(OWN, { recursive: true, force: true });
}

export function lastingFolder(): string {
  return process.env[LASTING] ?? tmpdir();
}

/** Room enough, also under the limit of a container, and programs may be run from there. */
function memoryServes(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    const mounted = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .filter((line) => line.split(" ")[1] === MEMORY);
    const runsPrograms = !mounted.some((line) => line.split(" ")[3]?.split(",").includes("noexec"));
    return runsPrograms && Math.min(bavail * bsize, process.availableMemory()) >= NEEDED_BYTES;
  } catch {
    return false;
  }
}

/** What test runs left that were killed: memory is not given back by itself. */
function sweep(): void {
  for (const name of readdirSync(MEMORY)) {
    if (!name.startsWith(PREFIX) || isAlive(Number(name.slice(PREFIX.length)))) continue;
    const folder = join(MEMORY, name);
    // A container that shares this memory has other process ids: what is at work makes folders all the time.
    if (epochMs() - statSync(folder).mtimeMs > UNUSED_MS) rmSync(folder, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
