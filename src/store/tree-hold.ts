import { LoopkeeperError } from "../run/errors.ts";
import { isLive, LIVE_STATES, type RunRecord } from "../run/run.ts";
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
  await dropLeftBehind(trx, treePath);
  const taken = await trx
    .insertInto("tree_holds")
    .values({ tree_path: treePath, run_id: runId })
    .onConflict((conflict) => conflict.column("tree_path").doNothing())
    .executeTakeFirst();
  if (taken.numInsertedOrUpdatedRows === 1n) return;
  throw alreadyRunning(await holder(trx, treePath), treePath);
}

/**
 * Frees a tree from a run that ended without giving it up. Whether it has ended is judged by this statement itself: another run
 * may have taken the tree since it was looked at, and its hold must not go.
 */
async function dropLeftBehind(trx: Trx, treePath: string): Promise<void> {
  await trx
    .deleteFrom("tree_holds")
    .where("tree_path", "=", treePath)
    .where((of) =>
      of.not(
        of.exists(
          of
            .selectFrom("runs")
            .select("runs.run_id")
            .whereRef("runs.run_id", "=", "tree_holds.run_id")
            .where("runs.state", "in", [...LIVE_STATES]),
        ),
      ),
    )
    .where((of) =>
      of.not(of.exists(of.selectFrom("leases").select("leases.run_id").whereRef("leases.run_id", "=", "tree_holds.run_id"))),
    )
    .execute();
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
