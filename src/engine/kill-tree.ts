import { monotonicMs, sleep } from "../run/clock.ts";
import { RUN_ID_VARIABLE, RUN_NONCE_VARIABLE } from "../run/report.ts";
import { ignoredSignals, ignores } from "./ignored-signals.ts";
import { killProcess } from "./process.ts";
import { findProcess, hasVariables, ignoredMask, listProcesses, type ProcessRow } from "./process-table.ts";

/** What is to be ended: a process with all that came of it, and every process whose environment shows these variables. */
export interface KillTarget {
  readonly root: number | null;
  /** `NAME=value` pairs; a process must show all of them. Empty: nothing is looked for by environment. */
  readonly variables: readonly string[];
  /** Processes that ignore exactly these real-time signals belong to it too, whatever their environment. Empty: none do. */
  readonly ignored: readonly number[];
}

export function markedTarget(root: number | null, runId: string, nonce: string | null): KillTarget {
  const variables = [`${RUN_ID_VARIABLE}=${runId}`];
  if (nonce !== null) variables.push(`${RUN_NONCE_VARIABLE}=${nonce}`);
  // The set is the run's: it does not tell one attempt from another.
  return { root, variables, ignored: nonce === null ? ignoredSignals(runId) : [] };
}

/**
 * Kills with SIGKILL until two scans in a row find nothing; answers how many processes it killed. Descendants are read
 * before the first kill, since afterwards they belong to init. Gives up after `limitMs` (a process in an
 * uninterruptible wait cannot be killed) and answers what it has.
 */
export async function killTree(target: KillTarget, limitMs = 10_000): Promise<number> {
  const deadline = monotonicMs() + limitMs;
  const known = new Map<number, string>();
  const killed = new Set<string>();
  const root = target.root === null ? null : await findProcess(target.root);
  if (root !== null) known.set(root.pid, root.start_time);
  for (let empty = 0; empty < 2 && monotonicMs() < deadline; ) {
    const found = await scan(target, known);
    for (const row of found) {
      known.set(row.pid, row.start_time);
      // Looked at again right before: the pid may have been given to a stranger since the scan.
      if ((await findProcess(row.pid))?.start_time === row.start_time && killProcess(row.pid))
        killed.add(`${row.pid} ${row.start_time}`);
    }
    empty = found.length === 0 ? empty + 1 : 0;
    await sleep(found.length === 0 ? 15 : 5);
  }
  return killed.size;
}

/** Living processes of the target. `known` holds pids seen before with their start times: a reused pid is not followed. */
async function scan(target: KillTarget, known: ReadonlyMap<number, string>): Promise<readonly ProcessRow[]> {
  const rows = await listProcesses();
  const untouchable = ancestry(rows, process.pid);
  const candidates = rows.filter((row) => !row.zombie && !untouchable.has(row.pid) && row.pid !== 1);
  const family = descendants(rows, known, target.root);
  const marked = await Promise.all(
    candidates.map(async (row) => {
      if (family.has(row.pid)) return true;
      if (target.variables.length > 0 && (await hasVariables(row.pid, target.variables))) return true;
      const mask = target.ignored.length > 0 ? await ignoredMask(row.pid) : null;
      return mask !== null && ignores(mask, target.ignored);
    }),
  );
  return candidates.filter((_, index) => marked[index]);
}

/** This process and those it came from are never killed: a driver may itself run inside a marked tree. */
function ancestry(rows: readonly ProcessRow[], pid: number): ReadonlySet<number> {
  const parents = new Map(rows.map((row) => [row.pid, row.ppid]));
  const found = new Set<number>();
  for (let at: number | undefined = pid; at !== undefined && at > 0 && !found.has(at); at = parents.get(at)) found.add(at);
  return found;
}

function descendants(rows: readonly ProcessRow[], known: ReadonlyMap<number, string>, root: number | null): ReadonlySet<number> {
  const found = new Set<number>();
  for (const row of rows) {
    if (known.get(row.pid) === row.start_time) found.add(row.pid);
    // Orphans of the root that never left its session; only while the root's pid is known to have been the root's.
    else if (root !== null && known.has(root) && row.session === root) found.add(row.pid);
  }
  for (let grown = true; grown; ) {
    grown = false;
    for (const row of rows) {
      if (found.has(row.pid) || !found.has(row.ppid)) continue;
      found.add(row.pid);
      grown = true;
    }
  }
  return found;
}
