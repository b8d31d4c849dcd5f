import { msOf } from "../run/clock.ts";
import type { RunEventType } from "../run/event.ts";
import type { RetentionPolicy } from "../run/retention.ts";
import { isLive, type RunRecord } from "../run/run.ts";
import { refusalOf } from "./refusals.ts";

/** What a policy wants of one finished run, by its age alone. */

export interface Due {
  readonly what: "archive" | "reclaim" | "nothing";
  /** By which rule, or what speaks against it. */
  readonly why: string;
}

/** What a person does with a stopped run: its age counts from the last of them. */
export const HANDLED: readonly RunEventType[] = [
  "run_unarchived",
  "iterations_granted",
  "instructions_given",
  "run_reset",
  "step_redone",
  "schedule_cancelled",
];

const DAY_MS = 86_400_000;

/** `handled`: the instant from which the age counts. */
export function dueByAge(run: RunRecord, handled: string, policy: RetentionPolicy, nowMs: number): Due {
  if (isLive(run.state)) return { what: "nothing", why: `it is ${run.state}` };
  if (run.waiting_until !== null) return { what: "nothing", why: `it waits until ${run.waiting_until} to go on by itself` };
  const days = (nowMs - msOf(handled)) / DAY_MS;
  const since = `it ${handled === run.stopped_at ? "stopped" : "was last handled"} ${daysText(days)} ago`;
  const { archive_after_days: archive, reclaim_after_days: reclaim } = policy;
  if (reclaim !== null && days >= reclaim) return { what: "reclaim", why: `reclaim_after_days ${reclaim}: ${since}` };
  if (archive !== null && days >= archive && run.archived_at === null)
    return { what: "archive", why: `archive_after_days ${archive}: ${since}` };
  return { what: "nothing", why: since };
}

/** The earliest stop that can be due by age, as an instant in milliseconds; null when no rule counts days. */
export function latestDueMs(policy: RetentionPolicy, nowMs: number): number | null {
  const days = [policy.archive_after_days, policy.reclaim_after_days].filter((value) => value !== null);
  return days.length === 0 ? null : nowMs - Math.min(...days) * DAY_MS;
}

/** Why a run is not freed to make room: somebody may still want to go on with it. Null when it may be. */
export function spared(run: RunRecord): string | null {
  if (isLive(run.state)) return `it is ${run.state}`;
  if (run.waiting_until !== null) return `it waits until ${run.waiting_until} to go on by itself`;
  return refusalOf("resume", run) === null ? "it can be resumed" : null;
}

function daysText(days: number): string {
  return `${days >= 10 ? Math.floor(days) : Math.floor(days * 10) / 10} days`;
}
