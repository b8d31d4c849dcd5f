import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AT, aNewRun, anEvent } from "../support/records.ts";
import { backends, newStorePlace, rawSql } from "../support/stores.ts";
import { inProcesses, killAfter, startChild } from "./children.ts";

const grantedSchema = z.object({ granted: z.number(), refused: z.number() });
const claimedSchema = z.object({ claimed: z.array(z.string()) });
const acknowledgedSchema = z.object({ acknowledged: z.number() });

for (const backend of backends) {
  describe(`several processes on one store in ${backend}`, () => {
    it("number a run's events and journal without a gap and without a repetition", async () => {
      const place = await newStorePlace(backend);
      const store = await place.open();
      const { run_id } = await store.createRun(aNewRun());
      await inProcesses(
        place,
        Array.from({ length: 8 }, () => ({ job: "events", run_id, times: 6 }) as const),
      );
      const events = await store.events(run_id, { after: 0, limit: 1000 });
      expect(events.map((event) => event.seq)).toEqual(Array.from({ length: 1 + 8 * 6 * 2 }, (_, index) => index + 1));
      // The two events of one change stay neighbours.
      for (let index = 1; index < events.length; index += 2) expect(events[index]?.data).toEqual(events[index + 1]?.data);
      const { entries, gaps } = await store.journal(run_id, { after: 0, limit: 1000 });
      expect(entries.map((entry) => entry.n)).toEqual(Array.from({ length: 48 }, (_, index) => index + 1));
      expect(gaps).toEqual([]);
      expect((await store.run(run_id, "owner"))?.revision).toBe(49);
    });

    it("never miscount grants, whatever the order of looks and refusals", async () => {
      const place = await newStorePlace(backend);
      const store = await place.open();
      const { run_id } = await store.createRun(aNewRun());
      const results = await inProcesses(
        place,
        Array.from({ length: 4 }, () => ({ job: "grants", run_id, times: 12 }) as const),
      );
      const granted = results.reduce<number>((sum, result) => sum + grantedSchema.parse(result).granted, 0);
      const ledger = (await store.grants(run_id)).reduce((sum, grant) => sum + grant.iterations, 0);
      expect(ledger).toBe(granted);
      expect((await store.run(run_id, "owner"))?.max_iterations).toBe(10 + granted);
    });

    it("never claim the same run", async () => {
      const place = await newStorePlace(backend);
      const store = await place.open();
      const ids: string[] = [];
      for (let n = 0; n < 24; n += 1) ids.push((await store.createRun(aNewRun())).run_id);
      const results = await inProcesses(
        place,
        Array.from({ length: 4 }, () => ({ job: "claims" }) as const),
      );
      const claimed = results.flatMap((result) => claimedSchema.parse(result).claimed);
      expect(claimed.toSorted()).toEqual(ids.toSorted());
    });

    it("make the schema once when they start at the same moment", async () => {
      const place = await newStorePlace(backend);
      const results = await inProcesses(
        place,
        Array.from({ length: 4 }, () => ({ job: "open" }) as const),
      );
      expect(results).toEqual(Array.from({ length: 4 }, () => ({ runs: 0 })));
      expect(await rawSql(place, "select number, name from loopkeeper_migrations")).toEqual([
        { number: 1, name: "001_initial" },
        { number: 2, name: "003_iteration_revision" },
        { number: 3, name: "005_retention" },
        { number: 4, name: "004_event_changes" },
        { number: 5, name: "006_events_by_type" },
      ]);
    });

    it("lose nothing that was acknowledged when one is killed in the middle of writing", async () => {
      const place = await newStorePlace(backend);
      const store = await place.open();
      const { run_id } = await store.createRun(aNewRun());
      const lines = await killAfter(startChild(place, { job: "stream", run_id }), 25);
      const acknowledged = Math.max(...lines.map((line) => acknowledgedSchema.parse(JSON.parse(line)).acknowledged));
      const { entries, gaps } = await store.journal(run_id, { after: 0, limit: 10_000 });
      const expected = Array.from({ length: acknowledged }, (_, index) => [
        `flush ${index + 1} a`,
        `flush ${index + 1} b`,
      ]).flat();
      expect(entries.slice(0, expected.length).map((entry) => entry.text)).toEqual(expected);
      expect(entries.length % 2).toBe(0);
      expect(gaps).toEqual([]);
      expect(acknowledged).toBeGreaterThanOrEqual(25);
      await store.apply({ run_id, at: AT, bump_revision: true, events: [anEvent()], run: { state: "stopped" } });
    });
  });
}
