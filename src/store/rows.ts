import { z } from "zod";
import { ACT_KINDS, type Act } from "../run/act.ts";
import { RUN_EVENT_TYPES } from "../run/event.ts";
import type { Grant } from "../run/grant.ts";
import { sha256 } from "../run/id.ts";
import {
  type AttemptRecord,
  CHECKPOINT_KINDS,
  type CheckpointRecord,
  type InstructionRecord,
  type IterationRecord,
  STEP_STATES,
  type StepRecord,
  type VerifyRecord,
} from "../run/run.ts";
import { STOP_REASONS } from "../run/stop-reason.ts";
import { jsonColumn, plain } from "./json.ts";
import { instant, textOrNull } from "./run-row.ts";
import type {
  ActsTable,
  AttemptsTable,
  CheckpointsTable,
  InstructionsTable,
  IterationsTable,
  StepsTable,
  VerifyResultsTable,
} from "./schema.ts";
import type { LeaseRecord, RequestRecord, WorkerRecord } from "./store.ts";

/**
 * The records that hang on a run: their shape as a record (in events too) and as a row when read, and their row when written.
 * What has no column of JSON text has one shape for both.
 */

const texts = z.array(z.string());

export const stepRecord = z.object({
  step: z.string(),
  position: z.number(),
  title: textOrNull,
  objective: z.string(),
  needs: texts,
  max_iterations: z.number().nullable(),
  verify: texts,
  state: z.enum(STEP_STATES),
  attempt: z.number(),
  iteration: z.number(),
}) satisfies z.ZodType<StepRecord>;

export const stepSchema = z.object({ ...stepRecord.shape, needs: jsonColumn(texts), verify: jsonColumn(texts) });

export function stepRow(run_id: string, step: StepRecord): StepsTable {
  return {
    ...step,
    run_id,
    title: plain(step.title),
    objective: plain(step.objective),
    needs: JSON.stringify(step.needs),
    verify: JSON.stringify(step.verify),
  };
}

export function stepPatchRow(patch: Partial<StepRecord>): Partial<StepsTable> {
  const { needs, verify, ...row } = patch;
  return {
    ...row,
    ...(needs === undefined ? {} : { needs: JSON.stringify(needs) }),
    ...(verify === undefined ? {} : { verify: JSON.stringify(verify) }),
  };
}

export const attemptSchema = z.object({
  step: z.string(),
  attempt: z.number(),
  started_from: z.enum(["start", "stop", "entry"]),
  opened_at: instant,
  ended_at: instant.nullable(),
  ended_by: z.enum(STOP_REASONS).nullable(),
  opened_at_iteration: z.number(),
  entry_checkpoint: textOrNull,
  engine_session: textOrNull,
  context: z.enum(["pending", "new", "native", "handoff"]),
  why_handoff: textOrNull,
  note: textOrNull,
  restore: z.enum(["none", "stop", "entry"]),
}) satisfies z.ZodType<AttemptRecord>;

export function attemptRow(run_id: string, attempt: AttemptRecord): AttemptsTable {
  return { ...attempt, run_id, why_handoff: plain(attempt.why_handoff), note: plain(attempt.note) };
}

export function attemptPatchRow(patch: Partial<AttemptRecord>): Partial<AttemptsTable> {
  return {
    ...patch,
    ...(patch.why_handoff === undefined ? {} : { why_handoff: plain(patch.why_handoff) }),
    ...(patch.note === undefined ? {} : { note: plain(patch.note) }),
  };
}

export const iterationRecord = z.object({
  ordinal: z.number(),
  number: z.number(),
  step: z.string(),
  attempt: z.number(),
  started_at: instant,
  ended_at: instant.nullable(),
  outcome: textOrNull,
  finished: z.boolean(),
  checkpoint_start: textOrNull,
  checkpoint_end: textOrNull,
  progress_key: textOrNull,
  input_tokens: z.number(),
  output_tokens: z.number(),
  cost_usd: z.number().nullable(),
  summary: textOrNull,
  revision: z.number().nullable(),
}) satisfies z.ZodType<IterationRecord>;

export const iterationSchema = z.object({
  ...iterationRecord.shape,
  finished: z.number().transform((flag) => flag === 1),
});

export function iterationRow(run_id: string, iteration: IterationRecord): IterationsTable {
  return {
    ...iteration,
    run_id,
    finished: iteration.finished ? 1 : 0,
    outcome: plain(iteration.outcome),
    summary: plain(iteration.summary),
  };
}

