import type { Field } from "./classify-stop-walk.ts";
import { dateToMs, durationMs, epochToMs } from "./reset-time-text.ts";

type Reading = "instant" | "seconds" | "milliseconds" | "duration" | "instant_or_seconds";

interface ResetField {
  readonly key: RegExp;
  readonly reads: Reading;
  /** A sibling field that must say that this window is the spent one. */
  readonly onlyIf?: (siblings: ReadonlyMap<string, string | number | boolean>, key: string) => boolean;
}

const isSpent = (siblings: ReadonlyMap<string, string | number | boolean>, key: string): boolean => {
  const remaining = siblings.get(key.replace("reset", "remaining"));
  return remaining === undefined || Number(remaining) === 0;
};
const isUsedUp = (siblings: ReadonlyMap<string, string | number | boolean>, key: string): boolean =>
  Number(siblings.get(key.replace(/reset_.*/, "used_percent")) ?? 100) >= 100;

/** In order of trust: the first field that is there and can be read decides. */
const RESET_FIELDS: readonly ResetField[] = [
  { key: /^resets_at_epoch$/, reads: "instant" },
  { key: /^x_codex_(?:primary|secondary)_reset_at$/, reads: "instant", onlyIf: isUsedUp },
  { key: /^x_codex_(?:primary|secondary)_reset_after_seconds$/, reads: "seconds", onlyIf: isUsedUp },
  { key: /^anthropic_ratelimit_unified_reset$/, reads: "instant" },
  { key: /^retry_after_ms$/, reads: "milliseconds" },
  { key: /^retry_after(?:_seconds)?$/, reads: "instant_or_seconds" },
  { key: /^quota_reset_time_?stamp$/, reads: "instant" },
  { key: /^quota_reset_delay$/, reads: "duration" },
  { key: /^retry_delay$/, reads: "duration" },
  { key: /^resets?_(?:at|time)$/, reads: "instant" },
  { key: /^(?:resets_in|reset_after|reset_in)_seconds$/, reads: "seconds" },
  { key: /^anthropic_ratelimit_(?:requests|tokens|input_tokens|output_tokens)_reset$/, reads: "instant", onlyIf: isSpent },
  { key: /^x_rate_?limit_reset(?:_(?:requests|tokens))?$/, reads: "instant_or_seconds", onlyIf: isSpent },
];

/** The end of the spent window as structured fields tell it, and the field's name. */
export function resetInFields(fields: readonly Field[], seenMs: number): { ms: number; words: string } | null {
  for (const row of RESET_FIELDS) {
    const found = fields
      .filter((field) => row.key.test(field.key) && (row.onlyIf?.(siblingsOf(fields, field), field.key) ?? true))
      .map((field) => ({ ms: read(field.value, row.reads, seenMs), words: `${field.key}: ${String(field.value)}` }))
      .filter((reading) => reading.ms !== null);
    // Of several spent windows the one that ends last holds.
    const last = found.reduce<{ ms: number; words: string } | null>(
      (latest, { ms, words }) => (ms !== null && (latest === null || ms > latest.ms) ? { ms, words } : latest),
      null,
    );
    if (last !== null) return last;
  }
  return null;
}

function siblingsOf(fields: readonly Field[], one: Field): ReadonlyMap<string, string | number | boolean> {
  return new Map(fields.filter((field) => field.owner === one.owner).map((field) => [field.key, field.value]));
}

function read(value: string | number | boolean, as: Reading, seenMs: number): number | null {
  if (typeof value === "boolean") return null;
  const text = String(value).trim();
  const amount = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : null;
  if (amount === null) {
    const length = as === "instant" ? null : durationMs(text);
    return length === null ? dateToMs(text) : seenMs + length.ms;
  }
  if (as === "milliseconds") return seenMs + amount;
  // Below a billion it cannot be an instant of our time, above it cannot be a delay.
  if (amount >= 1e9) return as === "seconds" || as === "duration" ? null : epochToMs(amount);
  return as === "instant" || amount === 0 ? null : seenMs + amount * 1000;
}
