import table from "./gitleaks-rules.json" with { type: "json" };
import { rulesByWord } from "./keywords.ts";
import type { Span } from "./span.ts";

type Rule = (typeof table.rules)[number];
type Allowlist = typeof table.allow;

export const GITLEAKS_WORDS: readonly string[] = table.rules.flatMap((rule) => rule.keywords);

const rulesFor = rulesByWord(table.rules, (rule) => rule.keywords);

const patterns = new Map<string, RegExp>();

/**
 * Credentials that a rule of gitleaks knows. As there: a rule is tried only on a text that holds one of its keywords, what
 * it finds must be random enough, and its allowlists and the global one have the last word. `words`: those of
 * `GITLEAKS_WORDS` that the text holds.
 */
export function* gitleaksSpans(text: string, words: ReadonlySet<string>): Generator<Span> {
  for (const rule of rulesFor(words)) {
    for (const match of text.matchAll(compiled(rule.source, `${rule.flags}dg`))) {
      const { secret, start } = secretOf(rule, match);
      if (isSecret(rule, text, match, secret, start)) yield { start, end: start + secret.length, kind: rule.id };
    }
  }
}

function isSecret(rule: Rule, text: string, match: RegExpExecArray, secret: string, start: number): boolean {
  if (secret === "" || entropy(secret) <= rule.entropy) return false;
  // Behind the bare name of a service a checksum or an id is more likely than its key.
  if (isHash(secret) && start > match.index && !NAMES_SECRET.test(text.slice(match.index, start))) return false;
  return ![table.allow, ...rule.allow].some((list) => allows(list, text, match, secret));
}

const NAMES_SECRET = /key|token|secret|pass|pwd|auth|cred|dsn|sid|license|client|access/i;

/** All of it is a hash, a UUID or a number, as ids and checksums are. */
function isHash(secret: string): boolean {
  return /^(?:[0-9a-f]+|[0-9A-F]+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})$/.test(secret);
}

/** The group that the rule names, else its first that is not empty. A group that only repeats a piece is not the secret. */
function secretOf(rule: Rule, match: RegExpExecArray): { secret: string; start: number } {
  const group = rule.group > 0 ? rule.group : match.findIndex((found, index) => index > 0 && found !== undefined && found !== "");
  const secret = match[group];
  const start = match.indices?.[group]?.[0];
  if (secret === undefined || start === undefined || secret.length < 8) return { secret: match[0], start: match.index };
  return { secret, start };
}

function allows(list: Allowlist, text: string, match: RegExpExecArray, secret: string): boolean {
  const target = list.target === "match" ? match[0] : list.target === "line" ? lineAround(text, match.index) : secret;
  if (list.regexes.some(({ source, flags }) => compiled(source, flags).test(target))) return true;
  const lower = secret.toLowerCase();
  return list.stopwords.some((word) => lower.includes(word));
}

/** At most 2,000 characters to each side: a text can be one line of megabytes. */
function lineAround(text: string, at: number): string {
  const part = text.slice(Math.max(0, at - 2000), at + 2000);
  const here = Math.min(at, 2000);
  const end = part.indexOf("\n", here);
  return part.slice(part.lastIndexOf("\n", here) + 1, end === -1 ? part.length : end);
}

function compiled(source: string, flags: string): RegExp {
  const key = `${flags}/${source}`;
  const known = patterns.get(key);
  if (known !== undefined) return known;
  const made = new RegExp(source, flags);
  patterns.set(key, made);
  return made;
}

/** Shannon's entropy in bits for each character. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
