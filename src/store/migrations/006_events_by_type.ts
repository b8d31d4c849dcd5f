import { type QueryExecutorProvider, sql } from "kysely";

export const name = "006_events_by_type";

/** An explanation asks for the few events of some types: without their order it would walk all events of a long run. */
export async function up(db: QueryExecutorProvider): Promise<void> {
  await sql`create index events_by_type on events (run_id, type, seq)`.execute(db);
}
