import { createHash } from "node:crypto";
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NewJournalEntry } from "../src/run/event.ts";
import { compress } from "../src/store/journal-chunk.ts";
import { openStore } from "../src/store/open.ts";
import type { Store } from "../src/store/store.ts";
import { newDatabase, stopServer } from "../test/support/postgres.ts";
import { AT, aFlush, aNewRun, anEvent, anIteration } from "../test/support/records.ts";
import { type Measurement, measurement, quantile, timed } from "./measurement.ts";

const SAMPLES = 300;
const FEW_ITERATIONS = 100;
const MANY_ITERATIONS = 5000;

/**
 * One flush of the engine's output (20 events, 8 KB) made durable, against the least that such a record needs: the same entries as
 * JSON, compressed, hashed, appended and fdatasync'ed. A disk whose fdatasync costs little would else make a floor of nothing.
 */
export async function measure(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), "lk-bench-record-"));
  const home = mkdtempSync(join(tmpdir(), "lk-pg-"));
  try {
    const sqlite = await measureStore("SQLite", folder, null, 2.2);
    const postgres = await measureStore("Postgres", folder, await newDatabase(home, "on"), 2.6);
    return [...sqlite, ...postgres];
  } finally {
    stopServer(home);
    rmSync(home, { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureStore(name: string, folder: string, url: string | null, limit: number): Promise<Measurement[]> {
  const store = await openStore({ url, path: join(folder, "store.db") });
  try {
    const { run_id } = await store.createRun(aNewRun());
    await addIterations(store, run_id, 1, FEW_ITERATIONS);
    // Compiled code and the store's first pages: a worker is long past that when it counts.
    await alternate(store, run_id, folder);
    const early = await alternate(store, run_id, folder);
    for (let first = FEW_ITERATIONS + 1; first <= MANY_ITERATIONS; first += 200) await addIterations(store, run_id, first, 200);
    const late = await alternate(store, run_id, folder);
    return [
      measurement({
        name: `${name}: record 20 events (8 KB) durably, at iteration ${FEW_ITERATIONS}`,
        value: early.store,
        floor: early.floor,
        limit,
        unit: "ms",
        note: "median; floor: the same entries as JSON, compressed, hashed, appended, fdatasync",
      }),
      measurement({
        name: `${name}: the same at iteration ${MANY_ITERATIONS}`,
        value: late.store,
        floor: late.floor,
        limit,
        unit: "ms",
        note: "must not grow with the run's length; both after 300 flushes of warm-up",
      }),
    ];
  } finally {
    await store.close();
  }
}

/** Store and floor take turns, so that both meet the same moments of a shared disk. */
async function alternate(
  store: Store,
  run_id: string,
  folder: string,
): Promise<{ readonly store: number; readonly floor: number }> {
  const file = openSync(join(folder, "floor"), "a");
  const stores: number[] = [];
  const floors: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const entries: readonly NewJournalEntry[] = aFlush();
    stores.push(await timed(() => store.appendJournal({ run_id, fence: 0, at: AT, entries })));
    floors.push(
      await timed(() => {
        const { body } = compress(Buffer.from(entries.map((entry) => JSON.stringify(entry)).join("\n")));
        createHash("sha256").update(body).digest("hex");
        writeSync(file, body);
        fdatasyncSync(file);
      }),
    );
  }
  closeSync(file);
  return { store: quantile(stores.slice(20), 0.5), floor: quantile(floors.slice(20), 0.5) };
}

async function addIterations(store: Store, run_id: string, first: number, count: number): Promise<void> {
  const iterations = Array.from({ length: count }, (_, index) =>
    anIteration(first + index, { finished: true, summary: "Did it." }),
  );
  await store.apply({ run_id, at: AT, bump_revision: true, events: [anEvent()], iterations });
}
