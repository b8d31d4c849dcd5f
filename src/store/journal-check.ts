import { sql } from "kysely";
import type { Backend } from "./backend.ts";
import { isWhole } from "./journal-chunk.ts";
import { groupsOf, lastNumber, PLAN_CHUNKS } from "./journal-chunks.ts";
import { gapText } from "./journal-read.ts";
import type { Db } from "./schema.ts";
import type { JournalHealth } from "./store.ts";

/**
 * What of a run's journal can no longer be read, without opening it: missing chunks show in the index, damaged ones by the
 * checksum of their compressed bytes. Bodies are checked in small groups, newest first, up to a limit; what lies beyond it is named
 * as not looked at.
 */

/** Compressed bytes that are checked at most; a journal is several times as long as that. */
const CHECKED_BYTES = 256 * 1024 * 1024;
const MAX_GAPS = 50;

interface Range {
  first: number;
  last: number;
}

export async function checkJournal(backend: Backend, runId: string): Promise<JournalHealth> {
  const { db } = backend;
  const total = await lastNumber(db, runId);
  const missing = await missingRanges(db, runId, total);
  const { damaged, unchecked } = await damagedRanges(db, runId);
  const ranges = merged([...missing, ...damaged]);
  return { total, gaps: ranges.slice(0, MAX_GAPS).map(({ first, last }) => gapText(first, last)), unchecked_below: unchecked };
}

/** Numbers that no chunk covers. The database walks its index; only the holes come out of it. */
async function missingRanges(db: Db, runId: string, total: number): Promise<Range[]> {
  const { rows } = await sql<{ first: number; last: number }>`
    select after_n + 1 as first, first_n - 1 as last from (
      select first_n, lag(last_n, 1, cast(0 as bigint)) over (order by first_n) as after_n from journal_chunks where run_id = ${runId}
    ) as chunks where first_n > after_n + 1 order by first limit ${MAX_GAPS}`.execute(db);
  const end = await db
    .selectFrom("journal_chunks")
    .select("last_n")
    .where("run_id", "=", runId)
    .orderBy("first_n", "desc")
    .limit(1)
    .executeTakeFirst();
  const last = end?.last_n ?? 0;
  const ranges = rows.map((row) => ({ first: Number(row.first), last: Number(row.last) }));
  return last < total ? [...ranges, { first: last + 1, last: total }] : ranges;
}

interface Place {
  readonly first_n: number;
  readonly last_n: number;
  readonly raw_bytes: number;
}

async function damagedRanges(db: Db, runId: string): Promise<{ damaged: Range[]; unchecked: number | null }> {
  const damaged: Range[] = [];
  let edge = Number.MAX_SAFE_INTEGER;
  let bytes = 0;
  for (;;) {
    const places: readonly Place[] = await db
      .selectFrom("journal_chunks")
      .select(["first_n", "last_n", "raw_bytes"])
      .where("run_id", "=", runId)
      .where("first_n", "<", edge)
      .orderBy("first_n", "desc")
      .limit(PLAN_CHUNKS)
      .execute();
    for (const group of groupsOf(places)) {
      const whole = await wholeChunks(db, runId, group);
      for (const { first_n, last_n } of group) if (!whole.has(first_n)) damaged.push({ first: first_n, last: last_n });
      for (const size of whole.values()) bytes += size;
      edge = group.at(-1)?.first_n ?? edge;
      if (bytes >= CHECKED_BYTES && edge > 1) return { damaged, unchecked: edge };
    }
    if (places.length < PLAN_CHUNKS) return { damaged, unchecked: null };
  }
}

/** First numbers of those chunks that are as they were written, with the length of their bodies. */
async function wholeChunks(db: Db, runId: string, group: readonly Place[]): Promise<Map<number, number>> {
  try {
    return await readWhole(db, runId, group);
  } catch {
    // A damaged page of the database costs only the chunks that stand on it: they are then read one by one.
    const whole = new Map<number, number>();
    for (const place of group) {
      const one = await readWhole(db, runId, [place]).catch(() => new Map<number, number>());
      for (const [first, size] of one) whole.set(first, size);
    }
    return whole;
  }
}

async function readWhole(db: Db, runId: string, group: readonly Place[]): Promise<Map<number, number>> {
  const rows = await db
    .selectFrom("journal_chunks")
    .select(["first_n", "checksum", "body"])
    .where("run_id", "=", runId)
    .where(
      "first_n",
      "in",
      group.map((place) => place.first_n),
    )
    .execute();
  return new Map(rows.filter(isWhole).map((row) => [row.first_n, row.body.length]));
}

/** In order, neighbours joined. */
function merged(ranges: readonly Range[]): Range[] {
  const out: Range[] = [];
  for (const range of ranges.toSorted((a, b) => a.first - b.first)) {
    const last = out.at(-1);
    if (last !== undefined && range.first <= last.last + 1) last.last = Math.max(last.last, range.last);
    else out.push({ ...range });
  }
  return out;
}
