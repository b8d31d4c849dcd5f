import type { JournalEntry } from "../run/event.ts";
import { decodeChunk } from "./journal-chunk.ts";
import type { Db } from "./schema.ts";

/** Walking over the chunks of one run's journal. Places come out of an index, bodies in groups: memory does not grow with a journal. */

/** Places are planned in pages of this many. */
export const PLAN_CHUNKS = 256;
const GROUP_BYTES = 1024 * 1024;

export interface ChunkPlace {
  readonly first_n: number;
  readonly last_n: number;
  readonly first_iteration: number;
  readonly last_iteration: number;
  readonly raw_bytes: number;
}

/** What one chunk holds; `entries` is null when it is damaged or missing. */
export interface ChunkContent extends ChunkPlace {
  readonly at: string;
  readonly entries: readonly JournalEntry[] | null;
}

export interface Walk {
  readonly run_id: string;
  readonly iteration?: number | undefined;
  /** In lower case; chunks that cannot hold it come out empty. */
  readonly needle: string | null;
  /** Oldest first from `edge` on (exclusive); else newest first. */
  readonly forward: boolean;
  readonly edge: number;
  /** Chunks planned at a time, when few are likely to do. */
  readonly few: number | null;
}

/** Chunks that can hold what is wanted, in the order of the walk; a missing chunk is one with no entries. */
export async function* walkChunks(db: Db, walk: Walk): AsyncGenerator<ChunkContent> {
  const { forward } = walk;
  let { edge } = walk;
  let expected = forward || edge !== Number.MAX_SAFE_INTEGER ? null : await lastNumber(db, walk.run_id);
  for (;;) {
    const places = await planChunks(db, walk, edge);
    for (const group of groupsOf(places)) {
      for (const chunk of await readChunks(db, walk, group)) {
        if (walk.iteration === undefined && expected !== null) yield* missingBetween(expected, chunk, forward);
        yield chunk;
        expected = forward ? chunk.last_n + 1 : chunk.first_n - 1;
      }
    }
    const last = places.at(-1);
    if (last === undefined || places.length < planSize(walk)) return;
    edge = forward ? last.last_n : last.first_n;
  }
}

export async function lastNumber(db: Db, runId: string): Promise<number> {
  const head = await db.selectFrom("run_heads").select("journal_n").where("run_id", "=", runId).executeTakeFirst();
  return head?.journal_n ?? 0;
}

async function planChunks(db: Db, walk: Walk, edge: number): Promise<readonly ChunkPlace[]> {
  const { iteration, forward } = walk;
  let chunks = db
    .selectFrom("journal_chunks")
    .select(["first_n", "last_n", "first_iteration", "last_iteration", "raw_bytes"])
    .where("run_id", "=", walk.run_id)
    .where(forward ? "last_n" : "first_n", forward ? ">" : "<", edge);
  if (iteration !== undefined) {
    chunks = chunks.where("first_iteration", "<=", iteration).where("last_iteration", ">=", iteration);
  }
  return chunks
    .orderBy("first_n", forward ? "asc" : "desc")
    .limit(planSize(walk))
    .execute();
}

const planSize = ({ few }: Walk): number => (few === null ? PLAN_CHUNKS : Math.min(PLAN_CHUNKS, few));

export function groupsOf<P extends { readonly raw_bytes: number }>(places: readonly P[]): readonly (readonly P[])[] {
  const groups: P[][] = [];
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

/** A damaged page of the database costs only the chunks that stand on it: they are then read one by one. */
async function readChunks(db: Db, walk: Walk, group: readonly ChunkPlace[]): Promise<readonly ChunkContent[]> {
  try {
    return await readBodies(db, walk, group);
  } catch (error) {
    if (!(await answers(db, walk.run_id))) throw error;
    const chunks: ChunkContent[] = [];
    for (const place of group) {
      const one = await readBodies(db, walk, [place]).catch(() => []);
      chunks.push(...(one.length > 0 ? one : [{ ...place, at: "", entries: null }]));
    }
    return chunks;
  }
}

/** Whether the database still answers at all: what fails then is the chunk. */
async function answers(db: Db, runId: string): Promise<boolean> {
  return lastNumber(db, runId).then(
    () => true,
    () => false,
  );
}

async function readBodies(db: Db, walk: Walk, group: readonly ChunkPlace[]): Promise<readonly ChunkContent[]> {
  const rows = await db
    .selectFrom("journal_chunks")
    .selectAll()
    .where("run_id", "=", walk.run_id)
    .where(
      "first_n",
      "in",
      group.map((place) => place.first_n),
    )
    .orderBy("first_n", walk.forward ? "asc" : "desc")
    .execute();
  return Promise.all(
    rows.map(async (row) => {
      const entries = await decodeChunk(row, walk.needle);
      const { body: _, ...place } = row;
      return { ...place, entries: entries?.map((entry, index) => ({ n: row.first_n + index, ...entry })) ?? null };
    }),
  );
}

function* missingBetween(expected: number, chunk: ChunkContent, forward: boolean): Generator<ChunkContent> {
  const first_n = forward ? expected : chunk.last_n + 1;
  const last_n = forward ? chunk.first_n - 1 : expected;
  if (first_n <= last_n) yield { ...chunk, first_n, last_n, entries: null };
}

/** Entries of the run, or of one iteration. A chunk that holds several iterations has to be opened to count them. */
export async function countEntries(db: Db, runId: string, iteration: number | undefined): Promise<number> {
  if (iteration === undefined) return lastNumber(db, runId);
  let total = 0;
  const walk: Walk = { run_id: runId, iteration, needle: null, forward: true, edge: 0, few: null };
  for (let edge = 0; ; ) {
    const places = await planChunks(db, walk, edge);
    const mixed = places.filter((place) => place.first_iteration !== place.last_iteration);
    for (const place of places) if (place.first_iteration === place.last_iteration) total += place.last_n - place.first_n + 1;
    for (const group of groupsOf(mixed)) {
      for (const chunk of await readChunks(db, walk, group)) {
        total += chunk.entries?.filter((entry) => entry.iteration === iteration).length ?? 0;
      }
    }
    const last = places.at(-1);
    if (last === undefined || places.length < PLAN_CHUNKS) return total;
    edge = last.last_n;
  }
}
