/** One simple value inside an error, with the name it stood under. */
export interface Field {
  /** In lower snake case, whatever the sender's style: `resetsAt`, `X-Reset-At`, `reset_at`. */
  readonly key: string;
  readonly value: string | number | boolean;
  /** The object it stood in: fields of one object share it. */
  readonly owner: number;
  /** How many names deep it stood. */
  readonly depth: number;
}

const MAX_DEPTH = 10;
const MAX_FIELDS = 2000;
const MAX_JSON_TEXT = 64_000;
/** What people and models said, not what went wrong: a limit named there is no limit. */
const CONVERSATION = new Set([
  "content",
  "messages",
  "input",
  "prompt",
  "flagged_input",
  "tool_result",
  "raw_output",
  "raw_input",
]);

/**
 * All simple values of an error of unknown shape, breadth bounded; JSON inside strings is opened too (providers wrap the
 * body of the provider behind them). Never throws.
 */
export function fieldsOf(value: unknown): readonly Field[] {
  const fields: Field[] = [];
  let owners = 0;
  visit(value, "", 0, 0);
  return fields;

  function visit(item: unknown, key: string, owner: number, depth: number): void {
    if (depth > MAX_DEPTH || fields.length >= MAX_FIELDS) return;
    if (typeof item === "string" || typeof item === "number" || typeof item === "boolean") {
      fields.push({ key, value: item, owner, depth });
      if (typeof item === "string") for (const inner of jsonIn(item)) visit(inner, key, owner, depth + 1);
    } else if (Array.isArray(item)) {
      for (const element of item.slice(0, 200)) visit(element, key, owner, depth + 1);
    } else if (typeof item === "object" && item !== null) {
      visitObject(item, key, depth);
    }
  }

  function visitObject(item: object, key: string, depth: number): void {
    owners += 1;
    const self = owners;
    for (const [name, inner] of Object.entries(item).slice(0, 200)) {
      const innerKey = snakeCase(name);
      if (CONVERSATION.has(innerKey)) continue;
      // `{"codex_error_info": {"server_overloaded": {...}}}`: the kind is a name here, not a value.
      if (key === "codex_error_info") fields.push({ key, value: name, owner: self, depth });
      visit(inner, innerKey, self, depth + 1);
    }
    // An Error's own texts are not enumerable.
    if (item instanceof Error) {
      visit(item.message, "message", self, depth + 1);
      visit(item.name, "name", self, depth + 1);
      visit(item.cause, "cause", self, depth + 1);
    }
  }
}

/** `resetsAt`, `X-Reset-At` and `RESETS_AT` in one spelling. */
export function snakeCase(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/[-.\s]+/g, "_")
    .toLowerCase();
}

/** The JSON values that a text holds: the text itself, its lines, or the part from its first bracket to its last. */
export function jsonIn(text: string): readonly unknown[] {
  if (text.length > MAX_JSON_TEXT) return [];
  const start = text.search(/[[{]/);
  if (start === -1) return [];
  const end = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]"));
  for (const piece of [text.slice(start, end + 1), text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)]) {
    const parsed = parseJson(piece) ?? parseJson(pythonToJson(piece));
    if (parsed !== undefined) return [parsed];
  }
  return text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map(parseJson)
    .filter((parsed) => parsed !== undefined);
}

/** A JSON object or array, else undefined. */
export function parseJson(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Python programs print a dictionary with single quotes and None. */
function pythonToJson(text: string): string {
  return text
    .replaceAll(/(?<=[{[:,]\s*)'|'(?=\s*[}\]:,])/g, '"')
    .replaceAll(/\bNone\b/g, "null")
    .replaceAll(/\bTrue\b/g, "true")
    .replaceAll(/\bFalse\b/g, "false");
}
