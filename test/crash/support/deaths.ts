import { execFileSync } from "node:child_process";

/**
 * A death costs seconds. Where a list is long, a test run takes every n-th of it, beginning at another place with each commit, so
 * that a few runs take them all. LOOPKEEPER_TEST_DEATHS is the number that says where to begin, or `all`.
 */
const WANTED = process.env["LOOPKEEPER_TEST_DEATHS"] ?? String(numberOfCommit());
if (!/^(all|\d+)$/u.test(WANTED)) throw new Error(`LOOPKEEPER_TEST_DEATHS is "${WANTED}"; a whole number or "all" is wanted.`);

/** They come one after the other, each with a recovery. */
export const TIMEOUT_MS = WANTED === "all" ? 7_200_000 : 400_000;

export function deathsOf<T>(list: readonly T[], every: number): T[] {
  const taken = WANTED === "all" ? [...list] : share(list, every, Number(WANTED) % every);
  process.stdout.write(`${taken.length} of ${list.length} deaths: LOOPKEEPER_TEST_DEATHS=${WANTED}\n`);
  return taken;
}

/** One of `of` parts of a list. */
export const share = <T>(list: readonly T[], of: number, n: number): T[] => list.filter((_, index) => index % of === n);

/** Zero in sources that no git knows. */
function numberOfCommit(): number {
  try {
    const id = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    return Number.parseInt(id.slice(0, 8), 16);
  } catch {
    return 0;
  }
}