export const actSchema = z.object({
  kind: z.enum(ACT_KINDS),
  what: z.string(),
  ref: textOrNull,
  iteration: z.number(),
  at: instant,
  status: z.enum(["landed", "unobserved"]),
}) satisfies z.ZodType<Act>;

/** What a page of runs needs of each attempt and act. */
export const sideAttemptSchema = attemptSchema.pick({ step: true, attempt: true, entry_checkpoint: true });
export const sideActSchema = actSchema.pick({ kind: true, status: true }).extend({ count: z.number() });

export function actRow(run_id: string, n: number, act: Act): ActsTable {
  return { ...act, run_id, n, what: plain(act.what), ref: plain(act.ref) };
}

export const grantSchema = z.object({ iterations: z.number(), at: instant }) satisfies z.ZodType<Grant>;

const skippedSchema = z.array(
  z.object({
    path: z.string(),
    bytes: z.number(),
    why: z.enum(["too_big", "quota", "unreadable", "special", "nested_repository", "secret"]),
    nested: z.object({ commit: textOrNull, dirty: z.boolean().nullable() }).exactOptional(),
  }),
);

export const checkpointRecord = z.object({
  id: z.string(),
  kind: z.enum(CHECKPOINT_KINDS),
  iteration: z.number(),
  step: textOrNull,
  attempt: z.number().nullable(),
  at: instant,
  commit: textOrNull,
  tree: textOrNull,
  index_tree: textOrNull,
  head: textOrNull,
  branch: textOrNull,
  files: z.number(),
  bytes: z.number(),
  skipped: skippedSchema,
  state: z.enum(["present", "lost", "failed"]),
  failure: textOrNull,
}) satisfies z.ZodType<CheckpointRecord>;

export const checkpointSchema = z.object({ ...checkpointRecord.shape, skipped: jsonColumn(skippedSchema) });

export function checkpointRow(run_id: string, n: number, checkpoint: CheckpointRecord): CheckpointsTable {
  return {
    ...checkpoint,
    run_id,
    n,
    skipped: JSON.stringify(checkpoint.skipped),
    failure: plain(checkpoint.failure),
  };
}

export const verifySchema = z.object({
  step: z.string(),
  command: z.string(),
  exit_code: z.number().nullable(),
  iteration: z.number(),
  at: instant,
  tail: z.string(),
}) satisfies z.ZodType<VerifyRecord>;

export function verifyRow(run_id: string, n: number, result: VerifyRecord): VerifyResultsTable {
  return {
    ...result,
    run_id,
    n,
    command: plain(result.command),
    command_hash: sha256(result.command),
    tail: plain(result.tail),
  };
}

export const instructionSchema = z.object({
  id: z.string(),
  kind: z.enum(["instructions", "updates", "permission"]),
  text: z.string(),
  at: instant,
  delivered_at: instant.nullable(),
  delivered_iteration: z.number().nullable(),
}) satisfies z.ZodType<InstructionRecord>;

export function instructionRow(run_id: string, n: number, instruction: InstructionRecord): InstructionsTable {
  return { ...instruction, run_id, n, text: plain(instruction.text) };
}

export const eventDataSchema = jsonColumn(z.record(z.string(), z.unknown()));
/** `data` is read apart: an event whose facts are damaged is still known to have happened. */
export const eventSchema = z.object({ seq: z.number(), type: z.enum(RUN_EVENT_TYPES), at: instant, data: z.string() });

const identitySchema = z.object({ host: z.string(), boot_id: z.string(), pid: z.number(), start_time: z.string() });

export const leaseSchema = z.object({
  run_id: z.string(),
  fence: z.number(),
  worker_id: z.string(),
  identity: jsonColumn(identitySchema),
  beat: z.number(),
}) satisfies z.ZodType<LeaseRecord>;

export const workerSchema = z.object({
  worker_id: z.string(),
  identity: jsonColumn(identitySchema),
  version: z.string(),
  started_at: instant,
  beat_at: instant,
}) satisfies z.ZodType<WorkerRecord>;

export const requestSchema = z.object({
  owner: z.string(),
  request_id: z.string(),
  tool: z.string(),
  args_hash: z.string(),
  run_id: z.string(),
  answer: z.string(),
  at: instant,
}) satisfies z.ZodType<RequestRecord>;
