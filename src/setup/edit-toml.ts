import { parse, stringify, TomlError } from "smol-toml";
import { canonicalJson } from "../run/id.ts";
import { at, CannotEdit, without } from "./edit-json.ts";

/**
 * The text with the table `[place]` set. No library writes TOML and keeps comments; so the table's own lines are replaced, or put
 * at the end, and the outcome is read again: unless all else reads as before, nothing is written.
 */
export function withTomlTable(text: string, place: readonly string[], entry: Readonly<Record<string, unknown>>): string {
  const before = tableOf(text);
  if (canonicalJson(at(before, place)) === canonicalJson(entry)) return text;
  const table = stringify(nested(place, entry)).trim();
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const own = tableOnly(table, place).replaceAll("\n", eol);
  const kept = linesWithout(text, place.join("."));
  const base = kept.trimEnd();
  const edited = `${base === "" ? "" : `${base}${eol}${eol}`}${own}${eol}`;
  const after = tableOf(edited);
  const same = canonicalJson(without(before, place)) === canonicalJson(without(after, place));
  if (!same || canonicalJson(at(after, place)) !== canonicalJson(entry))
    throw new CannotEdit(`"${place.join(".")}" is written in a way that cannot be replaced safely`);
  return edited;
}

function tableOf(text: string): Record<string, unknown> {
  try {
    return { ...parse(text) };
  } catch (error) {
    const place = error instanceof TomlError ? `line ${error.line}, column ${error.column}` : "it";
    throw new CannotEdit(`${place} cannot be read as TOML`);
  }
}

function nested(place: readonly string[], entry: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return place.toReversed().reduce<Record<string, unknown>>((inner, name) => ({ [name]: inner }), { ...entry });
}

/** Without the headers of the tables around it, which may be in the file already. */
function tableOnly(text: string, place: readonly string[]): string {
  const around = place.slice(0, -1).map((_, index) => `[${place.slice(0, index + 1).join(".")}]`);
  return text
    .split("\n")
    .filter((line) => !around.includes(line.trim()))
    .join("\n")
    .trim();
}

/** The lines that are not of the table or of tables in it. Comments between two tables stay. */
function linesWithout(text: string, name: string): string {
  const kept: string[] = [];
  let own = false;
  for (const line of text.split("\n")) {
    const header = /^\s*\[([^[\]]+)\]\s*(#.*)?$/u.exec(line)?.[1]?.trim();
    if (header !== undefined) own = header === name || header.startsWith(`${name}.`);
    if (!own || /^\s*#/u.test(line)) kept.push(line);
  }
  return kept.join("\n");
}
