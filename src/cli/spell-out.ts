import { visible } from "../resume/shown.ts";

/**
 * What comes from an engine or a repository can hold sequences that a terminal obeys: they move the cursor, write to the
 * clipboard (OSC 52), or turn the direction of what is read. So every text of an answer is spelled out before anything is made
 * of it, and colours are put on only afterwards.
 */
export function spelledOut(value: unknown): unknown {
  if (typeof value === "string") return visible(value);
  if (Array.isArray(value)) return value.map(spelledOut);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [visible(name), spelledOut(item)]));
}

/** JSON that a terminal shows and does not obey: JSON itself leaves DEL, the C1 controls and marks of direction as they are. */
export function safeJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(
    /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
