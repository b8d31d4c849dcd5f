import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { z } from "zod";
import { explain, loadStop } from "../src/resume/explain.ts";
import { resumeNeeds } from "../src/resume/gate.ts";
import { handoffNote } from "../src/resume/note.ts";
import { LoopkeeperError } from "../src/run/errors.ts";
import type { IterationRecord, RunRecord } from "../src/run/run.ts";
import { openStore } from "../src/store/open.ts";
import type { Store } from "../src/store/store.ts";
import { aFlush, aNewRun, anEvent, anIteration, aRun, aStop } from "../test/support/records.ts";
import { type Measurement, measurement, quantile, timed } from "./measurement.ts";

const SHORT = 100;
const LONG = 5_000;
const ROUNDS = 40;

/**
 * Explaining a run of 5,000 iterations against one of 100; git is left out, it sees the same repository in both. The check of the
 * record for damage grows with the record, so it is measured by itself, against the least that a look at all of its bytes takes.
 */
export async function measure(): Promise<readonly Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), "lk-bench-"));
  const store = await openStore({ url: null, path: join(folder, "store.db") });
  const short = await stoppedRun(store, SHORT);
  const long = await stoppedRun(store, LONG);
  const explained = await inTurn(
    () => account(store, short),
    () => account(store, long),
  );
  const readied = await inTurn(
    () => ready(store, short),
    () => ready(store, long),
  );
  const checked = await inTurn(
    () => everyByte(folder, long),
    () => store.journalHealth(long.run_id),
  );
  await store.close();
  rmSync(folder, { recursive: true, force: true });
  const note = `median of ${ROUNDS}, against the same at ${SHORT} iterations`;
  return [
    measurement({
      name: `explain at ${LONG} iterations`,
      value: explained.long,
      floor: explained.short,
      limit: 1.3,
      unit: "ms",
      note,
    }),
    measurement({
      name: `ready to resume at ${LONG} iterations`,
      value: readied.long,
      floor: readied.short,
      limit: 1.3,
      unit: "ms",
      note,
    }),
    measurement({
      name: `check of the record for damage at ${LONG} iterations`,
      value: checked.long,
      floor: checked.short,
      limit: 4,
      unit: "ms",
      note: `median of ${ROUNDS}; floor: every body read by one statement and hashed. Part of each explanation`,
    }),
  ];
}

/** All bodies of the run's record, read and hashed. */
async function everyByte(folder: string, run: RunRecord): Promise<void> {
  const database = new Database(join(folder, "store.db"), { readonly: true });
  const rows = database.prepare("select body from journal_chunks where run_id = ?").iterate(run.run_id);
  for (const row of rows) createHash("sha256").update(bodySchema.parse(row).body).digest("hex");
  database.close();
}

const bodySchema = z.object({ body: z.instanceof(Uint8Array) });

/** Medians of both, measured in turn so that they meet the same moments of the machine. */
async function inTurn(
  short: () => Promise<unknown>,
  long: () => Promise<unknown>,
): Promise<{ readonly short: number; readonly long: number }> {
  const shorts: number[] = [];
  const longs: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    shorts.push(await timed(short));
    longs.push(await timed(long));
  }
  return { short: quantile(shorts, 0.5), long: quantile(longs, 0.5) };
}

/** What is read and written down before a run is reopened: gate, note, attempts; git is left out here too. */
async function ready(store: Store, run: RunRecord): Promise<unknown> {
  if (run.stop === null) throw new Error("the run has no stop");
  const id = run.run_id;
  const [steps, undelivered, attempts, acts, iterations] = await Promise.all([
    store.steps(id),
    store.instructions(id, "undelivered"),
    store.attempts(id),
    store.acts(id, 50),
    store.iterations(id, 1),
  ]);
  const needs = resumeNeeds({ run, steps, attempts, undelivered }, "stop");
  const note = handoffNote(
    { run, stop: run.stop, steps, acts, drift: null, unfinished: iterations[0]?.finished === false },
    "measured",
  );
  return { needs, note, attempts };
}

async function account(store: Store, run: RunRecord): Promise<unknown> {
  if (run.stop === null) throw new Error("the run has no stop");
  const nowhere = {
    discover: () => Promise.reject(new LoopkeeperError("repository_problem", "not looked at here")),
    presentOf: () => Promise.resolve(new Set<string>()),
    drift: () => Promise.reject(new Error("there is no checkpoint to compare with")),
  };
  const unchecked = Object.assign(Object.create(store), {
    journalHealth: async () => ({ total: 1, gaps: [], unchecked_below: null }),
  });
  return explain(
    await loadStop(
      { store: unchecked, checkpoints: nowhere, here: { host: "bench", sessionHere: async () => true } },
      run,
      run.stop,
      {
        remote: false,
      },
    ),
  );
}

async function stoppedRun(store: Store, iterations: number): Promise<RunRecord> {
  const created = await store.createRun(aNewRun({ ...aRun(), run_id: `run_bench${iterations}`, state: "queued", fence: 0 }));
  const claimed = await store.claimQueued("bench", { host: "bench", boot_id: "bench", pid: process.pid, start_time: "0" });
  if (claimed === null) throw new Error("the run was not claimed");
  const { fence } = claimed;
  for (let number = 1; number <= iterations; number += 1) {
    const row: IterationRecord = { ...anIteration(number), number };
    await store.appendJournal({ run_id: created.run_id, fence, at: created.created_at, entries: aFlush(number) });
    await store.apply({
      run_id: created.run_id,
      at: created.created_at,
      fence,
      bump_revision: true,
      run: { iteration: number },
      iterations: [row],
      events: [{ type: "iteration_finished", at: created.created_at, data: { iteration: number } }],
    });
  }
  return store.apply({
    run_id: created.run_id,
    at: created.created_at,
    fence,
    bump_revision: true,
    events: [anEvent()],
    run: { state: "stopped", stop_reason: "max_iterations", stop: aStop(), stopped_at: created.created_at },
    tree_hold: null,
  });
}
