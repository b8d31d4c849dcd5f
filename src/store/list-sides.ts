import type { StopReason } from "../run/stop-reason.ts";
import type { Backend } from "./backend.ts";
import { readRow } from "./json.ts";
import { parseListClass } from "./list-class.ts";
import { instructionSchema, sideActSchema, sideAttemptSchema, stepSchema } from "./rows.ts";
import type { RunFacets, RunSides } from "./store.ts";

/** What stands beside the runs of a page: a few queries for all of them, however many they are. */
export async function readSides({ db }: Backend, runIds: readonly string[]): Promise<ReadonlyMap<string, RunSides>> {
  if (runIds.length === 0) return new Map();
  const ids = [...runIds];
  const [steps, attempts, undelivered, acts] = await Promise.all([
    db.selectFrom("steps").selectAll().where("run_id", "in", ids).orderBy("position").execute(),
    db
      .selectFrom("attempts")
      .select(["run_id", "step", "attempt", "entry_checkpoint"])
      .where("run_id", "in", ids)
      .orderBy("opened_at")
      .orderBy("step")
      .orderBy("attempt")
      .execute(),
    db.selectFrom("instructions").selectAll().where("run_id", "in", ids).where("delivered_at", "is", null).orderBy("n").execute(),
    db
      .selectFrom("acts")
      .select((of) => ["run_id", "kind", "status", of.cast<number>(of.fn.countAll(), "integer").as("count")])
      .where("run_id", "in", ids)
      .groupBy(["run_id", "kind", "status"])
      .execute(),
  ]);
  const of = { steps: byRun(steps), attempts: byRun(attempts), undelivered: byRun(undelivered), acts: byRun(acts) };
  return new Map(
    ids.map((id) => [
      id,
      {
        steps: (of.steps.get(id) ?? []).map((row) => readRow(stepSchema, "steps", row)),
        attempts: (of.attempts.get(id) ?? []).map((row) => readRow(sideAttemptSchema, "attempts", row)),
        undelivered: (of.undelivered.get(id) ?? []).map((row) => readRow(instructionSchema, "instructions", row)),
        acts: (of.acts.get(id) ?? []).map((row) => readRow(sideActSchema, "acts", row)),
      },
    ]),
  );
}

function byRun<T extends { readonly run_id: string }>(rows: readonly T[]): ReadonlyMap<string, T[]> {
  return Map.groupBy(rows, (row) => row.run_id);
}

/** Out of the totals alone: no run is looked at. */
export async function readFacets(
  { db }: Backend,
  { owner, archived }: { readonly owner: string; readonly archived: boolean },
): Promise<RunFacets> {
  const rows = await db.selectFrom("run_counts").selectAll().where("owner", "=", owner).where("runs", ">", 0).execute();
  const repositories = new Map<string, { common_dir: string; remote: string | null; runs: number }>();
  const stop_reasons: Partial<Record<StopReason, number>> = {};
  for (const row of rows) {
    const list = parseListClass(row.list_class);
    if (list === null || list.archived !== archived) continue;
    const remote = row.repo_remote === "" ? null : row.repo_remote;
    const known = repositories.get(remote ?? row.repo_common_dir);
    repositories.set(remote ?? row.repo_common_dir, {
      common_dir: row.repo_common_dir,
      remote,
      runs: (known?.runs ?? 0) + row.runs,
    });
    if (list.stop_reason !== null) stop_reasons[list.stop_reason] = (stop_reasons[list.stop_reason] ?? 0) + row.runs;
  }
  return { repositories: [...repositories.values()].sort((a, b) => b.runs - a.runs), stop_reasons };
}
