import { groupOf } from "../run/group.ts";
import { RUN_STATES, type RunRecord, type RunState } from "../run/run.ts";
import { STOP_REASONS, type StopReason, stopReasonRow } from "../run/stop-reason.ts";
import type { RunFilter } from "./store.ts";

/**
 * All that lists filter by, but repository and time, in one indexed value. Counting rows by it gives every total, and a page is
 * the newest of a few classes, so a list costs the same at a hundred runs or a hundred thousand.
 */
export interface ListClass {
  readonly state: RunState;
  readonly stop_reason: StopReason | null;
  readonly archived: boolean;
  /** `waiting_until` is set. */
  readonly waiting: boolean;
  /** Reclaimed, or reset to its start: no resume, whatever the reason. */
  readonly barred: boolean;
}

type Classified = Pick<RunRecord, "state" | "stop_reason" | "archived_at" | "waiting_until" | "reclaimed_at" | "was_reset">;

/** The class of a run as it is stored, e.g. `stopped:max_iterations:---`. */
export function listClassOf(run: Classified): string {
  const flags = [
    run.archived_at === null ? "-" : "a",
    run.waiting_until === null ? "-" : "w",
    run.reclaimed_at === null && run.was_reset === null ? "-" : "b",
  ];
  return `${run.state}:${run.stop_reason ?? ""}:${flags.join("")}`;
}

/** Null when the text is not a class (a damaged row). */
export function parseListClass(text: string): ListClass | null {
  const [stateText, reasonText, flags] = text.split(":");
  const state = RUN_STATES.find((known) => known === stateText);
  const reason = STOP_REASONS.find((known) => known === reasonText) ?? null;
  if (state === undefined || flags?.length !== 3) return null;
  return { state, stop_reason: reason, archived: flags[0] === "a", waiting: flags[1] === "w", barred: flags[2] === "b" };
}

export function classMatches(list: ListClass, filter: RunFilter): boolean {
  if (list.archived !== filter.archived) return false;
  if (filter.states !== undefined && !filter.states.includes(list.state)) return false;
  if (filter.stop_reasons !== undefined && (list.stop_reason === null || !filter.stop_reasons.includes(list.stop_reason))) {
    return false;
  }
  if (filter.resumable !== undefined && isResumable(list) !== filter.resumable) return false;
  if (filter.group !== undefined && groupOf(list) !== filter.group) return false;
  return filter.needs_attention === undefined || needsAttention(list) === filter.needs_attention;
}

function isResumable(list: ListClass): boolean {
  const allowed = list.stop_reason !== null && stopReasonRow(list.stop_reason).resumable;
  return list.state === "stopped" && allowed && !list.archived && !list.barred;
}

function needsAttention(list: ListClass): boolean {
  return list.state === "stopped" && !list.archived && !list.waiting;
}
