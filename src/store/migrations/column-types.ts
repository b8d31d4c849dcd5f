import { type RawBuilder, sql } from "kysely";

/** What differs between the two databases in a table's definition. */
export interface ColumnTypes {
  readonly text: RawBuilder<unknown>;
  readonly int: RawBuilder<unknown>;
  readonly real: RawBuilder<unknown>;
  readonly bytes: RawBuilder<unknown>;
  /** What follows the closing bracket of a table. */
  readonly table: RawBuilder<unknown>;
  readonly chunkTable: RawBuilder<unknown>;
  readonly headTable: RawBuilder<unknown>;
  /** Keeps other processes from writing runs until the migration is done. */
  readonly hold: (table: string) => RawBuilder<unknown>;
}

export const SQLITE_TYPES: ColumnTypes = {
  text: sql`text`,
  int: sql`integer`,
  real: sql`real`,
  bytes: sql`blob`,
  // STRICT: a value of a wrong type is refused when it is written, not met when it is read.
  table: sql` strict`,
  chunkTable: sql` strict`,
  headTable: sql` strict`,
  // A writing transaction holds SQLite's one write lock already.
  hold: () => sql`select 1`,
};

export const POSTGRES_TYPES: ColumnTypes = {
  // Byte order, whatever the server's locale: instants and id prefixes are compared as text.
  text: sql`text collate "C"`,
  int: sql`bigint`,
  real: sql`double precision`,
  bytes: sql`bytea`,
  table: sql``,
  // Chunks of a usual size stay in the row; bodies are compressed already.
  chunkTable: sql` with (toast_tuple_target = 8160)`,
  // Room in each page for the next versions of its rows: an update then needs no index entry.
  headTable: sql` with (fillfactor = 50)`,
  hold: (table) => sql`lock table ${sql.table(table)} in exclusive mode`,
};
