import { z } from "zod";
import { redactExcept, secretKinds } from "../redact/redact.ts";
import { visible } from "../resume/shown.ts";
import type { CallResult } from "./call.ts";

/**
 * An answer as it leaves the product. Most of it comes out of the store and is redacted already; what git says now (names,
 * subjects, patches) and what the caller wrote is not. Our own confirm tokens look like credentials and have to arrive. In
 * the text, which a terminal shows, nothing unseen is left. A caller whose orders held a credential is told what became of it.
 */
export function redactedResult(result: CallResult, rawArgs: unknown): CallResult {
  if (!result.ok) return { ...result, text: visible(redactExcept(result.text, [])) };
  const kept = typeof result.structured["confirm_token"] === "string" ? [result.structured["confirm_token"]] : [];
  const structured = structuredClone(result.structured);
  redactTexts(structured, kept, new Map());
  const text = visible(redactExcept(result.text, kept));
  const kinds = kindsIn(rawArgs);
  return {
    ok: true,
    structured,
    text: kinds.length === 0 || structured["warnings"] !== undefined ? text : `${text}\n${warning(kinds)}`,
  };
}

/** A copy of a value with every text in it redacted. */
export function redactedTexts<T extends object>(value: T): T {
  const copy = structuredClone(value);
  redactTexts(copy, [], new Map());
  return copy;
}

/** Words of an owner that an agent is given. */
const ordersSchema = z.looseObject({ instructions: z.string().optional(), updates: z.string().optional() }).catch({});

function kindsIn(rawArgs: unknown): readonly string[] {
  const { instructions = "", updates = "" } = ordersSchema.parse(rawArgs);
  return secretKinds(`${instructions}\n${updates}`);
}

function warning(kinds: readonly string[]): string {
  return `Warning: what you gave holds what looks like a credential (${kinds.join(", ")}). Secrets are never stored, so the agent is given [redacted: ...] in its place: name an environment variable or a file that it can read instead.`;
}

/** A page's answer holds the same few words in thousands of rows: each text is looked at once. */
function redactTexts(value: object, kept: readonly string[], seen: Map<string, string>): void {
  for (const [name, item] of Object.entries(value)) {
    if (typeof item === "string") {
      const redacted = seen.get(item) ?? redactExcept(item, kept);
      seen.set(item, redacted);
      Reflect.set(value, name, redacted);
    } else if (typeof item === "object" && item !== null) redactTexts(item, kept, seen);
  }
}
