import type { z } from "zod";
import { LoopkeeperError } from "../run/errors.ts";
import type { Backend } from "./backend.ts";
import { differences } from "./differences.ts";
import { jsonColumn, readRow } from "./json.ts";
import { changeSchema, emptyProjection, type Loose, type Projection, project, type RunRows } from "./projection.ts";
import { findRun } from "./read-run.ts";
import {
  readActs,
  readAttempts,
  readCheckpoints,
  readGrants,
  readInstructions,
  readIterations,
  readSteps,
  readVerify,
} from "./reads.ts";
import {
  actSchema,
  attemptSchema,
  checkpointRecord,
  grantSchema,
  instructionSchema,
  iterationRecord,
  stepRecord,
  verifySchema,
} from "./rows.ts";
import { runRecord } from "./run-row.ts";
import type { Db } from "./schema.ts";
import type { Replay } from "./store.ts";

/** Events in memory at one time. */
const PAGE = 500;
const changeText = jsonColumn(changeSchema);

export async function replayRun(backend: Backend, runId: string): Promise<Replay | null> {
  return backend.read(async (trx) => {
    const stored = await readRows(trx, runId);
    if (stored === null) return null;
    const rows = rowsOf(await foldEvents(trx, runId), runId);
    return { rows, differences: differences(stored, rows) };
  });
}

/** All rows of a run that its events tell. */
export async function readRows(db: Db, runId: string): Promise<RunRows | null> {
  const run = await findRun(db, runId);
  if (run === null) return null;
  const { fence, alive_at, progress_at, ...state } = run;
  return {
    run: state,
    steps: await readSteps({ db }, runId),
    attempts: await readAttempts({ db }, runId),
    iterations: await readIterations({ db }, runId, Number.MAX_SAFE_INTEGER),
    acts: await readActs({ db }, runId, Number.MAX_SAFE_INTEGER),
    grants: await readGrants({ db }, runId),
    checkpoints: await readCheckpoints({ db }, runId, Number.MAX_SAFE_INTEGER),
    verify: await readVerify({ db }, runId),
    instructions: await readInstructions({ db }, runId, "all"),
  };
}

async function foldEvents(db: Db, runId: string): Promise<Projection> {
  let rows = emptyProjection();
  for (let last = 0; ; ) {
    const page = await db
      .selectFrom("events")
      .select(["seq", "change"])
      .where("run_id", "=", runId)
      .where("seq", ">", last)
      .orderBy("seq")
      .limit(PAGE)
      .execute();
    for (const { seq, change } of page) {
      last = seq;
      if (change !== null) rows = project(rows, changeFrom(change, seq, runId));
    }
    if (page.length < PAGE) return rows;
  }
}

function changeFrom(text: string, seq: number, runId: string): z.output<typeof changeSchema> {
  const parsed = changeText.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new LoopkeeperError(
    "store_unavailable",
    `What event ${seq} of run ${runId} changed is damaged in the store, so its events cannot be replayed. Its rows are not affected.`,
  );
}

/** The folded records, in the order in which the readers give them. */
export function rowsOf(rows: Projection, runId: string): RunRows {
  if (rows.run === null)
    throw new LoopkeeperError(
      "store_unavailable",
      `The events of run ${runId} do not tell how it began. Its rows are not affected.`,
    );
  return {
    run: record(runRecord, "runs", rows.run),
    steps: records(stepRecord, "steps", rows.steps).sort((a, b) => a.position - b.position),
    attempts: records(attemptSchema, "attempts", rows.attempts).sort(
      (a, b) => byBytes(a.opened_at, b.opened_at) || byBytes(a.step, b.step) || a.attempt - b.attempt,
    ),
    iterations: records(iterationRecord, "iterations", rows.iterations).sort((a, b) => b.ordinal - a.ordinal),
    acts: rows.acts.map((act) => record(actSchema, "acts", act)),
    grants: rows.grants.map((grant) => record(grantSchema, "grants", grant)),
    checkpoints: records(checkpointRecord, "checkpoints", rows.checkpoints).reverse(),
    verify: records(verifySchema, "verify_results", rows.verify),
    instructions: records(instructionSchema, "instructions", rows.instructions),
  };
}

function records<S extends z.ZodObject>(schema: S, table: string, from: ReadonlyMap<unknown, Loose>): z.output<S>[] {
  return [...from.values()].map((one) => record(schema, table, one));
}

/**
 * By the parser that reads the row. A member that the version which wrote the event did not know is what its column is in
 * rows of that version: null, or what the parser says.
 */
function record<S extends z.ZodObject>(schema: S, table: string, from: Loose): z.output<S> {
  const missing = Object.entries(schema.shape).filter(
    ([member, field]) => !(member in from) && !field.safeParse(undefined).success,
  );
  return readRow(schema, `events (${table})`, { ...Object.fromEntries(missing.map(([member]) => [member, null])), ...from });
}

/** As both databases order texts. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
