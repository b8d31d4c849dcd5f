import type { Act } from "../run/act.ts";
import { RUN_EVENT_TYPES, type RunEventRecord, type RunEventType } from "../run/event.ts";
import type { Grant } from "../run/grant.ts";
import type {
  AttemptRecord,
  CheckpointRecord,
  InstructionRecord,
  IterationRecord,
  StepRecord,
  VerifyRecord,
} from "../run/run.ts";
import type { Backend } from "./backend.ts";
import { readRow, readRows } from "./json.ts";
import {
  actSchema,
  attemptSchema,
  checkpointSchema,
  eventDataSchema,
  eventSchema,
  grantSchema,
  instructionSchema,
  iterationSchema,
  stepSchema,
  verifySchema,
} from "./rows.ts";

/** Reading the records that hang on one run. */

export async function readSteps({ db }: Pick<Backend, "db">, runId: string): Promise<StepRecord[]> {
  const rows = await db.selectFrom("steps").selectAll().where("run_id", "=", runId).orderBy("position").execute();
  return readRows(stepSchema, "steps", rows);
}

export async function readAttempts({ db }: Pick<Backend, "db">, runId: string): Promise<AttemptRecord[]> {
  const rows = await db
    .selectFrom("attempts")
    .selectAll()
    .where("run_id", "=", runId)
    .orderBy("opened_at")
    .orderBy("step")
    .orderBy("attempt")
    .execute();
  return readRows(attemptSchema, "attempts", rows);
}

export async function readIterations({ db }: Pick<Backend, "db">, runId: string, limit: number): Promise<IterationRecord[]> {
  const rows = await db
    .selectFrom("iterations")
    .selectAll()
    .where("run_id", "=", runId)
    .orderBy("ordinal", "desc")
    .limit(limit)
    .execute();
  return readRows(iterationSchema, "iterations", rows);
}

export async function readActs({ db }: Pick<Backend, "db">, runId: string, limit: number): Promise<Act[]> {
  const rows = await db.selectFrom("acts").selectAll().where("run_id", "=", runId).orderBy("n", "desc").limit(limit).execute();
  return readRows(actSchema, "acts", rows).reverse();
}

export async function readGrants({ db }: Pick<Backend, "db">, runId: string): Promise<Grant[]> {
  const rows = await db.selectFrom("grants").selectAll().where("run_id", "=", runId).orderBy("n").execute();
  return readRows(grantSchema, "grants", rows);
}

export async function readCheckpoints({ db }: Pick<Backend, "db">, runId: string, limit: number): Promise<CheckpointRecord[]> {
  const rows = await db
    .selectFrom("checkpoints")
    .selectAll()
    .where("run_id", "=", runId)
    .orderBy("n", "desc")
    .limit(limit)
    .execute();
  return readRows(checkpointSchema, "checkpoints", rows);
}

export async function readCheckpoint({ db }: Pick<Backend, "db">, runId: string, id: string): Promise<CheckpointRecord | null> {
  const row = await db.selectFrom("checkpoints").selectAll().where("run_id", "=", runId).where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : readRow(checkpointSchema, "checkpoints", row);
}

export async function readVerify({ db }: Pick<Backend, "db">, runId: string): Promise<VerifyRecord[]> {
  const rows = await db.selectFrom("verify_results").selectAll().where("run_id", "=", runId).orderBy("n").execute();
  return readRows(verifySchema, "verify_results", rows);
}

export async function readInstructions(
  { db }: Pick<Backend, "db">,
  runId: string,
  which: "undelivered" | "all",
): Promise<InstructionRecord[]> {
  let query = db.selectFrom("instructions").selectAll().where("run_id", "=", runId);
  if (which === "undelivered") query = query.where("delivered_at", "is", null);
  return readRows(instructionSchema, "instructions", await query.orderBy("n").execute());
}

export async function readEvents(
  { db }: Pick<Backend, "db">,
  runId: string,
  { after, types, limit }: { readonly after?: number; readonly types?: readonly RunEventType[]; readonly limit: number },
): Promise<RunEventRecord[]> {
  let query = db.selectFrom("events").select(["seq", "type", "at", "data"]).where("run_id", "=", runId);
  if (after !== undefined) query = query.where("seq", ">", after);
  if (types !== undefined) query = query.where("type", "in", [...types]);
  const rows = await query
    .orderBy("seq", after === undefined ? "desc" : "asc")
    .limit(limit)
    .execute();
  if (after === undefined) rows.reverse();
  return rows.flatMap((row) => (isKnown(row.type) ? [toEvent(row)] : []));
}

/** A later version of Loopkeeper may write beside this one; what it has names for and this one has not is not told. */
function isKnown(type: string): boolean {
  return KNOWN.has(type);
}
const KNOWN: ReadonlySet<string> = new Set(RUN_EVENT_TYPES);

/** Facts that cannot be read do not hide that the event happened, nor the events around it. */
function toEvent(row: unknown): RunEventRecord {
  const event = readRow(eventSchema, "events", row);
  const data = eventDataSchema.safeParse(event.data);
  return { ...event, data: data.success ? data.data : { unreadable: true } };
}
