import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { openStore } from "../src/store/open.ts";
import type { RunFilter, Store } from "../src/store/store.ts";
import { aNewRun, aStop } from "../test/support/records.ts";
import { type Measurement, measurement, quantile, timed } from "./measurement.ts";

const RUNS = 100_000;
const SAMPLES = 200;
const FLOOR_SQL =
  "select * from runs where owner = 'owner' and list_class = 'stopped:max_iterations:---' order by position desc limit 20";

const FILTERS: readonly (readonly [string, Omit<RunFilter, "owner" | "limit">])[] = [
  ["stopped runs", { archived: false, states: ["stopped"] }],
  ["all runs", { archived: false }],
  ["runs that need attention in one repository", { archived: false, needs_attention: true, common_dir: "/repo/7/.git" }],
  ["live runs, of which there are few", { archived: false, states: ["queued", "running", "stopping"] }],
];

/** A page of 20 runs with totals at 100,000 runs, against one bare query for 20 rows by an index. Judged: p99 below 5 ms. */
export async function measure(): Promise<Measurement[]> {
  const folder = mkdtempSync(join(tmpdir(), "lk-bench-list-"));
  const path = join(folder, "store.db");
  try {
    await fillWithRuns(path, RUNS, "owner");
    const store = await openStore({ url: null, path });
    const database = new Database(path, { readonly: true });
    const floor = database.prepare(FLOOR_SQL);
    const floors: number[] = [];
    for (let sample = 0; sample < SAMPLES; sample += 1) floors.push(await timed(() => floor.all()));
    const results: Measurement[] = [];
    for (const [name, filter] of FILTERS) {
      const samples = await pages(store, { ...filter, owner: "owner", limit: 20 });
      results.push(
        measurement({
          name: `SQLite: page of ${name} at ${RUNS} runs, p99`,
          value: quantile(samples, 0.99),
          floor: quantile(floors, 0.99),
          limit: null,
          unit: "ms",
          note: `limit: 5 ms; median ${quantile(samples, 0.5).toFixed(2)} ms`,
        }),
      );
    }
    database.close();
    await store.close();
    return results;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function pages(store: Store, filter: RunFilter): Promise<number[]> {
  const samples: number[] = [];
  let cursor: string | null = null;
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const query: RunFilter = cursor === null ? filter : { ...filter, cursor };
    samples.push(
      await timed(async () => {
        cursor = (await store.runs(query)).next_cursor;
      }),
    );
  }
  return samples.slice(5);
}

/** One run through the store, copied with SQL: 100,000 durable commits would measure the disk. */
export async function fillWithRuns(path: string, runs: number, owner: string): Promise<void> {
  const store = await openStore({ url: null, path });
  const { run_id } = await store.createRun(aNewRun({ owner, state: "stopped", stop_reason: "max_iterations", stop: aStop() }));
  await store.close();
  const database = new Database(path);
  const columns = database
    .prepare<[], string>("select name from pragma_table_info('runs') where name not in ('run_id', 'position', 'repo_common_dir')")
    .pluck()
    .all();
  database.exec(`
    begin;
    insert into runs (run_id, position, repo_common_dir, ${columns.join(", ")})
      with recursive number (n) as (select 2 union all select n + 1 from number where n < ${runs})
      select 'run_' || printf('%020d', n), n, '/repo/' || (n % 40) || '/.git', ${columns.join(", ")}
      from number, runs where run_id = '${run_id}';
    update runs set stop_reason = 'failed', list_class = 'stopped:failed:---' where position % 3 = 0;
    update runs set stop_reason = 'done', state = 'done', list_class = 'done:done:---' where position % 5 = 0;
    update runs set stop_reason = null, state = 'running', list_class = 'running::---' where position % 20000 = 7;
    insert into run_heads select run_id, 0, 0, 0, null, null from runs where run_id <> '${run_id}';
    delete from run_counts;
    insert into run_counts select owner, list_class, repo_common_dir, repo_remote, count(*) from runs group by 1, 2, 3, 4;
    update counters set value = ${runs} where name = 'position';
    commit;`);
  database.close();
}
