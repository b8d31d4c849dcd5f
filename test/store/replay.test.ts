import { beforeAll, describe, expect, it } from "vitest";
import { up } from "../../src/store/migrations/004_event_changes.ts";
import { openPostgres } from "../../src/store/postgres.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { generator } from "../support/generator.ts";
import { AT, aNewRun, anEvent } from "../support/records.ts";
import { type BackendName, backends, newStorePlace, rawSql, type StorePlace } from "../support/stores.ts";
import { Changes, randomStart } from "./random-changes.ts";

const SEEDS = 8;
const CHANGES = 24;

for (const backend of backends) {
  describe(`the events of runs in ${backend}`, () => {
    let place: StorePlace;
    let store: Store;
    beforeAll(async () => {
      place = await newStorePlace(backend);
      store = await place.open();
    });

    it("give a run's rows again, whatever changed it and in whatever order", async () => {
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const started = randomStart(generator(seed));
        const { run_id, owner } = await store.createRun(started);
        const changes = new Changes(generator(seed * 1_000), started);
        for (let n = 0; n < CHANGES; n += 1) {
          await store.apply(changes.next());
          if (n % 8 === 7) expect((await store.replay(run_id))?.differences, `seed ${seed}, change ${n}`).toEqual([]);
        }
        const { fence, alive_at, progress_at, ...run } = (await store.run(run_id, owner)) ?? started.run;
        expect((await store.replay(run_id))?.rows).toMatchObject({
          run,
          steps: await store.steps(run_id),
          attempts: await store.attempts(run_id),
          iterations: await store.iterations(run_id, 100),
          acts: await store.acts(run_id, 1_000),
          grants: await store.grants(run_id),
          checkpoints: await store.checkpoints(run_id, 100),
          verify: await store.lastVerify(run_id),
          instructions: await store.instructions(run_id, "all"),
        });
      }
    });

    it("tell only what moved, and stand whole with the last event of a change", async () => {
      const { run_id } = await store.createRun(aNewRun());
      const settings = { plan: [], report: null, iteration: 1 };
      const events = [anEvent("iteration_started"), anEvent("iteration_finished")] as const;
      await store.apply({ run_id, at: AT, bump_revision: false, run: { ...settings, alive_at: AT }, events });
      expect(await rawSql(place, `select seq, change from events where run_id = '${run_id}' and seq > 1 order by seq`)).toEqual([
        { seq: same(backend, 2), change: null },
        { seq: same(backend, 3), change: '{"run":{"iteration":1}}' },
      ]);
    });

    it("name run, table, row and field where the rows are others", async () => {
      const { run_id } = await store.createRun(aNewRun());
      place.replays.except(run_id);
      await rawSql(place, `update attempts set note = 'not said by any event' where run_id = '${run_id}'`);
      await rawSql(place, `update runs set iteration = 7 where run_id = '${run_id}'`);
      await rawSql(place, `delete from steps where run_id = '${run_id}'`);
      expect((await store.replay(run_id))?.differences).toEqual([
        `${run_id}: run, iteration: stored 7, replayed 0`,
        `${run_id}: steps main is told by events, and is not stored`,
        `${run_id}: attempts main/1, note: stored "not said by any event", replayed null`,
      ]);
    });

    it("of another version are read: what it does not know is left out, what it lacks is as in its rows", async () => {
      const { run_id } = await store.createRun(aNewRun());
      await store.apply({ run_id, at: AT, bump_revision: true, run: { iteration: 3 }, events: [anEvent("run_claimed")] });
      const set = (seq: number, change: object, type: string) =>
        rawSql(
          place,
          `update events set type = '${type}', change = '${JSON.stringify(change)}' where run_id = '${run_id}' and seq = ${seq}`,
        );
      const before = JSON.parse(await changeOf(place, run_id, 1));
      const { host, ...settings } = before.run.settings;
      const { predecessor_run_id, ...run } = { ...before.run, settings };
      await set(1, { ...before, run }, "run_created");
      await set(2, { run: { iteration: 3, revision: 2, of_later: { a: 1 } }, tables_of_later: [{ b: 2 }] }, "event_of_later");
      expect(await store.replay(run_id)).toMatchObject({
        rows: { run: { iteration: 3, predecessor_run_id: null, settings: { host: null } } },
        differences: [],
      });
      expect((await store.events(run_id, { limit: 9 })).map((event) => event.type)).toEqual(["run_created"]);
    });

    it("that are damaged are named, and the rows stay readable", async () => {
      const { run_id, owner } = await store.createRun(aNewRun());
      place.replays.except(run_id);
      await rawSql(place, `update events set change = '{"run":' where run_id = '${run_id}'`);
      await expect(store.replay(run_id)).rejects.toMatchObject({
        code: "store_unavailable",
        message: expect.stringContaining(`event 1 of run ${run_id}`),
      });
      expect(await store.run(run_id, owner)).not.toBeNull();
      expect(await store.replay("run_none")).toBeNull();
    });

    it("go on from a whole record when a process of an earlier version wrote in between", async () => {
      const { run_id } = await store.createRun(aNewRun());
      await rawSql(place, `update runs set iteration = 4 where run_id = '${run_id}'`);
      await rawSql(
        place,
        `insert into events (run_id, seq, type, at, data) values ('${run_id}', 2, 'run_claimed', '${AT}', '{}')`,
      );
      await rawSql(place, `update run_heads set event_seq = 2 where run_id = '${run_id}'`);
      await store.apply({ run_id, at: AT, bump_revision: true, run: { last_words: "on" }, events: [anEvent("run_stopping")] });
      const types = (await store.events(run_id, { after: 0, limit: 9 })).map((event) => event.type);
      expect(types).toEqual(["run_created", "run_claimed", "run_recorded", "run_stopping"]);
      expect((await store.replay(run_id))?.rows.run).toMatchObject({ iteration: 4, last_words: "on", revision: 2 });
    });
  });

  it(`runs that are in ${backend} before events tell what they change are recorded as they are, and go on from there`, async () => {
    const place = await newStorePlace(backend);
    const first = await place.open();
    const starts = Array.from({ length: 130 }, (_, n) => randomStart(generator(n)));
    for (const [n, start] of starts.entries()) {
      await first.createRun(start);
      const changes = new Changes(generator(n * 7), start);
      if (n % 20 === 0) for (let change = 0; change < 8; change += 1) await first.apply(changes.next());
    }
    await first.close();
    await rawSql(place, "alter table events drop column change");
    await migrateAgain(place);
    const store = await place.open();
    for (const [n, start] of starts.entries()) {
      const { run_id } = start.run;
      expect((await store.replay(run_id))?.differences).toEqual([]);
      if (n % 20 > 1) continue;
      await store.apply({ run_id, at: AT, bump_revision: true, run: { iteration: 99 }, events: [anEvent("run_claimed")] });
      const types = (await store.events(run_id, { limit: 2 })).map((event) => event.type);
      expect(types).toEqual(["run_recorded", "run_claimed"]);
      expect((await store.replay(run_id))?.rows.run).toMatchObject({ iteration: 99 });
    }
  });
}

/** The migration alone: whatever came after it stays. */
async function migrateAgain({ options: { url, path } }: StorePlace): Promise<void> {
  const backend = url === null ? await openSqlite(path) : await openPostgres(url, () => {});
  await backend.write((trx) => up(trx, backend.types));
  await backend.close();
}

async function changeOf(place: StorePlace, runId: string, seq: number): Promise<string> {
  const [row] = await rawSql(place, `select change from events where run_id = '${runId}' and seq = ${seq}`);
  return typeof row === "object" && row !== null && "change" in row ? String(row.change) : "";
}

/** Postgres gives its numbers as text here. */
function same(backend: BackendName, n: number): number | string {
  return backend === "postgres" ? String(n) : n;
}
