import { findNodeAtLocation, type Node, parseTree } from "jsonc-parser";

/**
 * The text of an object with `value` at `place`, written as the lines around it are. Every byte that was there stays, which the
 * library's own edits do not promise: they lay out the neighbours anew.
 */
export function placeInJson(text: string, place: readonly string[], value: unknown): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const at = (names: readonly string[]): Node | undefined =>
    root === undefined ? undefined : findNodeAtLocation(root, [...names]);
  const own = at(place);
  if (own !== undefined) return spliced(text, own.offset, own.length, laidOut(text, value, indentAt(text, own.offset)));
  const depth = place.findIndex((_, index) => at(place.slice(0, index + 1)) === undefined);
  const parent = at(place.slice(0, depth));
  const [name = "", ...inner] = place.slice(depth);
  const nested = inner.toReversed().reduce<unknown>((within, key) => ({ [key]: within }), value);
  if (parent === undefined) return text;
  const last = parent.children?.at(-1);
  return last === undefined ? firstIn(text, parent, name, nested) : after(text, last, name, nested);
}

function firstIn(text: string, parent: Node, name: string, value: unknown): string {
  const start = parent.offset + 1;
  const outer = indentAt(text, parent.offset);
  const { unit, eol } = styleOf(text);
  const property = `${eol}${outer}${unit}${JSON.stringify(name)}: ${laidOut(text, value, outer + unit)}`;
  const closes = text.slice(start, parent.offset + parent.length).includes("\n") ? "" : `${eol}${outer}`;
  return spliced(text, start, 0, `${property}${closes}`);
}

/** What may follow a value on its line: a comma, and comments that are about it. */
const REST_OF_LINE = /^((?:[ \t]|\/\*[^\r\n]*?\*\/)*)(,?)((?:[ \t]|\/\*[^\r\n]*?\*\/)*(?:\/\/[^\r\n]*)?)(?=\r?\n)/u;

function after(text: string, sibling: Node, name: string, value: unknown): string {
  const end = sibling.offset + sibling.length;
  const indent = indentAt(text, sibling.offset);
  const startsItsLine = text.slice(0, sibling.offset).endsWith(`\n${indent}`);
  const rest = startsItsLine ? REST_OF_LINE.exec(text.slice(end)) : null;
  if (rest === null) return spliced(text, end, 0, `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  const [whole, beforeComma = "", comma = "", afterComma = ""] = rest;
  const line = comma === "" ? `,${beforeComma}${afterComma}` : whole;
  const property = `${styleOf(text).eol}${indent}${JSON.stringify(name)}: ${laidOut(text, value, indent)}`;
  return spliced(text, end, whole.length, `${line}${property}`);
}

function laidOut(text: string, value: unknown, indent: string): string {
  const { unit, eol } = styleOf(text);
  return JSON.stringify(value, null, unit).replaceAll("\n", `${eol}${indent}`);
}

function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return /^[ \t]*/u.exec(line)?.[0] ?? "";
}

function styleOf(text: string): { readonly unit: string; readonly eol: string } {
  return { unit: /\n([ \t]+)\S/u.exec(text)?.[1] ?? "  ", eol: text.includes("\r\n") ? "\r\n" : "\n" };
}

function spliced(text: string, offset: number, length: number, put: string): string {
  return `${text.slice(0, offset)}${put}${text.slice(offset + length)}`;
}
