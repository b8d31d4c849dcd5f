import { isLive, type RunRecord, type RunState } from "./run.ts";
import type { StopReason } from "./stop-reason.ts";

/**
 * Where a run stands for the person who owns it. `needs_you`: it goes on only by a call. `waiting`: it goes on by itself at a
 * time. `finished`: done, stopped by its owner, reset to its start, or freed.
 */
export const RUN_GROUPS = ["needs_you", "running", "waiting", "finished"] as const;
export type RunGroup = (typeof RUN_GROUPS)[number];

/** `barred`: reclaimed, or reset to its start. */
export function groupOf(run: {
  readonly state: RunState;
  readonly stop_reason: StopReason | null;
  readonly waiting: boolean;
  readonly barred: boolean;
}): RunGroup {
  if (run.waiting) return "waiting";
  if (isLive(run.state)) return "running";
  return run.state === "done" || run.stop_reason === "cancelled" || run.barred ? "finished" : "needs_you";
}

export function groupOfRun(run: RunRecord): RunGroup {
  const { state, stop_reason } = run;
  return groupOf({
    state,
    stop_reason,
    waiting: run.waiting_until !== null,
    barred: run.reclaimed_at !== null || run.was_reset !== null,
  });
}
