import { createHash } from "node:crypto";
import { Kysely, PostgresDialect, sql } from "kysely";
import type { Pool } from "pg";
import { sleep } from "../run/clock.ts";
import type { Backend, NewChunk } from "./backend.ts";
import { POSTGRES_TYPES } from "./migrations/column-types.ts";
import { explainPostgres, isRetryable } from "./postgres-errors.ts";
import type { Tables } from "./schema.ts";

/** Any fixed number: it keeps apart two processes that migrate one database. */
const MIGRATION_LOCK = 4_716_208_351;
const ATTEMPTS = 5;
/** Types that `pg` gives as text because they may not fit a number; ours are counts that do. */
const NUMBER_TYPES: ReadonlySet<number> = new Set([20, 1700]);

/** Opens a pool on the database of `url`. `pg` is loaded here, so that a start on SQLite does not wait for it. */
export async function openPostgres(url: string, onError: (error: unknown) => void): Promise<Backend> {
  const pg = await import("pg");
  const pool = new pg.default.Pool({
    connectionString: url,
    max: 10,
    application_name: "loopkeeper",
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    types: {
      getTypeParser: (type: number, format: "text" | "binary" = "text") =>
        NUMBER_TYPES.has(type) && format === "text" ? Number : pg.default.types.getTypeParser(type, format),
    },
  });
  // Without a listener the end of an idle connection (a restart of the server) would end this process.
  pool.on("error", onError);
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  return {
    kind: "postgres",
    db,
    types: POSTGRES_TYPES,
    write: (work) => retried(() => db.transaction().execute(work)),
    read: (work) => db.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(work),
    lockMigrations: async (trx) => {
      await sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`.execute(trx);
    },
    tableNames: async (on) => {
      const { rows } = await sql<{ name: string }>`
        select table_name as name from information_schema.tables where table_schema = current_schema()`.execute(on);
      return rows.map((row) => row.name);
    },
    clock: async (on) => {
      const { rows } = await sql<{ at: string }>`
        select to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at`.execute(on);
      return rows[0]?.at ?? "";
    },
    // What is running and what is over, of all transactions of the server that write: it stands still while nobody writes.
    stamp: async () => {
      const { rows } = await sql<{ at: string }>`select pg_current_snapshot()::text as at`.execute(db);
      return rows[0]?.at ?? "";
    },
    appendChunk: (runId, fence, chunk) => appendChunk(pool, runId, fence, chunk),
    explain: explainPostgres,
    close: () => db.destroy(),
  };
}

/** A transaction that the database ended to resolve a deadlock had no effect and may simply run again. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error) || attempt >= ATTEMPTS) throw error;
      await sleep(10 * attempt);
    }
  }
}

const APPEND = `with head as (
  update run_heads set journal_n = journal_n + $3::bigint, progress_at = $7 where run_id = $1 and fence = $2 returning journal_n
)
insert into journal_chunks (run_id, first_n, last_n, first_iteration, last_iteration, raw_bytes, at, codec, checksum, body)
select $1, journal_n - $3::bigint + 1, journal_n, $4, $5, $6, $7, $8, $9, $10 from head`;
const APPEND_NAME = `append_${createHash("sha256").update(APPEND).digest("hex").slice(0, 12)}`;

/** The hot path: one prepared statement is one round trip, one commit, one flush of the log. */
async function appendChunk(pool: Pool, runId: string, fence: number, chunk: NewChunk): Promise<boolean> {
  const { count, first_iteration, last_iteration, raw_bytes, at, codec, checksum, body } = chunk;
  const values = [runId, fence, count, first_iteration, last_iteration, raw_bytes, at, codec, checksum, body];
  const result = await pool.query({ name: APPEND_NAME, text: APPEND, values });
  return result.rowCount === 1;
}
