import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, inject } from "vitest";
import { type OpenOptions, openStore } from "../../src/store/open.ts";
import type { Store } from "../../src/store/store.ts";
import { newDatabase } from "./postgres.ts";
import { Replays } from "./replays.ts";

export { rawSql } from "./raw-sql.ts";

/** Every test of the store runs on each of these. */
export const backends = ["sqlite", "postgres"] as const;
export type BackendName = (typeof backends)[number];

export interface StorePlace {
  readonly options: OpenOptions;
  /** Another handle on the same store, with its own connections. */
  open(): Promise<Store>;
  /** Says which runs the test damages. */
  readonly replays: Replays;
}

/** A new, empty store of the calling test file; its handles are closed and its files removed after the file's tests. */
export async function newStorePlace(backend: BackendName, onError: (error: unknown) => void = () => {}): Promise<StorePlace> {
  const folder = mkdtempSync(join(tmpdir(), "lk-store-"));
  const url = backend === "postgres" ? await newDatabase(inject("postgresHome")) : null;
  const options = { url, path: join(folder, "home", "store.db"), onError };
  const opened: Store[] = [];
  const replays = new Replays();
  cleanups.push(async () => {
    await Promise.all(opened.map((store) => store.close()));
    try {
      await replays.check();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
  return {
    options,
    replays,
    open: async () => {
      const store = await openStore(options);
      opened.push(store);
      replays.watch(options);
      return store;
    },
  };
}

/** A new, empty store, for tests that need one handle. */
export async function newStore(backend: BackendName): Promise<Store> {
  return (await newStorePlace(backend)).open();
}

const cleanups: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});
