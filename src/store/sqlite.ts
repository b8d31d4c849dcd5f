import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
  sql,
  type TransactionSettings,
} from "kysely";
import { now, sleep } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import type { Backend, NewChunk } from "./backend.ts";
import { takeTurn } from "./file-turns.ts";
import { refuseUnknownFile } from "./migrate.ts";
import { SQLITE_TYPES } from "./migrations/column-types.ts";
import type { Tables } from "./schema.ts";
import { explainSqlite, isBusy } from "./sqlite-errors.ts";

const BUSY_TIMEOUT_MS = 10_000;
const STATEMENT_CACHE = 256;

/** Opens (or creates) the store file. Nothing of an existing file is changed before it is known to be ours and not newer. */
export async function openSqlite(path: string): Promise<Backend> {
  const database = await withExplained(path, () => openDatabase(path));
  const file = identityOf(path);
  const db = new Kysely<Tables>({ dialect: dialectOf(database, file) });
  const append = appender(database);
  const stamp = stamper(database);
  return {
    kind: "sqlite",
    db,
    types: SQLITE_TYPES,
    write: (work) => db.transaction().execute(work),
    read: (work) => db.transaction().setAccessMode("read only").execute(work),
    // A writing transaction holds SQLite's one write lock already.
    lockMigrations: async () => {},
    tableNames: async (on) => {
      const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(on);
      return rows.map((row) => row.name);
    },
    clock: async () => now(),
    stamp: async () => stamp(),
    appendChunk: async (runId, fence, chunk) => {
      const endTurn = await takeTurn(file);
      try {
        return append(runId, fence, chunk);
      } finally {
        endTurn();
      }
    },
    explain: (error) => explainSqlite(error, path),
    close: () => db.destroy(),
  };
}

async function withExplained<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explainSqlite(error, path);
  }
}

async function openDatabase(path: string): Promise<Database.Database> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  refuseUnknownFile(path);
  // Made by us first: SQLite gives its -wal and -shm files the mode of the store file.
  closeSync(openSync(path, "a", 0o600));
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  const database = new Database(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    await enterWal(database);
    database.pragma("synchronous = FULL");
    database.pragma("foreign_keys = ON");
    requireDurable(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The switch to WAL does not wait for other processes by itself: two that open a new store at once would fail. */
async function enterWal(database: Database.Database): Promise<void> {
  for (let waited = 0; ; waited += 20) {
    try {
      database.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if (!isBusy(error) || waited >= BUSY_TIMEOUT_MS) throw error;
      await sleep(20);
    }
  }
}

/** Read back, because a build of SQLite may default to NORMAL in WAL mode, which loses acknowledged writes at a power cut. */
function requireDurable(database: Database.Database): void {
  const synchronous = database.pragma("synchronous", { simple: true });
  const journal = database.pragma("journal_mode", { simple: true });
  if (synchronous === 2 && journal === "wal") return;
  throw new LoopkeeperError(
    "store_unavailable",
    `The store file cannot be written durably here (journal mode ${String(journal)}, synchronous ${String(synchronous)}). Put the store on a local disk: set LOOPKEEPER_HOME to a folder there.`,
  );
}

/** The same for every path that leads to the file. */
function identityOf(path: string): string {
  const { dev, ino } = statSync(path);
  return `${dev}:${ino}`;
}

function dialectOf(database: Database.Database, file: string): Dialect {
  const prepare = statementCache(database);
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new ImmediateDriver({ prepare, close: () => database.close() }, file),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

/** Takes the write lock at once: a transaction that reads first and writes later can fail half-way when another process wrote. */
class ImmediateDriver extends SqliteDriver {
  readonly #file: string;
  #endTurn: () => void = () => {};

  constructor(database: SqliteDatabase, file: string) {
    super({ database });
    this.#file = file;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    this.#endTurn = await takeTurn(this.#file);
    return super.acquireConnection();
  }

  override async releaseConnection(): Promise<void> {
    this.#endTurn();
  }

  override async beginTransaction(connection: DatabaseConnection, settings?: TransactionSettings): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(settings?.accessMode === "read only" ? "begin" : "begin immediate"));
  }
}

function statementCache(database: Database.Database): (text: string) => SqliteStatement {
  const cache = new Map<string, SqliteStatement>();
  return (text) => {
    const known = cache.get(text);
    if (known) return known;
    const statement: SqliteStatement = database.prepare(text);
    if (cache.size >= STATEMENT_CACHE) cache.clear();
    cache.set(text, statement);
    return statement;
  };
}

/** The first number moves with every commit of another connection, the second with every change by this one. */
function stamper(database: Database.Database): () => string {
  const own = database.prepare<[], number>("select total_changes()").pluck();
  return () => `${String(database.pragma("data_version", { simple: true }))}.${own.get() ?? 0}`;
}

type Append = (runId: string, fence: number, chunk: NewChunk) => boolean;

/** The hot path: two prepared statements in one transaction, made at the first use because the tables come with the migrations. */
function appender(database: Database.Database): Append {
  let ready: Append | null = null;
  return (runId, fence, chunk) => {
    ready ??= prepareAppend(database);
    return ready(runId, fence, chunk);
  };
}

function prepareAppend(database: Database.Database): Append {
  const move = database.prepare<[number, string, string, number], number>(
    "update run_heads set journal_n = journal_n + ?, progress_at = ? where run_id = ? and fence = ? returning journal_n",
  );
  move.pluck();
  const insert = database.prepare(
    "insert into journal_chunks (run_id, first_n, last_n, first_iteration, last_iteration, raw_bytes, at, codec, checksum, body)" +
      " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const append = database.transaction((runId: string, fence: number, chunk: NewChunk): boolean => {
    const lastN = move.get(chunk.count, chunk.at, runId, fence);
    if (lastN === undefined) return false;
    const { first_iteration, last_iteration, raw_bytes, at, codec, checksum, body } = chunk;
    const firstN = lastN - chunk.count + 1;
    insert.run(runId, firstN, lastN, first_iteration, last_iteration, raw_bytes, at, codec, checksum, body);
    return true;
  });
  return append.immediate;
}
