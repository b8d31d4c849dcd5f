import type { CheckpointRecord, IterationRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import type { OwnedEntry } from "./ownership.ts";

/** A run's checkpoints in the order in which they were recorded. */
export interface Timeline {
  /** Oldest first. */
  readonly records: readonly CheckpointRecord[];
  /** Negative when `a` came before `b`; null when one of them is not known. */
  compare(a: string, b: string): number | null;
  /** Whether a checkpoint is `target` or came after it; an unknown one did not. */
  reaches(checkpoint: string | null, target: string): boolean;
}

export function timelineOf(newestFirst: readonly CheckpointRecord[]): Timeline {
  const records = [...newestFirst].reverse();
  const places = new Map(records.map((record, n) => [record.id, n] as const));
  const compare = (a: string, b: string): number | null => {
    const [one, other] = [places.get(a), places.get(b)];
    return one === undefined || other === undefined ? null : one - other;
  };
  return {
    records,
    compare,
    reaches: (checkpoint, target) => checkpoint !== null && (compare(checkpoint, target) ?? -1) >= 0,
  };
}

/** More than a run can have. */
const ALL = 100_000;

/** What of a run's steps lies at or after a checkpoint. */
export interface Since {
  /** Whether a step with this entry began there. */
  began(entry: string | null): boolean;
  /** Whether an iteration of the step began there, whenever the step itself did. */
  workedAt(step: string): boolean;
}

export async function sinceCheckpoint(
  store: Pick<Store, "checkpoints" | "iterations">,
  runId: string,
  target: string,
): Promise<Since> {
  const timeline = timelineOf(await store.checkpoints(runId, ALL));
  const rows = await store.iterations(runId, ALL);
  return {
    began: (entry) => timeline.reaches(entry, target),
    workedAt: (step) => rows.some((row) => row.step === step && timeline.reaches(row.checkpoint_start, target)),
  };
}

/** Whether the run changed the path after `target`; unknown counts as yes. */
export function changedSince(entry: OwnedEntry, target: string, timeline: Timeline): boolean {
  if (entry.changed_after === null || entry.pending !== undefined) return true;
  return (timeline.compare(target, entry.changed_after) ?? 0) <= 0;
}

/** Whether all that happened to the path after `target` was the run's own doing, as far as it is known; unknown counts as no. */
export function ownSince(entry: OwnedEntry, target: string, timeline: Timeline): boolean {
  const foreign = entry.foreign_before === null ? false : (timeline.compare(target, entry.foreign_before) ?? -1) < 0;
  const unattributed =
    entry.unattributed_after === null ? false : (timeline.compare(target, entry.unattributed_after) ?? -1) <= 0;
  return !foreign && !unattributed;
}

export interface HeadAt {
  readonly head: string | null;
  /** Full ref name; null when detached. */
  readonly branch: string | null;
}

/**
 * Whether each move of HEAD from `target` until now was the run's: made within one of its iterations, by one of its own
 * commits, or by a restore of ours. Anything else is somebody's who must not lose it.
 */
export function headMovedByRun(
  timeline: Timeline,
  target: CheckpointRecord,
  now: HeadAt,
  facts: { readonly iterations: readonly IterationRecord[]; readonly own_commits: readonly string[] },
): boolean {
  const within = new Set(facts.iterations.map((row) => `${row.checkpoint_start ?? ""} ${row.checkpoint_end ?? ""}`));
  const own = new Set(facts.own_commits);
  const since = timeline.records.filter((record) => record.commit !== null && timeline.reaches(record.id, target.id));
  /** Where HEAD is known to have been: a restore of ours puts it nowhere else. */
  const known = new Set(timeline.records.filter((record) => record.commit !== null && !since.includes(record)).map(headKey));
  let before: (HeadAt & { readonly id: string }) | null = null;
  let restoring = false;
  for (const record of since) {
    if (before !== null && !sameHead(before, record)) {
      const committed = record.branch === before.branch && record.head !== null && own.has(record.head);
      const restored = restoring && known.has(headKey(record));
      if (!restored && !committed && !within.has(`${before.id} ${record.id}`)) return false;
    }
    known.add(headKey(record));
    // The checkpoint before a restore and the one after it are of one kind, and come in pairs.
    restoring = (record.kind === "reset" || record.kind === "redo") && !restoring;
    before = record;
  }
  if (before === null) return false;
  const restored = restoring && known.has(headKey(now));
  return sameHead(before, now) || restored || (now.branch === before.branch && now.head !== null && own.has(now.head));
}

const headKey = (at: HeadAt): string => `${at.head ?? ""} ${at.branch ?? ""}`;

function sameHead(a: HeadAt, b: HeadAt): boolean {
  return a.head === b.head && a.branch === b.branch;
}
