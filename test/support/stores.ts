import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import pg from "pg";
import { afterAll, inject } from "vitest";
import { type OpenOptions, openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { newDatabase } from "./postgres.ts";

/** Every test of the store runs on each of these. */
export const backends = ["sqlite", "postgres"] as const;
export type BackendName = (typeof backends)[number];

export interface StorePlace {
  readonly options: OpenOptions;
  /** Another handle on the same store, with its own connections. */
  open(): Promise<Store>;
}

/** A new, empty store of the calling test file; its handles are closed and its files removed after the file's tests. */
export async function newStorePlace(backend: BackendName, onError: (error: unknown) => void = () => {}): Promise<StorePlace> {
  const folder = mkdtempSync(join(tmpdir(), "lk-store-"));
  const url = backend === "postgres" ? await newDatabase(inject("postgresHome")) : null;
  const options = { url, path: join(folder, "home", "store.db"), onError };
  const opened: Store[] = [];
  cleanups.push(async () => {
    await Promise.all(opened.map((store) => store.close()));
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    options,
    open: async () => {
      const store = await openStore(options);
      opened.push(store);
      return store;
    },
  };
}

/** A new, empty store, for tests that need one handle. */
export async function newStore(backend: BackendName): Promise<Store> {
  return (await newStorePlace(backend)).open();
}

/** One statement behind the store's back: to do damage, and to look at what is kept. */
export async function rawSql({ options }: StorePlace, text: string): Promise<unknown[]> {
  if (options.url === null) return rawSqlite(options.path, text);
  const client = new pg.Client({ connectionString: options.url });
  await client.connect();
  try {
    const { rows } = await client.query(text);
    return rows;
  } finally {
    await client.end();
  }
}

function rawSqlite(path: string, text: string): unknown[] {
  const database = new Database(path);
  try {
    const statement = database.prepare(text);
    if (statement.reader) return statement.all();
    statement.run();
    return [];
  } finally {
    database.close();
  }
}

const cleanups: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});
