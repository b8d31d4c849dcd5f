import { redactExcept } from "../redact/redact.ts";
import { visible } from "../resume/shown.ts";
import type { CallResult } from "./call.ts";

/**
 * An answer as it leaves the product. Most of it comes out of the store and is redacted already; what git says now (names,
 * subjects, patches) and what the caller wrote is not. In the text, which a terminal shows, nothing unseen is left. Our own confirm tokens look like credentials and have to arrive.
 */
export function redactedResult(result: CallResult): CallResult {
  if (!result.ok) return { ...result, text: visible(redactExcept(result.text, [])) };
  const kept = typeof result.structured["confirm_token"] === "string" ? [result.structured["confirm_token"]] : [];
  const structured = structuredClone(result.structured);
  redactTexts(structured, kept);
  return { ok: true, structured, text: visible(redactExcept(result.text, kept)) };
}

function redactTexts(value: object, kept: readonly string[]): void {
  for (const [name, item] of Object.entries(value)) {
    if (typeof item === "string") Reflect.set(value, name, redactExcept(item, kept));
    else if (typeof item === "object" && item !== null) redactTexts(item, kept);
  }
}
