import type { Span } from "./span.ts";

/** Names whose value is a secret; what stands before them in a longer name does not matter (`DB_PASSWORD`, `clientSecret`). */
const PASSWORD_NAME = "password|passwd|passphrase|passcode|pwd|pass";
const SECRET_NAME =
  'client[_-]?secret|secret[_-]?key(?:[_-]?base)?|app[_-]?secret|secret|token|api[_-]?key|apikey|access[_-]?key(?:[_-]?secret)?|account[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|master[_-]?key|auth[_-]?key|auth[_-]?token|webhook[_-]?key|client[_-]?key[_-]?data|credentials?|_auth|"auth';
const NAME = `(?<name>${PASSWORD_NAME}|${SECRET_NAME})(?<more>[_-]?(?:prod(?:uction)?|dev|test|staging|live|value|raw|\\d{1,3}))?`;

/** `NAME: "value"`, `"name": "value"`, `name = 'value'`, also with the quotes escaped inside JSON. */
const QUOTED = new RegExp(
  `(?<keep>${NAME}\\\\?["'\`]?\\]?\\s{0,8}(?::=|=>|[:=])\\s{0,8}[bfru]?(?<quote>\\\\?["'\`]))(?<value>(?:(?!\\k<quote>)(?:\\\\.|[^\\s\\\\])){3,4096})(?=\\k<quote>)`,
  "gi",
);
/** `export NAME=value` and `NAME=value` of shells and `.env` files: the name in capitals, the value to the next space. */
const SHELL = new RegExp(
  `(?<keep>(?<![a-z])(?<name>${upper(PASSWORD_NAME)}|${upper(SECRET_NAME)}|KEY)(?<more>_(?:PROD|PRODUCTION|DEV|TEST|STAGING|LIVE|BASE|VALUE|ID|\\d{1,3}))?=)(?:(?<value>[^\\s"'\`]{1,4096})|(?<quote>["'])(?<phrase>[^"'\n]{1,4096})\\k<quote>)`,
  "g",
);
/** A whole line `db.password=value` of a properties or `.env` file in lower case; code has blanks, dots or brackets there. */
const PROPERTY = new RegExp(
  `^(?<keep>[+ ]?(?:export )?[a-z][\\w.-]{0,60}?(?<name>${PASSWORD_NAME}|${SECRET_NAME})=)(?<value>[^\\s"'\`;,(){}]{6,512})(?=\\r?$)`,
  "gm",
);
/** `name=value` and `name: value` without quotes: connection strings, ini and YAML files, command line flags. */
const BARE = new RegExp(
  `(?<keep>${NAME}(?:\\s{0,4}[:=]\\s{0,4}|(?<=--[\\w-]{1,40})\\s))(?<value>[^\\s"'\`;,&|<>(){}[\\]]{4,4096})(?<after>[;,({[]?)`,
  "gi",
);

