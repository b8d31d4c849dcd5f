import { assignmentSpans, kubernetesSpans, NAME_WORDS } from "./assignments.ts";
import { FORMAT_HINTS, formatSpans } from "./formats.ts";
import { GITLEAKS_WORDS, gitleaksSpans } from "./gitleaks.ts";
import { keywordScanner } from "./keywords.ts";
import { privateKeySpans } from "./private-keys.ts";
import { merged, type Span } from "./span.ts";

/**
 * Where a text holds credentials. Linear in its length. Hashes, UUIDs, run and checkpoint ids are none.
 *
 * A finder needs the whole credential before it. So pieces of a stream go through `secretStream`, and a text that has to be
 * cut is redacted before it is cut: a half token looks like an ordinary word.
 */
export function secretSpans(text: string): readonly Span[] {
  if (text.length < SHORTEST) return [];
  const words = scan(text);
  if (words.size === 0) return [];
  return merged([...byShape(text, words), ...assignmentSpans(text, words), ...kubernetesSpans(text, words)]);
}

/** Every rule has a word without which it finds nothing; private keys and Kubernetes' secrets are among those named `key` and `secret`. */
const scan = lazily(() => keywordScanner([...FORMAT_HINTS, ...GITLEAKS_WORDS, ...NAME_WORDS]));

function byShape(text: string, words: ReadonlySet<string>): Span[] {
  return [...privateKeySpans(text), ...formatSpans(text, words), ...gitleaksSpans(text, words)];
}

/** No rule finds anything in less (`pwd=x1y2`). */
const SHORTEST = 6;

/** Text with every credential that we recognise replaced by `[redacted: <kind>]`; redacting twice gives the same as once. */
export function redact(text: string): string {
  return replaced(text, secretSpans(text));
}

/**
 * As `redact`, but only for what is known by its own shape: a command has to run as it is kept, and a word behind the name
 * of a password there is mostly a test's.
 */
export function redactCommand(command: string): string {
  return replaced(command, merged(byShape(command, scan(command))));
}

/** As `redact`, for an answer that holds words of our own which look like credentials and have to arrive. */
export function redactExcept(text: string, kept: readonly string[]): string {
  const spans = secretSpans(text);
  const whole = kept.filter((word) => word !== "");
  if (spans.length === 0 || whole.length === 0) return replaced(text, spans);
  return replaced(
    text,
    spans.filter((span) => !whole.some((word) => word.includes(text.slice(span.start, span.end)))),
  );
}

/** A part of a longer text redacted in the light of what stands before and behind it, so that no half of a credential is left. */
export function redactPart(before: string, text: string, after: string): string {
  const [from, to] = [before.length, before.length + text.length];
  const spans = secretSpans(before + text + after)
    .filter((span) => span.end > from && span.start < to)
    .map((span) => ({ ...span, start: Math.max(span.start, from) - from, end: Math.min(span.end, to) - from }));
  return replaced(text, spans);
}

/** The kinds of credentials that a text holds, each once. */
export function secretKinds(text: string): readonly string[] {
  return [...new Set(secretSpans(text).map((span) => span.kind))];
}

export function replaced(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  const parts: string[] = [];
  let from = 0;
  for (const { start, end, kind } of spans) {
    parts.push(text.slice(from, start), `[redacted: ${kind}]`);
    from = end;
  }
  parts.push(text.slice(from));
  return parts.join("");
}

/** Made at the first text: a door that only lists its tools needs no rules. */
function lazily(make: () => (text: string) => ReadonlySet<string>): (text: string) => ReadonlySet<string> {
  let made: ((text: string) => ReadonlySet<string>) | null = null;
  return (text) => {
    made ??= make();
    return made(text);
  };
}
