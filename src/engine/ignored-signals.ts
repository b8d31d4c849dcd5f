import { sha256 } from "../run/id.ts";

/**
 * A mark that outlives a cleared environment, `setsid` and a double fork: ignored signals are inherited by children and kept
 * over exec. Real-time signals have no meaning of their own and hardly a program uses them, so each run's processes are
 * started with a set of them ignored that is the run's alone. Linux shows the set of every process to everybody.
 */

/** Signals below are used by the C libraries themselves. */
const FIRST = 36;
const LAST = 62;

/** The signals that a run's processes ignore: about half of the 27, never none. */
export function ignoredSignals(runId: string): readonly number[] {
  const bits = BigInt(`0x${sha256(`signals ${runId}`).slice(0, 8)}`);
  const chosen = [];
  for (let signal = FIRST; signal < LAST; signal += 1) if ((bits >> BigInt(signal - FIRST)) & 1n) chosen.push(signal);
  return [...chosen, LAST];
}

/** Words of a shell that ignores them and then becomes the program: `[...words, program, ...arguments]`. */
export function ignoring(signals: readonly number[]): readonly string[] {
  const list = signals.join(" ");
  // In a shell that knows no such signals the mark is missing and nothing else.
  return ["-c", `(trap '' ${list}) 2>/dev/null && trap '' ${list}; exec "$0" "$@"`];
}

/** Whether the SigIgn line of /proc/PID/status shows exactly this set among those signals. */
export function ignores(sigIgn: string, signals: readonly number[]): boolean {
  const mask = BigInt(`0x${sigIgn}`);
  const wanted = new Set(signals);
  for (let signal = FIRST; signal <= LAST; signal += 1)
    if (((mask >> BigInt(signal - 1)) & 1n) !== (wanted.has(signal) ? 1n : 0n)) return false;
  return true;
}
