import type { JournalEntry } from "../run/event.ts";
import type { Backend } from "./backend.ts";
import { decodeChunk } from "./journal-chunk.ts";
import type { Db } from "./schema.ts";
import type { JournalPage, JournalQuery } from "./store.ts";

/** Chunks are planned in pages of this many and their bodies read in groups of about this size: memory does not grow with a journal. */
const PLAN_CHUNKS = 256;
const GROUP_BYTES = 1024 * 1024;

interface ChunkPlace {
  readonly first_n: number;
  readonly last_n: number;
  readonly first_iteration: number;
  readonly last_iteration: number;
  readonly raw_bytes: number;
}

/** What one chunk holds; `entries` is null when it is damaged or missing. */
interface ChunkContent extends ChunkPlace {
  readonly at: string;
  readonly entries: readonly JournalEntry[] | null;
}

/** One page of a run's journal: the newest before `before` (or of all), or the oldest after `after`. */
export async function readJournal(backend: Backend, runId: string, query: JournalQuery): Promise<JournalPage> {
  const { db } = backend;
  const forward = query.after !== undefined;
  const picked: JournalEntry[] = [];
  const gaps: string[] = [];
  for await (const chunk of chunksOf(db, runId, query)) {
    const wanted = wantedEntries(chunk, query, gaps);
    picked.push(...(forward ? wanted : wanted.reverse()));
    if (picked.length >= query.limit) break;
  }
  const entries = picked.slice(0, query.limit);
  if (!forward) {
    entries.reverse();
    gaps.reverse();
  }
  return { entries, total: await totalOf(db, runId, query.iteration), gaps };
}

function wantedEntries(chunk: ChunkContent, query: JournalQuery, gaps: string[]): JournalEntry[] {
  const { first_n, last_n } = chunk;
  const inRange = (n: number) => n > (query.after ?? 0) && n < (query.before ?? Number.POSITIVE_INFINITY);
  if (chunk.entries !== null) return chunk.entries.filter((entry) => inRange(entry.n) && matches(entry, query));
  const text = first_n === last_n ? `event ${first_n} unreadable` : `events ${first_n}-${last_n} unreadable`;
  gaps.push(text);
  // A gap is paged by its first number, so that the page after or before it never meets it again.
  if (!inRange(first_n) || query.search !== undefined) return [];
  const iteration = query.iteration ?? chunk.first_iteration;
  return [{ n: first_n, who: "loop", kind: "gap", text, iteration, at: chunk.at, data: { first_n, last_n } }];
}

function matches(entry: JournalEntry, query: JournalQuery): boolean {
  if (query.iteration !== undefined && entry.iteration !== query.iteration) return false;
  if (query.search === undefined) return true;
  const needle = query.search.toLowerCase();
  if (entry.text.toLowerCase().includes(needle)) return true;
  return entry.data !== undefined && textOf(entry.data).toLowerCase().includes(needle);
}

/** All texts within an entry's facts, as they read: JSON would hide a line break or a quote from the search. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (value === null || typeof value !== "object") return "";
  return Object.values(value).map(textOf).join("\n");
}

/** Chunks that can hold what the query wants, newest first, or oldest first after `after`; a missing chunk is one with no entries. */
async function* chunksOf(db: Db, runId: string, query: JournalQuery): AsyncGenerator<ChunkContent> {
  const forward = query.after !== undefined;
  let edge = forward ? (query.after ?? 0) : (query.before ?? Number.MAX_SAFE_INTEGER);
  let expected = forward || query.before !== undefined ? null : await lastNumber(db, runId);
  for (;;) {
    const places = await planChunks(db, runId, query, edge, forward);
    for (const group of groupsOf(places)) {
      for (const chunk of await readChunks(db, runId, group, forward)) {
        if (query.iteration === undefined && expected !== null) yield* missingBetween(expected, chunk, forward);
        yield chunk;
        expected = forward ? chunk.last_n + 1 : chunk.first_n - 1;
      }
    }
    const last = places.at(-1);
    if (last === undefined || places.length < planSize(query)) return;
    edge = forward ? last.last_n : last.first_n;
  }
}

async function lastNumber(db: Db, runId: string): Promise<number> {
  const head = await db.selectFrom("run_heads").select("journal_n").where("run_id", "=", runId).executeTakeFirst();
  return head?.journal_n ?? 0;
}

async function planChunks(
  db: Db,
  runId: string,
  query: JournalQuery,
  edge: number,
  forward: boolean,
): Promise<readonly ChunkPlace[]> {
  const { iteration } = query;
  let chunks = db
    .selectFrom("journal_chunks")
    .select(["first_n", "last_n", "first_iteration", "last_iteration", "raw_bytes"])
    .where("run_id", "=", runId)
    .where(forward ? "last_n" : "first_n", forward ? ">" : "<", edge);
  if (iteration !== undefined) {
    chunks = chunks.where("first_iteration", "<=", iteration).where("last_iteration", ">=", iteration);
  }
  return chunks
    .orderBy("first_n", forward ? "asc" : "desc")
    .limit(planSize(query))
    .execute();
}

/** A chunk holds one entry at least: a short page needs few of them, unless a search passes most entries by. */
function planSize({ search, limit }: JournalQuery): number {
  return search === undefined ? Math.min(PLAN_CHUNKS, limit + 1) : PLAN_CHUNKS;
}

function groupsOf(places: readonly ChunkPlace[]): readonly (readonly ChunkPlace[])[] {
  const groups: ChunkPlace[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const place of places) {
    if (bytes + place.raw_bytes > GROUP_BYTES) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(place);
    bytes += place.raw_bytes;
  }
  return groups;
}

async function readChunks(
  db: Db,
  runId: string,
  group: readonly ChunkPlace[],
  forward: boolean,
): Promise<readonly ChunkContent[]> {
  const rows = await db
    .selectFrom("journal_chunks")
    .selectAll()
    .where("run_id", "=", runId)
    .where(
      "first_n",
      "in",
      group.map((place) => place.first_n),
    )
    .orderBy("first_n", forward ? "asc" : "desc")
    .execute();
  return Promise.all(
    rows.map(async (row) => {
      const entries = await decodeChunk(row);
      return { ...row, entries: entries?.map((entry, index) => ({ n: row.first_n + index, ...entry })) ?? null };
    }),
  );
}

function* missingBetween(expected: number, chunk: ChunkContent, forward: boolean): Generator<ChunkContent> {
  const first_n = forward ? expected : chunk.last_n + 1;
  const last_n = forward ? chunk.first_n - 1 : expected;
  if (first_n <= last_n) yield { ...chunk, first_n, last_n, entries: null };
}

/** Entries of the run, or of one iteration. A chunk that holds several iterations has to be opened to count them. */
async function totalOf(db: Db, runId: string, iteration: number | undefined): Promise<number> {
  if (iteration === undefined) return lastNumber(db, runId);
  let total = 0;
  let edge = 0;
  for (;;) {
    const places = await planChunks(db, runId, { iteration, limit: PLAN_CHUNKS }, edge, true);
    const mixed = places.filter((place) => place.first_iteration !== place.last_iteration);
    for (const place of places) if (place.first_iteration === place.last_iteration) total += place.last_n - place.first_n + 1;
    for (const group of groupsOf(mixed)) {
      for (const chunk of await readChunks(db, runId, group, true)) {
        total += chunk.entries?.filter((entry) => entry.iteration === iteration).length ?? 0;
      }
    }
    const last = places.at(-1);
    if (last === undefined || places.length < PLAN_CHUNKS) return total;
    edge = last.last_n;
  }
}
