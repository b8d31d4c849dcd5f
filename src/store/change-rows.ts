import { LoopkeeperError } from "../run/errors.ts";
import type { NewRunEvent } from "../run/event.ts";
import type {
  AttemptRecord,
  CheckpointRecord,
  InstructionRecord,
  IterationRecord,
  StepRecord,
  VerifyRecord,
} from "../run/run.ts";
import type { NewChunk, Trx } from "./backend.ts";
import { countedIteration } from "./event-change.ts";
import {
  actRow,
  attemptPatchRow,
  attemptRow,
  checkpointRow,
  instructionRow,
  iterationRow,
  stepPatchRow,
  stepRow,
  verifyRow,
} from "./rows.ts";
import type { RunChange } from "./store.ts";

/** The rows of one run's change. The run's row is locked by then, so a number read here cannot be taken by another writer. */

export async function insertSteps(trx: Trx, runId: string, steps: readonly StepRecord[]): Promise<void> {
  if (steps.length === 0) return;
  await trx
    .insertInto("steps")
    .values(steps.map((step) => stepRow(runId, step)))
    .execute();
}

export async function updateSteps(trx: Trx, runId: string, patches: NonNullable<RunChange["steps"]>): Promise<void> {
  for (const patch of patches) {
    const done = await trx
      .updateTable("steps")
      .set(stepPatchRow(patch))
      .where("run_id", "=", runId)
      .where("step", "=", patch.step)
      .executeTakeFirst();
    if (done.numUpdatedRows === 0n) throw missing(`step ${patch.step}`, runId);
  }
}

export async function insertAttempts(trx: Trx, runId: string, attempts: readonly AttemptRecord[]): Promise<void> {
  if (attempts.length === 0) return;
  await trx
    .insertInto("attempts")
    .values(attempts.map((attempt) => attemptRow(runId, attempt)))
    .execute();
}

export async function updateAttempts(trx: Trx, runId: string, patches: NonNullable<RunChange["attempts"]>): Promise<void> {
  for (const patch of patches) {
    const done = await trx
      .updateTable("attempts")
      .set(attemptPatchRow(patch))
      .where("run_id", "=", runId)
      .where("step", "=", patch.step)
      .where("attempt", "=", patch.attempt)
      .executeTakeFirst();
    if (done.numUpdatedRows === 0n) throw missing(`attempt ${patch.attempt} of step ${patch.step}`, runId);
  }
}

/** `revision` is the one that this change makes. */
export async function putIterations(
  trx: Trx,
  runId: string,
  iterations: readonly IterationRecord[],
  revision: number,
): Promise<void> {
  for (const iteration of iterations) {
    const row = iterationRow(runId, countedIteration(iteration, revision));
    await trx
      .insertInto("iterations")
      .values(row)
      .onConflict((conflict) => conflict.columns(["run_id", "ordinal"]).doUpdateSet(row))
      .execute();
  }
}

export async function insertActs(trx: Trx, runId: string, acts: NonNullable<RunChange["acts"]>): Promise<void> {
  if (acts.length === 0) return;
  const next = await nextOrdinal(trx, "acts", runId);
  await trx
    .insertInto("acts")
    .values(acts.map((act, index) => actRow(runId, next + index, act)))
    .execute();
}

export async function insertGrants(trx: Trx, runId: string, grants: NonNullable<RunChange["grants"]>): Promise<void> {
  if (grants.length === 0) return;
  const next = await nextOrdinal(trx, "grants", runId);
  await trx
    .insertInto("grants")
    .values(grants.map((grant, index) => ({ ...grant, run_id: runId, n: next + index })))
    .execute();
}

export async function putCheckpoints(trx: Trx, runId: string, checkpoints: readonly CheckpointRecord[]): Promise<void> {
  for (const checkpoint of checkpoints) {
    const { n, ...row } = checkpointRow(runId, await nextOrdinal(trx, "checkpoints", runId), checkpoint);
    await trx
      .insertInto("checkpoints")
      .values({ ...row, n })
      .onConflict((conflict) => conflict.columns(["run_id", "id"]).doUpdateSet(row))
      .execute();
  }
}

/** Only the latest result of a command is kept as a row; earlier ones are in the journal. */
export async function putVerify(trx: Trx, runId: string, results: readonly VerifyRecord[]): Promise<void> {
  for (const result of results) {
    const { n, ...row } = verifyRow(runId, await nextOrdinal(trx, "verify_results", runId), result);
    await trx
      .insertInto("verify_results")
      .values({ ...row, n })
      .onConflict((conflict) => conflict.columns(["run_id", "step", "command_hash"]).doUpdateSet(row))
      .execute();
  }
}

export async function insertInstructions(trx: Trx, runId: string, instructions: readonly InstructionRecord[]): Promise<void> {
  if (instructions.length === 0) return;
  const next = await nextOrdinal(trx, "instructions", runId);
  await trx
    .insertInto("instructions")
    .values(instructions.map((instruction, index) => instructionRow(runId, next + index, instruction)))
    .execute();
}

export async function markDelivered(
  trx: Trx,
  runId: string,
  { ids, iteration }: NonNullable<RunChange["delivered"]>,
  at: string,
): Promise<void> {
  if (ids.length === 0) return;
  await trx
    .updateTable("instructions")
    .set({ delivered_at: at, delivered_iteration: iteration })
    .where("run_id", "=", runId)
    .where("id", "in", [...ids])
    .where("delivered_at", "is", null)
    .execute();
}

/** `seq` is the number of the last event before these. What they changed stands with the last of them. */
export async function insertEvents(
  trx: Trx,
  runId: string,
  seq: number,
  events: readonly NewRunEvent[],
  change: string,
): Promise<void> {
  await trx
    .insertInto("events")
    .values(
      events.map((event, index) => ({
        run_id: runId,
        seq: seq + index + 1,
        type: event.type,
        at: event.at,
        data: JSON.stringify(event.data),
        change: index === events.length - 1 ? change : null,
      })),
    )
    .execute();
}

/** `n` is the number of the last entry before these. */
export async function insertChunks(trx: Trx, runId: string, n: number, chunks: readonly NewChunk[]): Promise<void> {
  let last = n;
  for (const { count, ...chunk } of chunks) {
    await trx
      .insertInto("journal_chunks")
      .values({ ...chunk, run_id: runId, first_n: last + 1, last_n: last + count })
      .execute();
    last += count;
  }
}

type OrdinalTable = "acts" | "grants" | "checkpoints" | "verify_results" | "instructions";

async function nextOrdinal(trx: Trx, table: OrdinalTable, runId: string): Promise<number> {
  const row = await trx
    .selectFrom(table)
    .select((of) => of.fn.max<number | null>("n").as("n"))
    .where("run_id", "=", runId)
    .executeTakeFirst();
  return (row?.n ?? 0) + 1;
}

function missing(what: string, runId: string): LoopkeeperError {
  return new LoopkeeperError(
    "internal",
    `There is no ${what} of ${runId} to change. This is a defect of Loopkeeper; nothing was stored.`,
  );
}
