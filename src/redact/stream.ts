import { endsInKey } from "./private-keys.ts";
import { replaced, secretSpans } from "./redact.ts";
import { merged } from "./span.ts";

/** Redacts a text that comes in pieces, each written before the next one is there. */
export interface SecretStream {
  /** The piece redacted, in the light of what came before it. Nothing is held back. */
  next(piece: string): string;
}

/** How much of the text before a piece is looked at again: more than the longest name, header or token. */
const CONTEXT = 4096;
/** Stands for the part of a private key that has been written (as redacted) already. */
const OPEN_KEY = `-----BEGIN PRIVATE KEY-----\n${"A".repeat(64)}`;
/** A last word that begins like a credential and may go on in the next piece. */
const BEGUN =
  /(?<![A-Za-z0-9+_-])(?:sk-[\w-]*|gh[pousr]_\w*|github_pat_\w*|gl[a-z]{2,5}-[\w.-]*|(?:AKIA|ASIA)[A-Z0-9]*|AIza[\w-]*|ya29\.[\w.-]*|xox[a-z][\w-]*|xapp-[\w-]*|[spr]k_(?:live|test)_\w*|whsec_\S*|npm_[A-Za-z0-9]*|pypi-\w[\w-]*|hf_[A-Za-z0-9]*|hv[sb]\.[\w-]*|eyJ[\w.-]{4,}|dapi[a-f0-9]+|[a-z][a-z0-9+.-]{2,20}:\/\/[^\s/@]{1,128}:(?!\d{0,5}(?:[/?#]\S*)?$)[^\s@]*)$/;

/** A value in quotes behind a secret's name, whose closing quote has not come yet. */
const OPEN_VALUE =
  /(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)\\?["'`]?\s{0,4}[:=]\s{0,4}\\?["'`](?<value>[^\s"'`]{1,400})$/i;

export function secretStream(): SecretStream {
  let context = "";
  return {
    next(piece) {
      const whole = context + piece;
      const from = context.length;
      const spans = secretSpans(whole)
        .filter((span) => span.end > from)
        .map((span) => ({ start: Math.max(span.start, from) - from, end: span.end - from, kind: span.kind }));
      const at = begunAt(whole.slice(-512), piece.length);
      if (at !== null && !spans.some((span) => span.end > at))
        spans.push({ start: at, end: piece.length, kind: "begun-credential" });
      const inKey = endsInKey(whole);
      const keyAt = Math.max(0, whole.lastIndexOf("-----BEGIN ") - from);
      if (inKey && !spans.some((span) => span.end === piece.length))
        spans.push({ start: keyAt, end: piece.length, kind: "private-key" });
      context = inKey ? OPEN_KEY + (whole.endsWith("\n") ? "\n" : "") : whole.slice(-CONTEXT);
      return replaced(piece, merged(spans));
    },
  };
}

/** Where in the last piece a credential begins that is not complete, or null. */
function begunAt(end: string, pieceLength: number): number | null {
  const begun = BEGUN.exec(end)?.[0] ?? OPEN_VALUE.exec(end)?.groups?.["value"];
  return begun === undefined ? null : Math.max(0, pieceLength - begun.length);
}
