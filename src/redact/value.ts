import { redact } from "./redact.ts";

/**
 * A value as JSON has it, every text in it redacted, names of members too. `{"password": "..."}` counts as one text. Texts
 * longer than `longest` are cut to it, with an ellipsis.
 */
export function redactValue(value: unknown, longest = Number.POSITIVE_INFINITY): unknown {
  if (typeof value === "string") return redact(value.length > longest ? `${value.slice(0, longest)}…` : value);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, longest));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [redact(name), redactMember(name, item, longest)]));
}

// The name alone can show that the value is a secret, so both are shown to the rules together.
function redactMember(name: string, item: unknown, longest: number): unknown {
  if (typeof item !== "string" || item.length > longest || item.includes("\n")) return redactValue(item, longest);
  const prefix = `${name}=`;
  const together = redact(prefix + item);
  return together !== prefix + item && together.startsWith(prefix) ? together.slice(prefix.length) : redact(item);
}
