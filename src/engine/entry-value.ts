import { redact } from "./redact.ts";

/** The most bytes of a tool's input, a tool's output or an unknown update that one journal entry holds. */
const ENTRY_LIMIT = 16_384;

/** Every string of a JSON value redacted, names of members too. */
function redactValue(value: unknown): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map(redactValue);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [redact(name), redactMember(name, item)]));
}

// `{"password": "..."}`: the name alone shows that the value is a secret, so both are shown to the rules together.
function redactMember(name: string, item: unknown): unknown {
  if (typeof item !== "string" || item.includes("\n")) return redactValue(item);
  const prefix = `${name}=`;
  const together = redact(prefix + item);
  return together !== prefix + item && together.startsWith(prefix) ? together.slice(prefix.length) : redact(item);
}

/** A text cut to a limit in bytes, with its true size. */
export function cut(text: string, limit = ENTRY_LIMIT): { readonly text: string; readonly bytes: number } {
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
  const redacted = redactValue(value);
  const text = JSON.stringify(redacted) ?? "null";
  if (Buffer.byteLength(text) <= limit) return redacted;
  const { text: head, bytes } = cut(text, limit);
  return { cut: head, bytes };
}
