import { isoOf, msOf } from "../run/clock.ts";
import type { ResetConfidence } from "../run/run.ts";
import { fieldsOf } from "./classify-stop-walk.ts";
import { resetInFields } from "./reset-time-fields.ts";
import { resetInText } from "./reset-time-text.ts";

const MINUTE_MS = 60_000;
const LONGEST_MS = 32 * 86_400_000;

export interface ResetTimeInput {
  /** Error data, headers, rate limit state: any shape, read by field names. */
  readonly structured: unknown;
  readonly text: string | null;
  /** Instant at which it was seen, ISO 8601. */
  readonly seen_at: string;
  /** IANA zone of the host that ran the engine: for times of day that name no zone. */
  readonly timezone: string;
}

/** An instant (ISO 8601 UTC), what it was read from and in, and how sure that is. */
export interface ResetTime {
  readonly at: string;
  readonly source: string;
  /** Null for what names an instant or a length of time. */
  readonly zone: string | null;
  readonly confidence: ResetConfidence;
}

/**
 * When a limit ends, as an instant (ISO 8601 UTC) and the field or words it was read from. Fields win over words. Null when
 * nothing names an instant for sure: a wrong one would let a run sleep for days or hammer on a closed door. Providers move
 * their resets, so the answer is a time to try: one that is past already becomes a minute from now, none is over 32 days away.
 */
export function readResetTime(input: ResetTimeInput): ResetTime | null {
  const seenMs = msOf(input.seen_at);
  const field = resetInFields(fieldsOf(input.structured), seenMs);
  if (field !== null) return resetTime(field.ms, seenMs, { source: field.words, zone: null, confidence: "high" });
  const text = input.text === null ? null : resetInText(input.text, seenMs, input.timezone);
  if (text === null) return null;
  const confidence = text.zone_assumed ? "medium" : "high";
  return resetTime(text.ms, seenMs, { source: text.words, zone: text.zone, confidence });
}

/** A past instant cannot be waited for; one far away is more likely misread than meant. */
function resetTime(ms: number, seenMs: number, read: Omit<ResetTime, "at">): ResetTime {
  const next = ms > seenMs ? ms : seenMs + MINUTE_MS;
  const near = Math.min(next, seenMs + LONGEST_MS);
  return { ...read, at: isoOf(near), confidence: near === ms ? read.confidence : "low" };
}
