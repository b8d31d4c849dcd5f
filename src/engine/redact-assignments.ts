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
  /^(?:string|str|text|hidden|password|passwd|token|secret|key|api[_-]?key|null|none|nil|undefined|true|false|required|optional|missing|invalid|empty|unset|number|boolean|int|bytes|any|unknown|object|bearer|basic|char|varchar.*|[~^]?\d+\.\d+\.\d+[\w.+-]*|new|await|async|return)$/i;
const IDENTIFIER_PATH = /^[A-Za-z_$][\w$]*(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*)+\.?$/;

/** Values of secret-looking names in `.env` files, JSON, YAML, code literals and connection strings. */
export function redactAssignments(text: string): string {
  return text.replace(SHELL, byShell).replace(QUOTED, byQuotes).replace(BARE, byShape);
}

function byShell(whole: string, ...rest: readonly unknown[]): string {
  const { keep, name, more, quote, ...found } = groups(rest);
  const value = found.phrase === "" ? found.value : found.phrase;
  if (PLACEHOLDER.test(value) || CODE_WORD.test(value) || isFlag(value) || IDENTIFIER_PATH.test(value)) return whole;
  if (name === "PWD" && /^(?:\/|[A-Z]:)/.test(value)) return whole; // The working folder.
  // Many harmless names end in KEY or in an id: their value has to look made by a machine.
  if ((name === "KEY" || more === "_ID") && !looksRandom(value)) return whole;
  return `${keep}${quote}[redacted:${kindOf(name)}]${quote}`;
}

function byQuotes(whole: string, ...rest: readonly unknown[]): string {
  const { keep, name, value } = groups(rest);
  if (PLACEHOLDER.test(value) || CODE_WORD.test(value) || endsAWord(name, rest)) return whole;
  // A word in quotes after a name that is no password's is more likely a label, a header's or a column's name.
  if (!isPassword(name) && !looksRandom(value)) return whole;
  return `${keep}[redacted:${kindOf(name)}]`;
}

function byShape(whole: string, ...rest: readonly unknown[]): string {
  const { keep, name, value, after } = groups(rest);
  if (endsAWord(name, rest) || PLACEHOLDER.test(value) || CODE_WORD.test(value) || IDENTIFIER_PATH.test(value)) return whole;
  // Followed by a bracket it is a call or an index; a plain word is a variable or prose.
  if (after === "(" || after === "{" || after === "[") return whole;
  const enough = isPassword(name) ? /\d|[^\w.:/-]/.test(value) && !/^\d{1,3}$/.test(value) : looksRandom(value);
  return enough ? `${keep}[redacted:${kindOf(name)}]${after}` : whole;
}

/** `bypass` and `compass` are no passwords; `dbPass` and `db_pass` are. */
function endsAWord(name: string, rest: readonly unknown[]): boolean {
  const [offset, text] = [rest.at(-3), rest.at(-2)];
  return /^p(?:ass|wd)$/.test(name) && typeof text === "string" && /[a-z]/i.test(text.charAt(Number(offset) - 1));
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

/** The named groups are the last argument that `replace` hands over; one that took no part is empty. */
function groups(rest: readonly unknown[]): Record<"keep" | "name" | "more" | "value" | "phrase" | "quote" | "after", string> {
  const found = new Map<string, unknown>(Object.entries(rest.at(-1) ?? {}));
  const read = (key: string): string => String(found.get(key) ?? "");
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
