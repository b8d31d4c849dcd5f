import { isDeepStrictEqual } from "node:util";
import type { RunRows } from "./projection.ts";

const NAMED = 5;
const SHOWN_CHARACTERS = 120;

/** How records of each kind are told apart. */
const KEYS = {
  steps: ["step"],
  attempts: ["step", "attempt"],
  iterations: ["ordinal"],
  acts: [],
  grants: [],
  checkpoints: ["id"],
  verify: ["step", "command"],
  instructions: ["id"],
} as const;

/**
 * The first differences between a run's rows and what its events make of them, in words, e.g.
 * `run_1: attempts main/2, note: stored "a", replayed null`. Empty when there is none.
 */
export function differences(stored: RunRows, replayed: RunRows): readonly string[] {
  const found = [...inRecord("run", stored.run, replayed.run)];
  for (const [table, key] of Object.entries(KEYS))
    found.push(...inTable(table, key, listOf(stored, table), listOf(replayed, table)));
  return found.slice(0, NAMED).map((what) => `${stored.run.run_id}: ${what}`);
}

function listOf(rows: RunRows, table: string): readonly object[] {
  const list = Object.entries(rows).find(([name]) => name === table)?.[1];
  return Array.isArray(list) ? list : [];
}

function inTable(table: string, key: readonly string[], stored: readonly object[], replayed: readonly object[]): string[] {
  const found: string[] = [];
  const [ours, theirs] = [named(key, stored), named(key, replayed)];
  for (const [name, row] of ours) {
    const other = theirs.get(name);
    if (other === undefined) found.push(`${table} ${name} is stored, and no event tells of it`);
    else found.push(...inRecord(`${table} ${name}`, row, other));
  }
  for (const name of theirs.keys()) if (!ours.has(name)) found.push(`${table} ${name} is told by events, and is not stored`);
  const order = [...ours.keys()].join(", ");
  if (found.length === 0 && order !== [...theirs.keys()].join(", "))
    found.push(`${table}: stored in the order ${short(order)}, replayed as ${short([...theirs.keys()].join(", "))}`);
  return found;
}

function named(key: readonly string[], rows: readonly object[]): Map<string, object> {
  return new Map(
    rows.map((row, index) => {
      const members = new Map<string, unknown>(Object.entries(row));
      return [key.length === 0 ? `#${index + 1}` : key.map((member) => String(members.get(member))).join("/"), row];
    }),
  );
}

function inRecord(name: string, stored: object, replayed: object): string[] {
  const [ours, theirs] = [new Map<string, unknown>(Object.entries(stored)), new Map<string, unknown>(Object.entries(replayed))];
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .filter((field) => !isDeepStrictEqual(ours.get(field), theirs.get(field)))
    .map((field) => `${name}, ${field}: stored ${short(ours.get(field))}, replayed ${short(theirs.get(field))}`);
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}... (${text.length} characters)` : text;
}
