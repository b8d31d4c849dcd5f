import { stripVTControlCharacters } from "node:util";

/**
 * Characters that a reader does not see, or that move what is read: controls (a terminal obeys them), marks of writing
 * direction, zero-width and tag characters. They can hide orders in a name or make one name look like another.
 */
const UNSEEN = new RegExp(
  [
    "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e",
    "\\u2060-\\u206f\\u3164\\ufe00-\\ufe0e\\ufeff\\uffa0\\ufff0-\\ufffb\\u{e0000}-\\u{e0fff}]",
  ].join(""),
  "gu",
);

/** Text with everything unseen spelled out (`\u{202e}`); colours of terminals are dropped. Line ends and tabs stay. */
export function visible(text: string): string {
  const plain = stripVTControlCharacters(text.replaceAll("\r\n", "\n"));
  return plain.replaceAll(UNSEEN, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Text on one line, cut to `length` characters with an ellipsis; nothing unseen is in it. */
export function oneLine(text: string, length: number): string {
  const flat = visible(text.slice(0, 4 * length + 4000).replaceAll(/\s+/gu, " ")).trim();
  return flat.length <= length ? flat : `${flat.slice(0, length - 1)}…`;
}

/** Somebody else's words inside a sentence of ours: one line in quotes that it cannot close. */
export function quoted(text: string, length: number): string {
  return `"${oneLine(text, length).replaceAll('"', "'")}"`;
}

/**
 * A file's name in a list of ours. A plain one stands as it is; one with blanks, quotes or line ends is written as a JSON
 * string, so that it cannot pose as the words after it or as a second line.
 */
export function shownName(path: string): string {
  const shown = visible(path);
  if (shown === path && /^[^\s"'`<>()]+$/u.test(path)) return path;
  return JSON.stringify(shown);
}
