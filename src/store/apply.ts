import { sql } from "kysely";
import { LeaseLostError, LoopkeeperError } from "../run/errors.ts";
import type { RunRecord } from "../run/run.ts";
import { type Backend, isUniqueViolation, type NewChunk, type Trx } from "./backend.ts";
import {
  insertActs,
  insertAttempts,
  insertChunks,
  insertEvents,
  insertGrants,
  insertInstructions,
  insertSteps,
  markDelivered,
  putCheckpoints,
  putIterations,
  putVerify,
  updateAttempts,
  updateSteps,
} from "./change-rows.ts";
import { countKey, recount } from "./counts.ts";
import { changeOf, creationOf, wholeOf } from "./event-change.ts";
import { encodeChunks } from "./journal-chunk.ts";
import { listClassOf } from "./list-class.ts";
import { nextPosition, recordMove } from "./positions.ts";
import { selectRuns, toRun } from "./read-run.ts";
import { readRows } from "./replay.ts";
import { insertRequest } from "./requests.ts";
import { headRow, runPatchRow, runRow } from "./run-row.ts";
import type { RunsTable } from "./schema.ts";
import type { NewRun, RunChange } from "./store.ts";
import { holdTree } from "./tree-hold.ts";

export async function createRun(backend: Backend, created: NewRun): Promise<RunRecord> {
  await backend.write((trx) => storeNewRun(trx, created));
  return created.run;
}

async function storeNewRun(trx: Trx, created: NewRun): Promise<void> {
  const { run } = created;
  // The place comes last for every other writer; a new run is seen by none, so its row can be completed afterwards.
  const row = runRow(run, 0);
  await insertNewRun(trx, run, row);
  await insertSteps(trx, run.run_id, created.steps);
  await insertAttempts(trx, run.run_id, created.attempts);
  await insertInstructions(trx, run.run_id, created.instructions);
  await insertEvents(trx, run.run_id, 0, created.events, creationOf(created));
  if (created.request !== null) await insertRequest(trx, created.request);
  await holdTree(trx, run.run_id, created.tree_hold);
  await recount(trx, null, countKey(row));
  const position = await nextPosition(trx);
  await trx.updateTable("runs").set({ position }).where("run_id", "=", run.run_id).execute();
  await recordMove(trx, run.run_id, 0, position);
  await trx.updateTable("run_heads").set({ event_seq: created.events.length }).where("run_id", "=", run.run_id).execute();
}

async function insertNewRun(trx: Trx, run: RunRecord, row: ReturnType<typeof runRow>): Promise<void> {
  try {
    await trx.insertInto("runs").values(row).execute();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new LoopkeeperError("internal", `A run ${run.run_id} exists already; nothing was stored.`, { cause: error });
  }
  await trx.insertInto("run_heads").values(headRow(run)).execute();
}

/** Guards, then rows, then the run itself: the order in which every writer takes its locks. */
export async function applyChange(backend: Backend, change: RunChange): Promise<RunRecord> {
  // Before the transaction: compressing while others wait for the lock would cost them the time.
  const chunks = [...encodeChunks(change.journal ?? [], change.at)];
  return backend.write(async (trx) => {
    const stored = await lockRun(backend, trx, change.run_id);
    const before = toRun(stored);
    guard(before, change);
    const after = changedRun(before, change);
    const seq = stored.event_seq + (await recordWhole(trx, change, stored));
    await storeRows(trx, change, { ...stored, revision: after.revision }, chunks);
    await insertEvents(trx, change.run_id, seq, change.events, changeOf(change, before, after));
    if (change.tree_hold !== undefined) await holdTree(trx, change.run_id, change.tree_hold);
    await storeHead(trx, change, { ...stored, event_seq: seq }, chunks);
    await storeRun(trx, change, before, after, stored);
    if (change.new_run !== undefined) await storeNewRun(trx, change.new_run);
    return after;
  });
}

/** Whether the last event of a run is stored with what it changed: 1, or 0. */
const LAST_TELLS = sql<number>`(select cast(count(*) as integer) from events where events.run_id = runs.run_id
  and events.seq = run_heads.event_seq and events.${sql.ref("change")} is not null)`.as("told");

async function lockRun(backend: Backend, trx: Trx, runId: string) {
  const query = selectRuns(trx).select(LAST_TELLS).where("runs.run_id", "=", runId);
  const row = await (backend.kind === "postgres" ? query.forUpdate() : query).executeTakeFirst();
  if (row === undefined) throw new LoopkeeperError("run_not_found", `There is no run ${runId}. Call run_list to see your runs.`);
  return row;
}

