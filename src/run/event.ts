/**
 * Two append-only sequences per run, each gap-free from 1.
 * Events: what happened to the run, a row each, with what it changed. Journal: what the engine and the loop said, in compressed chunks.
 */

/** Names are never changed: recorded runs are replayed by later versions. */
export const RUN_EVENT_TYPES = [
  "run_created",
  "run_claimed",
  "workspace_begun",
  "workspace_ready",
  "attempt_opened",
  "engine_started",
  "iteration_started",
  "iteration_finished",
  "iteration_unfinished",
  "verify_finished",
  "step_changed",
  "stop_requested",
  "run_stopping",
  "run_stopped",
  "run_done",
  "run_resumed",
  "run_scheduled",
  "schedule_cancelled",
  "iterations_granted",
  "instructions_given",
  "instructions_delivered",
  "run_reset",
  "step_redone",
  "run_archived",
  "run_unarchived",
  "run_reclaimed",
  "reclaim_begun",
  "reclaim_kept",
  "driver_lost",
  "context_compacted",
  "plan_changed",
  "work_committed",
  "checkpoint_taken",
  "checkpoints_brought",
  "schedule_moved",
  "run_held",
  "run_let_go",
  "archive_confirmed",
  "run_recorded",
] as const;
export type RunEventType = (typeof RUN_EVENT_TYPES)[number];

/** Events that only keep the books: they carry what changed, and nobody who looks at a run wants to read of them. */
const QUIET: ReadonlySet<RunEventType> = new Set([
  "checkpoint_taken",
  "checkpoints_brought",
  "schedule_moved",
  "run_held",
  "run_let_go",
  "archive_confirmed",
  "run_recorded",
]);
/** The events that are told to people. */
export const TOLD_EVENT_TYPES: readonly RunEventType[] = RUN_EVENT_TYPES.filter((type) => !QUIET.has(type));

export interface NewRunEvent {
  readonly type: RunEventType;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The events of one change: at least one, since a run's rows are nothing but what its events made of them. */
export type ChangeEvents = readonly [NewRunEvent, ...NewRunEvent[]] | readonly [...NewRunEvent[], NewRunEvent];

export interface RunEventRecord extends NewRunEvent {
  readonly seq: number;
}

export const JOURNAL_KINDS = [
  "prompt",
  "message",
  "thought",
  "tool_call",
  "tool_result",
  "plan",
  "report",
  "permission",
  "usage",
  "engine",
  "verify",
  "gap",
] as const;
export type JournalKind = (typeof JOURNAL_KINDS)[number];

/** One thing said or done; `text` is redacted before it gets here. */
export interface NewJournalEntry {
  readonly who: "loop" | "agent" | "tool" | "owner";
  readonly kind: JournalKind;
  readonly text: string;
  readonly iteration: number;
  readonly at: string;
  /** Facts of the entry: tool call id, title, status, locations, raw input... */
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface JournalEntry extends NewJournalEntry {
  readonly n: number;
}
