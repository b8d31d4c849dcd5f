import { redactValue } from "../redact/value.ts";

/** The most bytes of a tool's input or an unknown update that one journal entry holds. */
const ENTRY_LIMIT = 16_384;
/** Longer texts inside a value are cut first: a tool may be given megabytes, of which an entry keeps a few kilobytes. */
const LONGEST_TEXT = 4 * ENTRY_LIMIT;

/** A text cut to a limit in bytes, with its true size. */
function cut(text: string, limit = ENTRY_LIMIT): { readonly text: string; readonly bytes: number } {
  const bytes = Buffer.byteLength(text);
  if (bytes <= limit) return { text, bytes };
  const head = Buffer.from(text)
    .subarray(0, limit)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
  return { text: `${head}…`, bytes };
}

/** A redacted JSON value that is replaced by its cut text when it is too big for an entry. */
export function cutValue(value: unknown, limit = ENTRY_LIMIT): unknown {
  const redacted = redactValue(value, LONGEST_TEXT);
  const text = JSON.stringify(redacted) ?? "null";
  if (Buffer.byteLength(text) <= limit) return redacted;
  const { text: head, bytes } = cut(text, limit);
  return { cut: head, bytes };
}