/**
 * The last event of each change says what it changed. One that does not was written by a process of an earlier version that still
 * ran after the store was migrated: everything that is known is recorded anew. Answers how many events that made.
 */
async function recordWhole(
  trx: Trx,
  { run_id, at }: RunChange,
  stored: { readonly event_seq: number; readonly told: number | null },
): Promise<number> {
  // A writer that was waited for may have added its events after this change looked at them: a second look sees them.
  if (stored.told === 1 || (await lastEventTells(trx, run_id, stored.event_seq))) return 0;
  const rows = await readRows(trx, run_id);
  if (rows === null) return 0;
  const data = { why: "a process of an earlier version changed it" };
  await insertEvents(trx, run_id, stored.event_seq, [{ type: "run_recorded", at, data }], wholeOf(rows));
  return 1;
}

async function lastEventTells(trx: Trx, runId: string, seq: number): Promise<boolean> {
  const last = await trx
    .selectFrom("events")
    .select("change")
    .where("run_id", "=", runId)
    .where("seq", "=", seq)
    .executeTakeFirst();
  return last?.change != null;
}

function guard(before: RunRecord, change: RunChange): void {
  if (change.fence !== undefined && change.fence !== before.fence) {
    throw new LeaseLostError(`run ${before.run_id} was taken over (fence ${change.fence}, now ${before.fence})`);
  }
  if (change.expected_revision !== undefined && change.expected_revision !== before.revision) {
    throw new LoopkeeperError(
      "revision_conflict",
      `Run ${before.run_id} moved on: expected_revision is ${change.expected_revision}, its revision is ${before.revision}. Nothing was changed. Call run_status, look again, and repeat the call with expected_revision ${before.revision}.`,
    );
  }
}

async function storeRows(
  trx: Trx,
  change: RunChange,
  at: { readonly journal_n: number; readonly revision: number },
  chunks: readonly NewChunk[],
): Promise<void> {
  const { run_id } = change;
  if (change.request !== undefined) await insertRequest(trx, change.request);
  await updateSteps(trx, run_id, change.steps ?? []);
  await insertAttempts(trx, run_id, change.open_attempts ?? []);
  await updateAttempts(trx, run_id, change.attempts ?? []);
  await putIterations(trx, run_id, change.iterations ?? [], at.revision);
  await insertActs(trx, run_id, change.acts ?? []);
  await insertGrants(trx, run_id, change.grants ?? []);
  await putCheckpoints(trx, run_id, change.checkpoints ?? []);
  await putVerify(trx, run_id, change.verify ?? []);
  await insertInstructions(trx, run_id, change.new_instructions ?? []);
  if (change.delivered !== undefined) await markDelivered(trx, run_id, change.delivered, change.at);
  await insertChunks(trx, run_id, at.journal_n, chunks);
}

function changedRun(before: RunRecord, change: RunChange): RunRecord {
  const granted = (change.grants ?? []).reduce((sum, grant) => sum + grant.iterations, 0);
  return {
    ...before,
    ...change.run,
    max_iterations: before.max_iterations + granted,
    ...(change.bump_revision ? { revision: before.revision + 1, changed_at: change.at } : {}),
  };
}

async function storeHead(
  trx: Trx,
  change: RunChange,
  before: { readonly event_seq: number; readonly journal_n: number },
  chunks: readonly NewChunk[],
): Promise<void> {
  const { alive_at, progress_at } = change.run ?? {};
  await trx
    .updateTable("run_heads")
    .set({
      event_seq: before.event_seq + change.events.length,
      journal_n: chunks.reduce((n, chunk) => n + chunk.count, before.journal_n),
      ...(alive_at === undefined ? {} : { alive_at }),
      ...(progress_at === undefined ? {} : { progress_at }),
    })
    .where("run_id", "=", change.run_id)
    .execute();
}

async function storeRun(
  trx: Trx,
  change: RunChange,
  before: RunRecord,
  after: RunRecord,
  stored: Pick<RunsTable, "list_class" | "position">,
): Promise<void> {
  const patch = runPatchRow(change.run ?? {});
  if (!change.bump_revision && Object.keys(patch).length === 0 && after.max_iterations === before.max_iterations) return;
  const list_class = listClassOf(after);
  await recount(trx, countKey({ ...before, list_class: stored.list_class }), countKey({ ...after, list_class }));
  const position = change.bump_revision ? await nextPosition(trx) : stored.position;
  const { revision, changed_at, max_iterations } = after;
  await trx
    .updateTable("runs")
    .set({ ...patch, revision, changed_at, max_iterations, list_class, position })
    .where("run_id", "=", change.run_id)
    .execute();
  if (position !== stored.position) await recordMove(trx, change.run_id, stored.position, position);
}
