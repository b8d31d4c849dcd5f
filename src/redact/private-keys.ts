import type { Span } from "./span.ts";

const KIND = "private-key";
const BEGIN_TO_END =
  // The body takes every character in one way only (no dash, or a dash that begins no boundary), so the match is linear.
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----((?:[^-]|-(?!----))*)(-{5,6}END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g;
const END = /-{5,6}END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;
/** Code that only names the boundary lines has no such run between them. */
const KEY_MATERIAL = /[A-Za-z0-9+/=]{32}/;
/** A line of a key; a diff, a quote or an indent may stand before it. */
const KEY_LINE = /^(?:[\s>|+\-"']*(?:[A-Za-z0-9+/=]{16,}|(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n]*)?[\s"',\\rn]*)$/;
/** The last line of a text may be cut anywhere. */
const CUT_LINE = /^[\s>|+\-"']*[A-Za-z0-9+/=]*$/;

/** Private keys in PEM armour, whole or cut at either end, with real or escaped line ends. Certificates and public keys are no secret. */
export function* privateKeySpans(text: string): Generator<Span> {
  if (!text.includes("PRIVATE KEY")) return;
  let covered = 0;
  for (const match of text.matchAll(BEGIN_TO_END)) {
    const [whole, body = "", end] = match;
    covered = match.index + whole.length;
    if (!KEY_MATERIAL.test(body)) continue;
    const length = end === undefined ? whole.length - body.length + keyLines(body) : whole.length;
    yield { start: match.index, end: match.index + length, kind: KIND };
  }
  if (covered < text.length) yield* endsOfKeys(text, covered);
}

/** Whether the text ends inside a key, so that what follows it is key material too. */
export function endsInKey(text: string): boolean {
  const begin = text.lastIndexOf("-----BEGIN ");
  if (begin === -1) return false;
  const rest = text.slice(begin);
  const found = /^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/.exec(rest);
  if (found === null || found[0].length === rest.length || /-{5,6}END /.test(rest)) return false;
  return keyLines(rest.slice(found[0].length)) === rest.length - found[0].length;
}

/** How much of a key's body without an end is key material, in characters. */
function keyLines(body: string): number {
  let length = 0;
  const lines = body.split("\n");
  for (const [index, line] of lines.entries()) {
    // The first piece is the rest of the boundary line: key material too when line ends are escaped.
    const isKey = index === 0 || KEY_LINE.test(line) || (index === lines.length - 1 && CUT_LINE.test(line));
    if (!isKey) return Math.max(0, length - 1);
    length += line.length + 1;
  }
  return body.length;
}

/** Keys whose beginning is missing, as `tail` prints them. */
function* endsOfKeys(text: string, from: number): Generator<Span> {
  END.lastIndex = from;
  for (let match = END.exec(text); match !== null; match = END.exec(text)) {
    const before = text.slice(Math.max(from, match.index - 16_384), match.index);
    let start = match.index;
    for (const line of before.split("\n").reverse().slice(1)) {
      if (line.trim() === "" || !KEY_LINE.test(line)) break;
      start -= line.length + 1;
    }
    if (start < match.index) yield { start: Math.max(from, start), end: match.index + match[0].length, kind: KIND };
    from = match.index + match[0].length;
  }
}
