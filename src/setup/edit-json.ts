import { type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { z } from "zod";
import { canonicalJson } from "../run/id.ts";
import { placeInJson } from "./place-in-json.ts";

const objectSchema = z.record(z.string(), z.unknown());

/** Why a file cannot be edited without risk: nothing of it is touched then. */
export class CannotEdit extends Error {
  override readonly name = "CannotEdit";
}

/** The text with the one entry set: comments, order and everything else stay as they are. */
export function withJsonEntry(
  text: string,
  place: readonly string[],
  entry: Readonly<Record<string, unknown>>,
  options: { readonly comments: boolean },
): string {
  const mark = text.startsWith("\ufeff") ? "\ufeff" : "";
  const body = text.slice(mark.length).trim() === "" ? "{}\n" : text.slice(mark.length);
  const before = objectOf(body, options.comments);
  for (let depth = 1; depth < place.length; depth += 1) {
    const found = at(before, place.slice(0, depth));
    if (found !== undefined && !objectSchema.safeParse(found).success)
      throw new CannotEdit(`"${place.slice(0, depth).join(".")}" is there and is no object`);
  }
  if (canonicalJson(at(before, place)) === canonicalJson(entry)) return text;
  const edited = placeInJson(body, place, entry);
  const after = objectOf(edited, options.comments);
  const kept = canonicalJson(without(before, place)) === canonicalJson(without(after, place));
  if (!kept || canonicalJson(at(after, place)) !== canonicalJson(entry))
    throw new CannotEdit("the change would not keep the rest of it as it is (is a name in it twice?)");
  return `${mark}${edited}`;
}

function objectOf(text: string, comments: boolean): Record<string, unknown> {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { disallowComments: !comments, allowTrailingComma: comments });
  const [first] = errors;
  if (first !== undefined) {
    const lines = text.slice(0, first.offset).split("\n");
    const fault = printParseErrorCode(first.error)
      .replaceAll(/\B(?=[A-Z])/gu, " ")
      .toLowerCase();
    throw new CannotEdit(`line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1} cannot be read (${fault})`);
  }
  const parsed = objectSchema.safeParse(value);
  if (!parsed.success) throw new CannotEdit("it holds no object");
  return parsed.data;
}

export function at(value: unknown, place: readonly string[]): unknown {
  return place.reduce<unknown>((found, name) => objectSchema.safeParse(found).data?.[name], value);
}

/** A copy without the entry; tables that are empty then are left out, as they may not have been there before. */
export function without(value: Readonly<Record<string, unknown>>, place: readonly string[]): Record<string, unknown> {
  const [name = "", ...rest] = place;
  const { [name]: found, ...others } = value;
  if (rest.length === 0 || found === undefined) return others;
  const inner = without(objectSchema.parse(found), rest);
  return Object.keys(inner).length === 0 ? others : { ...others, [name]: inner };
}
