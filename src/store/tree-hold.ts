import { LoopkeeperError } from "../run/errors.ts";
import { isLive, type RunRecord } from "../run/run.ts";
import type { Backend, Trx } from "./backend.ts";
import { findRun } from "./read-run.ts";
import type { Db } from "./schema.ts";

/** The run that holds a working tree: a live one, or one whose tree a door is working on under a lease (a reset). */
export async function findHolder({ db }: Backend, treePath: string): Promise<RunRecord | null> {
  return holder(db, treePath);
}

/** Takes the tree for the run (its earlier hold is given up), or only gives up its hold when `treePath` is null. */
export async function holdTree(trx: Trx, runId: string, treePath: string | null): Promise<void> {
  await trx.deleteFrom("tree_holds").where("run_id", "=", runId).execute();
  if (treePath === null) return;
  const held = await holder(trx, treePath);
  if (held !== null) throw alreadyRunning(held, treePath);
  // What is left is the hold of a run that ended without giving it up.
  await trx.deleteFrom("tree_holds").where("tree_path", "=", treePath).execute();
  const taken = await trx
    .insertInto("tree_holds")
    .values({ tree_path: treePath, run_id: runId })
    .onConflict((conflict) => conflict.column("tree_path").doNothing())
    .executeTakeFirst();
  if (taken.numInsertedOrUpdatedRows === 1n) return;
  throw alreadyRunning(await holder(trx, treePath), treePath);
}

async function holder(db: Db, treePath: string): Promise<RunRecord | null> {
  const hold = await db
    .selectFrom("tree_holds")
    .leftJoin("leases", "leases.run_id", "tree_holds.run_id")
    .select(["tree_holds.run_id", "leases.fence"])
    .where("tree_path", "=", treePath)
    .executeTakeFirst();
  if (hold === undefined) return null;
  const run = await findRun(db, hold.run_id);
  return run !== null && (isLive(run.state) || hold.fence !== null) ? run : null;
}

function alreadyRunning(held: RunRecord | null, treePath: string): LoopkeeperError {
  const who = held === null ? "another run" : `run ${held.run_id} (${held.state}, "${held.objective.slice(0, 80)}")`;
  const then = held === null ? "Call run_list" : `Call run_wait or run_stop with run_id ${held.run_id}`;
  return new LoopkeeperError("already_running", `The working tree ${treePath} is held by ${who}. ${then} first.`);
}