/** What is written where a secret would stand. */
const PLACEHOLDER =
  /^(?:\$|<|\{|%|\*{3}|x{3,}$|\.{3}|\[redacted|your[-_ ]|my[-_]|example|placeholder|changeme|change[-_]me|todo|dummy|fake|redacted|process\.env|os\.environ|env[.(]|secrets?\.|vars?\.|config\.|self\.|this\.)/i;
/** Words of code, types and forms that stand where a value would. */
const CODE_WORD =
  /^(?:string|str|text|hidden|password|passwd|token|secret|key|api[_-]?key|null|none|nil|undefined|true|false|required|optional|missing|invalid|empty|unset|number|boolean|int|bytes|any|unknown|object|bearer|basic|char|varchar.*|[~^]?\d+\.\d+\.\d+[\w.+-]*|new|await|async|return|pass(?:ed|es)?|fail(?:ed|s|ure)?|skip(?:ped)?|ok|error|pending|0x[\da-f]{1,8})$/i;
/** `user.password`, `!this.pass`, the rest of `a===b.c`, and names that a bundler numbered. */
const IDENTIFIER_PATH = /^(?:[!=]{0,3}[A-Za-z_$][\w$]*(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*)+\.?|[A-Za-z_]\w*\$\d{1,2})$/;

/** A part of each name. */
export const NAME_WORDS: readonly string[] = ["pass", "pwd", "secret", "token", "key", "credential", "_auth", '"auth'];

/** Values of secret-looking names in `.env` files, JSON, YAML, code literals and connection strings. `words`: those of `NAME_WORDS` in the text. */
export function* assignmentSpans(text: string, words: ReadonlySet<string>): Generator<Span> {
  if (!NAME_WORDS.some((word) => words.has(word))) return;
  for (const match of text.matchAll(SHELL)) yield* spanOf(match, shellValue(match));
  for (const match of text.matchAll(PROPERTY)) yield* spanOf(match, propertyValue(match));
  for (const match of text.matchAll(QUOTED)) yield* spanOf(match, quotedValue(match, text));
  for (const match of text.matchAll(BARE)) yield* spanOf(match, bareValue(match, text));
}

/** Values under `data` and `stringData` of a Kubernetes secret: base64 hides nothing. */
export function* kubernetesSpans(text: string, words: ReadonlySet<string>): Generator<Span> {
  if (!words.has("secret") || !/^[ \t]*kind:[ \t]*["']?Secret\b/m.test(text)) return;
  for (const section of text.matchAll(/^([ \t]*)(?:data|stringData):[ \t]*\n((?:\1[ \t]+[\w.-]+:[ \t]*[^\n]*(?:\n|$))+)/gm)) {
    const from = section.index + section[0].length - (section[2] ?? "").length;
    for (const line of (section[2] ?? "").matchAll(/^([ \t]+[\w.-]+:[ \t]*["']?)(?!\{\{|\$|\[redacted)([^\s"']{4,})/gm)) {
      const start = from + line.index + (line[1] ?? "").length;
      yield { start, end: start + (line[2] ?? "").length, kind: "kubernetes-secret" };
    }
  }
}

/** What of a match is the secret, or null when it is none. */
interface Value {
  readonly text: string;
  readonly offset: number;
}

function* spanOf(match: RegExpExecArray, value: Value | null): Generator<Span> {
  if (value === null) return;
  const start = match.index + value.offset;
  yield { start, end: start + value.text.length, kind: kindOf(match.groups?.["name"] ?? "") };
}

function shellValue(match: RegExpExecArray): Value | null {
  const { keep, name, more, quote, value: bare, phrase } = groups(match);
  const value = phrase === "" ? bare : phrase;
  if (PLACEHOLDER.test(value) || CODE_WORD.test(value) || isFlag(value) || IDENTIFIER_PATH.test(value)) return null;
  if (name === "PWD" && /^(?:\/|[A-Z]:)/.test(value)) return null; // The working folder.
  // Many harmless names end in KEY or in an id: their value has to look made by a machine.
  if ((name === "KEY" || more === "_ID") && !looksRandom(value)) return null;
  return { text: value, offset: keep.length + quote.length };
}

function propertyValue(match: RegExpExecArray): Value | null {
  const { keep, value } = groups(match);
  if (PLACEHOLDER.test(value) || CODE_WORD.test(value) || isFlag(value) || IDENTIFIER_PATH.test(value)) return null;
  return { text: value, offset: keep.length };
}

function quotedValue(match: RegExpExecArray, text: string): Value | null {
  const { keep, name, value } = groups(match);
  if (PLACEHOLDER.test(value) || CODE_WORD.test(value) || endsAWord(name, match.index, text)) return null;
  if (name === "PWD" && /^(?:\/|[A-Z]:)/.test(value)) return null;
  // A word in quotes after a name that is no password's is more likely a label, a header's or a column's name.
  return isPassword(name) || looksRandom(value) ? { text: value, offset: keep.length } : null;
}

function bareValue(match: RegExpExecArray, text: string): Value | null {
  const { keep, name, value, after } = groups(match);
  if (endsAWord(name, match.index, text) || PLACEHOLDER.test(value) || CODE_WORD.test(value) || IDENTIFIER_PATH.test(value))
    return null;
  // Followed by a bracket it is a call or an index; a plain word is a variable or prose.
  if (after === "(" || after === "{" || after === "[") return null;
  const enough = isPassword(name) ? /\d|[^\w.:/-]/.test(value) && !/^\d{1,3}$/.test(value) : looksRandom(value);
  return enough ? { text: value, offset: keep.length } : null;
}

/** `bypass` and `compass` are no passwords; `dbPass` and `db_pass` are. */
function endsAWord(name: string, index: number, text: string): boolean {
  return /^p(?:ass|wd)$/.test(name) && /[a-z]/i.test(text.charAt(index - 1));
}

/** Long enough, with digits among letters: what people name things does not look so, tokens do. */
function looksRandom(value: string): boolean {
  return value.length >= 12 && /\d/.test(value) && /[A-Za-z]/.test(value);
}

function isFlag(value: string): boolean {
  return /^(?:\d{1,3}|yes|no|on|off)$/i.test(value);
}

function isPassword(name: string): boolean {
  return /^pass|^pwd/i.test(name);
}

function kindOf(name: string): string {
  if (isPassword(name)) return "password";
  if (/token|auth/i.test(name)) return "token";
  return /key/i.test(name) ? "key" : "secret";
}

/** The named groups of a match; one that took no part is empty. */
function groups(match: RegExpExecArray): Record<"keep" | "name" | "more" | "value" | "phrase" | "quote" | "after", string> {
  const read = (key: string): string => match.groups?.[key] ?? "";
  return {
    keep: read("keep"),
    name: read("name"),
    more: read("more"),
    value: read("value"),
    phrase: read("phrase"),
    quote: read("quote"),
    after: read("after"),
  };
}

function upper(names: string): string {
  return names.toUpperCase();
}
