import { statSync } from "node:fs";
import Database from "better-sqlite3";
import { now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import type { Backend } from "./backend.ts";
import * as initial from "./migrations/001_initial.ts";
import * as iterationRevision from "./migrations/003_iteration_revision.ts";
import * as eventChanges from "./migrations/004_event_changes.ts";
import * as retention from "./migrations/005_retention.ts";
import * as eventsByType from "./migrations/006_events_by_type.ts";
import type { Db } from "./schema.ts";

/** In order; a number is a place in this list, from 1. Nothing here is ever removed, reordered or edited. */
const MIGRATIONS = [initial, iterationRevision, retention, eventChanges, eventsByType] as const;
const NEWEST = MIGRATIONS.length;

/** Brings the store to this version. Safe when several processes start at once: one migrates, the others find it done. */
export async function migrate(backend: Backend): Promise<void> {
  if ((await versionOf(backend, backend.db)) === NEWEST) return;
  await backend.write(async (trx) => {
    await backend.lockMigrations(trx);
    const version = await versionOf(backend, trx);
    if (version === 0) {
      await trx.schema
        .createTable("loopkeeper_migrations")
        .addColumn("number", "integer", (column) => column.primaryKey())
        .addColumn("name", "text", (column) => column.notNull())
        .addColumn("applied_at", "text", (column) => column.notNull())
        .execute();
    }
    for (const [index, migration] of MIGRATIONS.entries()) {
      if (index < version) continue;
      await migration.up(trx, backend.types);
      await trx
        .insertInto("loopkeeper_migrations")
        .values({ number: index + 1, name: migration.name, applied_at: now() })
        .execute();
    }
  });
}

/** Number of migrations that the store has had; 0 for an empty database. Refuses a newer store and a database of something else. */
async function versionOf(backend: Backend, db: Db): Promise<number> {
  const tables = await backend.tableNames(db);
  if (!tables.includes("loopkeeper_migrations")) {
    if (tables.includes("runs")) throw foreign();
    return 0;
  }
  const rows = await db.selectFrom("loopkeeper_migrations").select("number").execute();
  const version = Math.max(0, ...rows.map((row) => row.number));
  if (version > NEWEST) throw newer(version);
  return version;
}

/**
 * Looks at an existing file without writing a byte to it, and throws when it is another program's or made by a newer version.
 * Opening it for use changes it: the journal mode, a checkpoint of its log.
 */
export function refuseUnknownFile(path: string): void {
  if (!hasBytes(path)) return;
  const database = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const tables = database.prepare<[], string>("select name from sqlite_master where type = 'table'").pluck().all();
    if (!tables.includes("loopkeeper_migrations")) {
      if (tables.length > 0) throw foreign();
      return;
    }
    const version = database.prepare<[], number | null>("select max(number) from loopkeeper_migrations").pluck().get() ?? 0;
    if (version > NEWEST) throw newer(version);
  } finally {
    database.close();
  }
}

function hasBytes(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && (!stats.isFile() || stats.size > 0);
}

function newer(version: number): LoopkeeperError {
  return new LoopkeeperError(
    "store_unavailable",
    `The store was made by a newer version of Loopkeeper (schema ${version}; this version knows ${NEWEST}). Nothing was changed. Install that version or a later one.`,
  );
}

function foreign(): LoopkeeperError {
  return new LoopkeeperError(
    "store_unavailable",
    "The database holds tables of another program and is not a Loopkeeper store. Nothing was changed. Name another file or database.",
  );
}
