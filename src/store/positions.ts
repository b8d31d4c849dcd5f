import { epochMs, isoOf, now } from "../run/clock.ts";
import type { Trx } from "./backend.ts";
import { CURSOR_LIFE_MS } from "./cursor.ts";

const PRUNE_EVERY = 200;

/** The next place in the order of changes. Taken last in a transaction: on Postgres it makes others wait until the commit. */
export async function nextPosition(trx: Trx): Promise<number> {
  const row = await trx
    .updateTable("counters")
    .set((counter) => ({ value: counter("value", "+", 1) }))
    .where("name", "=", "position")
    .returning("value")
    .executeTakeFirstOrThrow();
  return row.value;
}

/** Remembers where the run stood, so that a list begun before this change still shows it there. */
export async function recordMove(trx: Trx, runId: string, from: number, to: number): Promise<void> {
  await trx.insertInto("run_moves").values({ position: to, run_id: runId, from_position: from, at: now() }).execute();
  if (to % PRUNE_EVERY !== 0) return;
  await trx
    .deleteFrom("run_moves")
    .where("at", "<", isoOf(epochMs() - 2 * CURSOR_LIFE_MS))
    .execute();
}
