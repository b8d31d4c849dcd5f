import { type SelectQueryBuilder, sql } from "kysely";
import type { RunRecord } from "../run/run.ts";
import type { Backend } from "./backend.ts";
import { readRow } from "./json.ts";
import { runSchema } from "./run-row.ts";
import type { Db, RunHeadsTable, RunsTable, Tables } from "./schema.ts";

type WholeRun = RunsTable & Pick<RunHeadsTable, "fence" | "alive_at" | "progress_at" | "event_seq" | "journal_n">;
type RunQuery = SelectQueryBuilder<Tables, "runs" | "run_heads", WholeRun>;

/** States of a run that is driven or waits for a driver. Literal text: only so does the partial index apply. */
export const LIVE = sql<boolean>`runs.state in ('queued', 'running', 'stopping')`;

export function selectRuns(db: Db): RunQuery {
  return db
    .selectFrom("runs")
    .innerJoin("run_heads", "run_heads.run_id", "runs.run_id")
    .selectAll("runs")
    .select(["run_heads.fence", "run_heads.alive_at", "run_heads.progress_at", "run_heads.event_seq", "run_heads.journal_n"]);
}

export function toRun(row: unknown): RunRecord {
  return readRow(runSchema, "runs", row);
}

/** Runs of a list; a damaged row is told to `onError` and left out, so that it does not hide the others. */
export function toReadableRuns(rows: readonly unknown[], onError: (error: unknown) => void): RunRecord[] {
  return rows.flatMap((row) => {
    try {
      return [toRun(row)];
    } catch (error) {
      onError(error);
      return [];
    }
  });
}

export async function findRun(db: Db, runId: string): Promise<RunRecord | null> {
  const row = await selectRuns(db).where("runs.run_id", "=", runId).executeTakeFirst();
  return row === undefined ? null : toRun(row);
}

export async function findOwnRun({ db }: Backend, runId: string, owner: string): Promise<RunRecord | null> {
  const row = await selectRuns(db).where("runs.run_id", "=", runId).where("owner", "=", owner).executeTakeFirst();
  return row === undefined ? null : toRun(row);
}

export async function findByPrefix({ db }: Backend, prefix: string, owner: string, limit: number): Promise<RunRecord[]> {
  const start = prefix.toLowerCase().startsWith("run_") ? prefix.toLowerCase() : `run_${prefix.toLowerCase()}`;
  const rows = await selectRuns(db)
    .where("owner", "=", owner)
    .where("runs.run_id", ">=", start)
    // `~` sorts after every character of an id.
    .where("runs.run_id", "<", `${start}~`)
    .orderBy("created_at", "desc")
    .orderBy("position", "desc")
    .limit(limit)
    .execute();
  return rows.map(toRun);
}

export async function findOfRepository(
  { db }: Backend,
  query: { readonly owner: string; readonly common_dir: string; readonly remote: string | null; readonly limit: number },
): Promise<RunRecord[]> {
  const newest = (column: "repo_common_dir" | "repo_remote", value: string) =>
    selectRuns(db)
      .where("owner", "=", query.owner)
      .where(column, "=", value)
      .orderBy("created_at", "desc")
      .orderBy("position", "desc")
      .limit(query.limit)
      .execute();
  const rows = await newest("repo_common_dir", query.common_dir);
  const remote = query.remote === null ? [] : await newest("repo_remote", query.remote);
  const all = new Map([...rows, ...remote].map((row) => [row.run_id, row]));
  return [...all.values()]
    .sort((a, b) => (a.created_at === b.created_at ? b.position - a.position : a.created_at < b.created_at ? 1 : -1))
    .slice(0, query.limit)
    .map(toRun);
}
