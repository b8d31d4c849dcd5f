import { type QueryExecutorProvider, sql } from "kysely";
import type { ColumnTypes } from "./column-types.ts";

export const name = "003_iteration_revision";

/** Which revision an iteration's end made: who waits from a revision on is told whether one has ended since. */
export async function up(db: QueryExecutorProvider, { int }: ColumnTypes): Promise<void> {
  await sql`alter table iterations add column revision ${int}`.execute(db);
}
