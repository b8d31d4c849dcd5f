import type { Transaction } from "kysely";
import type { ColumnTypes } from "./migrations/column-types.ts";
import type { Db, JournalChunksTable, Tables } from "./schema.ts";

export type Trx = Transaction<Tables>;

/** A chunk before it has its place in the journal. */
export type NewChunk = Omit<JournalChunksTable, "run_id" | "first_n" | "last_n"> & { readonly count: number };

/** What differs between the two databases; everything else is the same Kysely queries for both. */
export interface Backend {
  readonly kind: "sqlite" | "postgres";
  readonly db: Db;
  readonly types: ColumnTypes;
  /** One writing transaction. Several processes' ones exclude each other where they touch the same run. */
  write<T>(work: (trx: Trx) => Promise<T>): Promise<T>;
  /** One reading transaction: all its queries see the same moment. */
  read<T>(work: (trx: Trx) => Promise<T>): Promise<T>;
  /** Makes migrations exclude each other, inside a writing transaction. */
  lockMigrations(trx: Trx): Promise<void>;
  /** Names of the tables that exist. */
  tableNames(db: Db): Promise<readonly string[]>;
  /** The store's clock as ISO text, for schedules: this host's, or the database's for several hosts. */
  clock(db: Db): Promise<string>;
  /** See `Store.stamp`. */
  stamp(): Promise<string>;
  /** Appends one chunk and moves the head if the fence is the run's: one commit. False when it is not. */
  appendChunk(runId: string, fence: number, chunk: NewChunk): Promise<boolean>;
  /** The caller-facing error of whatever a query threw; never with a driver's own text in its message. */
  explain(error: unknown): unknown;
  close(): Promise<void>;
}

/** The driver's code for "a row with this key exists already", in either database. */
export function isUniqueViolation(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return error.code === "23505" || error.code === "SQLITE_CONSTRAINT_UNIQUE" || error.code === "SQLITE_CONSTRAINT_PRIMARYKEY";
}
