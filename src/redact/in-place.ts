import { redact, redactCommand } from "./redact.ts";

/** What must stay exact: handles of things outside the store, which a changed text would not find again. */
export interface Exact {
  /** Names of members that are left as they are, with all that is in them. */
  readonly members: ReadonlySet<string>;
  /** Names of members that hold commands: only what is a credential by its own shape is replaced. */
  readonly commands: ReadonlySet<string>;
  /** Names of members that hold a name which is either exact or worthless: with a credential in it, it becomes null. */
  readonly orNull: ReadonlySet<string>;
}

/** A copy of the value with every text in it redacted, at any depth, except for what has to stay exact. */
export function redactedCopy<T>(value: T, exact: Exact): T {
  const copy = structuredClone(value);
  visit(copy, exact, redact);
  return copy;
}

function visit(value: unknown, exact: Exact, how: (text: string) => string): void {
  if (value === null || typeof value !== "object" || value instanceof Uint8Array) return;
  for (const [name, item] of Object.entries(value)) {
    if (exact.members.has(name)) continue;
    const inner = exact.commands.has(name) ? redactCommand : how;
    if (typeof item !== "string") {
      visit(item, exact, inner);
      continue;
    }
    const changed = withJson(item, exact, inner);
    if (changed !== item) Reflect.set(value, name, exact.orNull.has(name) ? null : changed);
  }
  if (!Array.isArray(value)) redactNames(value, how);
}

/** Members can be named by what comes from outside: refs, files. */
function redactNames(value: object, how: (text: string) => string): void {
  for (const [name, item] of Object.entries(value)) {
    const changed = how(name);
    if (changed === name) continue;
    Reflect.deleteProperty(value, name);
    Reflect.set(value, changed, item);
  }
}

/** JSON inside a text is redacted by its own texts: a replacement over quotes and escapes would break it. */
function withJson(text: string, exact: Exact, how: (text: string) => string): string {
  const changed = how(text);
  if (changed === text || !/^\s*[[{]/.test(text)) return changed;
  const parsed = parsedJson(text);
  if (parsed === undefined) return changed;
  visit(parsed.value, exact, how);
  return JSON.stringify(parsed.value);
}

function parsedJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
