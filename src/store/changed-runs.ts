import type { Backend } from "./backend.ts";
import { selectRuns, toReadableRuns } from "./read-run.ts";
import type { ChangedRuns } from "./store.ts";

/** Follows the order of changes; it is read from the moves, whose key it is. */
export async function findChangedRuns(
  backend: Backend,
  { owner, after, limit }: { readonly owner: string; readonly after: number; readonly limit: number },
  onError: (error: unknown) => void,
): Promise<ChangedRuns> {
  return backend.read(async (trx) => {
    const { value: present } = await trx
      .selectFrom("counters")
      .select("value")
      .where("name", "=", "position")
      .executeTakeFirstOrThrow();
    const oldest = await trx.selectFrom("run_moves").select("position").orderBy("position").limit(1).executeTakeFirst();
    const moves = await trx
      .selectFrom("run_moves")
      // Of a run that moved on since, only the last place is still its own.
      .innerJoin("runs", (join) =>
        join.onRef("runs.run_id", "=", "run_moves.run_id").onRef("runs.position", "=", "run_moves.position"),
      )
      .select(["runs.run_id", "runs.position"])
      .where("run_moves.position", ">", after)
      .where("runs.owner", "=", owner)
      .orderBy("run_moves.position")
      .limit(limit)
      .execute();
    const ids = moves.map((move) => move.run_id);
    const rows = ids.length === 0 ? [] : await selectRuns(trx).where("runs.run_id", "in", ids).execute();
    const runs = new Map(toReadableRuns(rows, onError).map((run) => [run.run_id, run]));
    return {
      changes: moves.flatMap(({ run_id, position }) => {
        const run = runs.get(run_id);
        return run === undefined ? [] : [{ position, run }];
      }),
      present,
      forgotten: after > present || after + 1 < (oldest?.position ?? 0),
    };
  });
}
