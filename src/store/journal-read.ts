import { partOf } from "../run/entry-part.ts";
import type { JournalEntry } from "../run/event.ts";
import type { Backend } from "./backend.ts";
import { type ChunkContent, countEntries, walkChunks } from "./journal-chunks.ts";
import type { JournalPage, JournalQuery } from "./store.ts";

/** A page ends early when its texts are this long together, so that a page of long entries takes no more memory than another. */
const PAGE_CHARACTERS = 4_000_000;
/** A search of one page looks through this much at most; `rest` says where the next one goes on. */
const SEARCH_BYTES = 1024 * 1024 * 1024;

/** One page of a run's journal: the newest before `before` (or of all), or the oldest after `after`. */
export async function readJournal(backend: Backend, runId: string, query: JournalQuery): Promise<JournalPage> {
  const { db } = backend;
  const forward = query.after !== undefined;
  const needle = query.search?.toLowerCase() ?? null;
  const picked: JournalEntry[] = [];
  const gaps: string[] = [];
  let rest: number | null = null;
  let characters = 0;
  let bytes = 0;
  const walk = {
    run_id: runId,
    iteration: query.iteration,
    needle,
    forward,
    edge: forward ? (query.after ?? 0) : (query.before ?? Number.MAX_SAFE_INTEGER),
    // A chunk holds one entry at least: a short page needs few of them, unless a search passes most by.
    few: needle === null ? query.limit + 1 : null,
  };
  pages: for await (const chunk of walkChunks(db, walk)) {
    if (forward && chunk.first_n >= (query.before ?? Number.POSITIVE_INFINITY)) break;
    for (const entry of inOrder(wantedEntries(chunk, query, needle, gaps), forward)) {
      if (picked.length >= query.limit || characters >= PAGE_CHARACTERS) {
        rest = picked.at(-1)?.n ?? null;
        break pages;
      }
      picked.push(entry);
      characters += entry.text.length;
    }
    bytes += chunk.raw_bytes;
    if (needle !== null && bytes >= SEARCH_BYTES) {
      rest = forward ? chunk.last_n : chunk.first_n;
      break;
    }
  }
  return {
    entries: inOrder(picked, forward),
    total: await countEntries(db, runId, query.iteration),
    gaps: inOrder(gaps, forward),
    rest,
  };
}

function inOrder<T>(items: readonly T[], forward: boolean): readonly T[] {
  return forward ? items : items.toReversed();
}

/** In order of `n`. */
function wantedEntries(chunk: ChunkContent, query: JournalQuery, needle: string | null, gaps: string[]): JournalEntry[] {
  const { first_n, last_n } = chunk;
  const inRange = (n: number) => n > (query.after ?? 0) && n < (query.before ?? Number.POSITIVE_INFINITY);
  if (chunk.entries !== null)
    return chunk.entries.filter((entry) => inRange(entry.n) && isShown(entry, query) && matches(entry, query, needle));
  const text = gapText(first_n, last_n);
  gaps.push(text);
  // A gap is paged by its first number, so that the page after or before it never meets it again.
  if (!inRange(first_n) || needle !== null) return [];
  const iteration = query.iteration ?? chunk.first_iteration;
  return [{ n: first_n, who: "loop", kind: "gap", text, iteration, at: chunk.at, data: { first_n, last_n } }];
}

export function gapText(first: number, last: number): string {
  return first === last ? `event ${first} unreadable` : `events ${first}-${last} unreadable`;
}

/** Later parts of a long entry come only when they are asked for, or as what a search found. */
function isShown(entry: JournalEntry, query: JournalQuery): boolean {
  if (query.continuations === true || query.search !== undefined) return true;
  return (partOf(entry)?.number ?? 1) === 1;
}

function matches(entry: JournalEntry, query: JournalQuery, needle: string | null): boolean {
  if (query.iteration !== undefined && entry.iteration !== query.iteration) return false;
  if (needle === null) return true;
  // What lies whole within the repeated beginning was found in the part before.
  const from = Math.max(0, (partOf(entry)?.overlap ?? 0) - needle.length + 1);
  if (entry.text.toLowerCase().includes(needle, from)) return true;
  const { part: _, ...facts } = entry.data ?? {};
  return textOf(facts).toLowerCase().includes(needle);
}

/** All texts within an entry's facts, as they read: JSON would hide a line break or a quote from the search. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (value === null || typeof value !== "object") return "";
  return Object.values(value).map(textOf).join("\n");
}
