import { z } from "zod";
import { isoOf, msOf } from "../run/clock.ts";
import type { RunRecord } from "../run/run.ts";
import type { Backend } from "./backend.ts";
import { jsonColumn, readRow } from "./json.ts";
import { selectRuns, toReadableRuns } from "./read-run.ts";
import type { RetentionNotes, RetentionTry } from "./retention-notes.ts";

export async function readHeld(
  { db }: Backend,
  { stopped_before, after, limit }: Parameters<RetentionNotes["held"]>[0],
  onError: (error: unknown) => void,
): Promise<RunRecord[]> {
  let query = selectRuns(db)
    .where("stopped_at", "is not", null)
    .where("reclaimed_at", "is", null)
    .where("state", "in", ["stopped", "done"])
    .orderBy("stopped_at")
    .orderBy("runs.run_id")
    .limit(limit);
  if (stopped_before !== null) query = query.where("stopped_at", "<=", stopped_before);
  if (after !== null)
    query = query.where((of) =>
      of.or([
        of("stopped_at", ">", after.stopped_at),
        of.and([of("stopped_at", "=", after.stopped_at), of("runs.run_id", ">", after.run_id)]),
      ]),
    );
  return toReadableRuns(await query.execute(), onError);
}

const trySchema = z.object({
  at: z.string(),
  standing: z.string(),
  kept: jsonColumn(z.array(z.string())),
  bytes: z.number(),
});

export async function readTry({ db }: Backend, runId: string): Promise<RetentionTry | null> {
  const row = await db.selectFrom("retention_tries").selectAll().where("run_id", "=", runId).executeTakeFirst();
  return row === undefined ? null : readRow(trySchema, "retention_tries", row);
}

export async function noteTry({ db }: Backend, runId: string, tried: RetentionTry | null): Promise<void> {
  if (tried === null) {
    await db.deleteFrom("retention_tries").where("run_id", "=", runId).execute();
    return;
  }
  const row = { run_id: runId, ...tried, kept: JSON.stringify(tried.kept) };
  await db
    .insertInto("retention_tries")
    .values(row)
    .onConflict((conflict) => conflict.column("run_id").doUpdateSet(row))
    .execute();
}

export async function readLastPass({ db }: Backend, host: string): Promise<string | null> {
  const row = await db.selectFrom("retention_passes").select("at").where("host", "=", host).executeTakeFirst();
  return row?.at ?? null;
}

export async function beginPass(backend: Backend, host: string, everyMs: number): Promise<boolean> {
  return backend.write(async (trx) => {
    const at = await backend.clock(trx);
    const due = isoOf(msOf(at) - everyMs);
    const begun = await trx
      .insertInto("retention_passes")
      .values({ host, at })
      // A pass in the future is of a clock that was set back: it must not keep the policy from working for years.
      .onConflict((conflict) =>
        conflict
          .column("host")
          .doUpdateSet({ at })
          .where((of) => of.or([of("retention_passes.at", "<=", due), of("retention_passes.at", ">", at)])),
      )
      .executeTakeFirst();
    return begun.numInsertedOrUpdatedRows === 1n;
  });
}

/** Bytes as they are stored, compressed. Lengths are read without reading the bodies. */
export async function readRunBytes(
  { db, kind }: Backend,
  runId: string,
): Promise<{ readonly record: number; readonly copies: number }> {
  const length = kind === "postgres" ? "octet_length" : "length";
  const chunks = await db
    .selectFrom("journal_chunks")
    .select((of) => of.cast<number>(of.fn.sum(of.fn<number>(length, ["body"])), "bigint").as("bytes"))
    .where("run_id", "=", runId)
    .executeTakeFirst();
  const parts = await db
    .selectFrom("artifacts")
    .select((of) => of.cast<number>(of.fn.sum(of.fn<number>(length, ["body"])), "bigint").as("bytes"))
    .where((of) =>
      of.exists(
        of
          .selectFrom("run_artifacts")
          .select("artifact_id")
          .whereRef("artifact_id", "=", "artifacts.id")
          .where("run_id", "=", runId),
      ),
    )
    .executeTakeFirst();
  return { record: chunks?.bytes ?? 0, copies: parts?.bytes ?? 0 };
}
