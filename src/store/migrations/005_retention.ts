import { type QueryExecutorProvider, sql } from "kysely";
import type { ColumnTypes } from "./column-types.ts";

export const name = "005_retention";

/** What a retention policy remembers: finished runs in the order of their stops, and those that something kept. */
export async function up(db: QueryExecutorProvider, { text, int, table }: ColumnTypes): Promise<void> {
  await sql`create index runs_held on runs (stopped_at, run_id) where reclaimed_at is null and stopped_at is not null`.execute(
    db,
  );
  await sql`create table retention_tries (
    run_id ${text} primary key references runs (run_id), at ${text} not null, standing ${text} not null, kept ${text} not null,
    bytes ${int} not null
  )${table}`.execute(db);
  await sql`create table retention_passes (host ${text} primary key, at ${text} not null)${table}`.execute(db);
}
