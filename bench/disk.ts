import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NewJournalEntry } from "../src/run/event.ts";
import { openStore } from "../src/store/open.ts";
import type { Store } from "../src/store/store.ts";
import { AT, aNewRun, anEntry, anIteration } from "../test/support/records.ts";
import { type Measurement, measurement } from "./measurement.ts";

const ITERATIONS = 400;

/** Disk of a long run against the bytes that were said in it: nothing is stored twice, and the second half costs what the first did. */
export async function measure(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), "lk-bench-disk-"));
  const path = join(folder, "store.db");
  try {
    const store = await openStore({ url: null, path });
    const { run_id } = await store.createRun(aNewRun());
    const empty = await sizeOf(path);
    const half = ITERATIONS / 2;
    const firstSaid = await play(store, run_id, 1, half);
    const first = (await sizeOf(path)) - empty;
    const secondSaid = await play(store, run_id, half + 1, half);
    const second = (await sizeOf(path)) - empty - first;
    await store.close();
    return [
      measurement({
        name: `SQLite: disk of ${ITERATIONS} iterations`,
        value: first + second,
        floor: firstSaid + secondSaid,
        limit: 0.6,
        unit: "bytes",
        note: "floor: the journal's entries as plain JSON lines",
      }),
      measurement({
        name: "SQLite: disk of the second half of a run",
        value: second / secondSaid,
        floor: first / firstSaid,
        limit: 1.1,
        unit: "bytes per byte said",
        note: "floor: the first half; grows with neither",
      }),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Five flushes and one iteration's end, each time. Answers the bytes said. */
async function play(store: Store, run_id: string, from: number, count: number): Promise<number> {
  let said = 0;
  for (let ordinal = from; ordinal < from + count; ordinal += 1) {
    for (let flush = 0; flush < 5; flush += 1) {
      const entries = talk(ordinal, flush);
      said += entries.reduce((bytes, entry) => bytes + JSON.stringify(entry).length + 1, 0);
      await store.appendJournal({ run_id, fence: 0, at: AT, entries });
    }
    const events = [{ type: "iteration_finished", at: AT, data: { ordinal } }] as const;
    const iterations = [anIteration(ordinal, { finished: true, summary: `Iteration ${ordinal} changed the parser.` })];
    await store.apply({ run_id, at: AT, bump_revision: true, iterations, events, run: { iteration: ordinal } });
  }
  return said;
}

const WORDS =
  "the parser reads a token then checks its kind and returns an error when test fails because value was not set in file".split(
    " ",
  );

/** Text with the repetition of real work: words of one subject, file names, line numbers. */
function talk(ordinal: number, flush: number): NewJournalEntry[] {
  return Array.from({ length: 20 }, (_, index) => {
    const seed = ordinal * 131 + flush * 31 + index * 7;
    const words = Array.from({ length: 50 }, (_unused, place) => WORDS[(seed * (place + 3) + place * place) % WORDS.length]);
    return anEntry(`src/parse-${seed % 17}.ts:${seed % 400} ${words.join(" ")}`, { iteration: ordinal });
  });
}

/** Size of the store file after its log was folded into it. */
async function sizeOf(path: string): Promise<number> {
  const { default: Database } = await import("better-sqlite3");
  const database = new Database(path);
  database.pragma("wal_checkpoint(TRUNCATE)");
  database.close();
  return statSync(path).size;
}
