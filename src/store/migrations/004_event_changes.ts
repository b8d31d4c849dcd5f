import { type QueryExecutorProvider, sql } from "kysely";
import { now } from "../../run/clock.ts";
import type { ColumnTypes } from "./column-types.ts";

export const name = "004_event_changes";

/** Runs whose rows are in memory at one time. */
const PAGE = 100;

/**
 * Events carry what they changed. What is known of a run that is stored already becomes the change of one event more, so that
 * replaying its events gives its rows from then on.
 */
export async function up(db: QueryExecutorProvider, { text, hold }: ColumnTypes): Promise<void> {
  // A writer of the version before could else add an event between the look at a run and the event that is made of it.
  await hold("runs").execute(db);
  await sql`alter table events add column ${sql.ref("change")} ${text}`.execute(db);
  const at = now();
  for (let last = ""; ; ) {
    const runs = await rowsOf(db, sql`select * from runs where run_id > ${last} order by run_id limit ${sql.lit(PAGE)}`);
    const ids = runs.map((run) => String(run["run_id"]));
    if (ids.length === 0) break;
    await recordPage(db, runs, ids, at);
    last = ids.at(-1) ?? "";
  }
  await sql`update run_heads set event_seq = event_seq + 1`.execute(db);
}

type Row = Readonly<Record<string, unknown>>;

async function rowsOf(db: QueryExecutorProvider, query: ReturnType<typeof sql>): Promise<Row[]> {
  const { rows } = await query.execute(db);
  return rows.flatMap((row) => (typeof row === "object" && row !== null ? [{ ...row }] : []));
}

const TABLES = [
  ["steps", "steps", "position"],
  ["attempts", "attempts", "attempt"],
  ["iterations", "iterations", "ordinal"],
  ["acts", "acts", "n"],
  ["grants", "grants", "n"],
  ["checkpoints", "checkpoints", "n"],
  ["verify", "verify_results", "n"],
  ["instructions", "instructions", "n"],
] as const;

async function recordPage(db: QueryExecutorProvider, runs: readonly Row[], ids: readonly string[], at: string): Promise<void> {
  const changes = new Map<unknown, Record<string, unknown>>();
  for (const run of runs) changes.set(run["run_id"], { whole: true, run: recordOf(run, ["position", "list_class"]) });
  const among = sql.join(ids.map((id) => sql`${id}`));
  for (const [member, table, order] of TABLES) {
    const rows = await rowsOf(db, sql`select * from ${sql.table(table)} where run_id in (${among}) order by ${sql.ref(order)}`);
    for (const row of rows) {
      const change = changes.get(row["run_id"]);
      if (change === undefined) continue;
      const record = recordOf(row, ["run_id", "n", "command_hash"]);
      const before = change[member];
      if (Array.isArray(before)) before.push(record);
      else change[member] = [record];
    }
  }
  const heads = await rowsOf(db, sql`select run_id, event_seq from run_heads where run_id in (${among})`);
  const data = JSON.stringify({ why: "it was recorded by a version whose events did not carry what they changed" });
  const events = heads.map((head) => {
    const change = JSON.stringify(changes.get(head["run_id"]));
    return sql`(${head["run_id"]}, ${Number(head["event_seq"]) + 1}, 'run_recorded', ${at}, ${data}, ${change})`;
  });
  if (events.length === 0) return;
  await sql`insert into events (run_id, seq, type, at, data, ${sql.ref("change")}) values ${sql.join(events)}`.execute(db);
}

const JSON_COLUMNS: ReadonlySet<string> = new Set([
  ...["settings", "stop", "stop_request", "usage", "plan", "report"],
  ...["needs", "verify", "skipped"],
]);

/** A row as the record that it is read as. */
function recordOf(row: Row, without: readonly string[]): Row {
  const entries = Object.entries(row).filter(([column]) => !without.includes(column));
  return Object.fromEntries(entries.map(([column, value]) => [column, plainValue(column, value)]));
}

function plainValue(column: string, value: unknown): unknown {
  if (column === "finished") return value === 1;
  if (typeof value !== "string" || !JSON_COLUMNS.has(column)) return value;
  try {
    return JSON.parse(value);
  } catch {
    // A damaged row stays as it is: it can be read neither as a row nor from here, and keeps no other run from being recorded.
    return value;
  }
}
