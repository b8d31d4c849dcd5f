/** As much of TOML as gitleaks.toml uses: tables, arrays of tables, texts, lists of texts, numbers, booleans. */

export type Table = Record<string, unknown>;

interface RuleTable extends Table {
  allowlists?: Table[];
}

export interface RuleFile {
  readonly rules: RuleTable[];
  readonly allowlist: Table | null;
}

export function parseToml(toml: string): RuleFile {
  const rules: RuleTable[] = [];
  let allowlist: Table | null = null;
  let table: Table = {};
  let rest = toml;
  while (rest !== "") {
    const header = /^\[\[?([\w.]+)\]?\][^\n]*\n/.exec(rest);
    const entry = /^(\w+)\s*=\s*/.exec(rest);
    if (header !== null) {
      table = {};
      const rule = rules.at(-1);
      if (header[1] === "rules") rules.push(table);
      else if (header[1] === "rules.allowlists" && rule !== undefined) rule.allowlists = [...(rule.allowlists ?? []), table];
      else if (header[1] === "allowlist") allowlist = table;
      else throw new Error(`unknown table ${header[1]}`);
      rest = rest.slice(header[0].length);
    } else if (entry !== null) {
      const read = valueAt(rest.slice(entry[0].length));
      table[entry[1] ?? ""] = read.value;
      rest = read.rest;
    } else {
      const skipped = /^(?:\s+|#[^\n]*)/.exec(rest);
      if (skipped === null) throw new Error(`cannot read ${JSON.stringify(rest.slice(0, 80))}`);
      rest = rest.slice(skipped[0].length);
    }
  }
  return { rules, allowlist };
}

const SCALAR = /^(?:'''([\s\S]*?)'''|"((?:[^"\\]|\\.)*)"|(true|false)\b|(-?\d+(?:\.\d+)?))/;

function valueAt(text: string): { value: unknown; rest: string } {
  if (text.startsWith("[")) return listAt(text.slice(1));
  const found = SCALAR.exec(text);
  if (found === null) throw new Error(`cannot read the value ${JSON.stringify(text.slice(0, 80))}`);
  const [whole, literal, quoted, truth, number] = found;
  const value = literal ?? (quoted === undefined ? (truth === undefined ? Number(number) : truth === "true") : unquoted(quoted));
  return { value, rest: text.slice(whole.length) };
}

function listAt(text: string): { value: unknown[]; rest: string } {
  const value: unknown[] = [];
  let rest = text;
  for (;;) {
    rest = rest.replace(/^(?:[\s,]+|#[^\n]*)+/, "");
    if (rest.startsWith("]")) return { value, rest: rest.slice(1) };
    const item = valueAt(rest);
    value.push(item.value);
    rest = item.rest;
  }
}

function unquoted(text: string): unknown {
  return JSON.parse(`"${text}"`);
}
