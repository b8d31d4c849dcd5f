import { describe, expect, it } from "vitest";
import { AT, aFlush, aNewRun, anEvent } from "../support/records.ts";
import { backends, newStorePlace, rawSql } from "../support/stores.ts";

for (const backend of backends) {
  describe(`what changed, in ${backend}`, () => {
    it("is told in the order of changes, each run once as it is now, and only the owner's", async () => {
      const place = await newStorePlace(backend);
      const store = await place.open();
      const changed = (after: number, limit = 50) => store.changedRuns({ owner: "owner", after, limit });
      const ids: string[] = [];
      for (let n = 0; n < 4; n += 1) ids.push((await store.createRun(aNewRun({ objective: `run ${n}` }))).run_id);
      await store.createRun(aNewRun({ owner: "somebody" }));
      const [first = "", second = "", third = "", fourth = ""] = ids;
      const all = await changed(0);
      expect(all.changes.map(({ run }) => run.run_id)).toEqual(ids);
      expect(all).toMatchObject({ present: 5, forgotten: false });

      const archive = { at: AT, bump_revision: true, run: { archived_at: AT }, events: [anEvent("run_archived")] } as const;
      await store.apply({ ...archive, run_id: second });
      await store.apply({ ...archive, run_id: first });
      await store.apply({ ...archive, run_id: second });
      // Progress is no change of this order.
      await store.apply({ run_id: third, at: AT, bump_revision: false, run: { last_words: "busy" }, events: [anEvent()] });
      const later = await changed(all.present);
      expect(later.changes.map(({ run }) => [run.run_id, run.revision])).toEqual([
        [first, 2],
        [second, 3],
      ]);
      const pages = [];
      for (let at = 0; ; ) {
        const { changes } = await changed(at, 1);
        const [next] = changes;
        if (next === undefined) break;
        pages.push(next.run.run_id);
        at = next.position;
      }
      expect(pages).toEqual([third, fourth, first, second]);
      expect(await changed(later.present)).toMatchObject({ changes: [], forgotten: false });
    });

    it("says when changes after a place are kept no more, or the place is not of this store", async () => {
      const place = await newStorePlace(backend);
      const store = await place.open();
      for (let n = 0; n < 4; n += 1) await store.createRun(aNewRun());
      await rawSql(place, "delete from run_moves where position <= 2");
      const forgotten = async (after: number) => (await store.changedRuns({ owner: "owner", after, limit: 9 })).forgotten;
      expect([await forgotten(0), await forgotten(1), await forgotten(2), await forgotten(4), await forgotten(5)]).toEqual([
        true,
        true,
        false,
        false,
        true,
      ]);
    });

    it("moves the stamp, whoever writes: this handle, another one, and what an engine says", async () => {
      const place = await newStorePlace(backend);
      const [store, other] = [await place.open(), await place.open()];
      const stamps = [await store.stamp()];
      const run = await store.createRun(aNewRun());
      stamps.push(await store.stamp());
      await other.createRun(aNewRun());
      stamps.push(await store.stamp());
      await other.appendJournal({ run_id: run.run_id, fence: run.fence, at: AT, entries: aFlush() });
      stamps.push(await store.stamp());
      expect(new Set(stamps).size).toBe(stamps.length);
    });
  });
}

it("the stamp of SQLite stands still while nobody writes", async () => {
  const place = await newStorePlace("sqlite");
  const [store, other] = [await place.open(), await place.open()];
  const run = await store.createRun(aNewRun());
  const before = await store.stamp();
  await other.run(run.run_id, "owner");
  await store.events(run.run_id, { after: 0, limit: 5 });
  expect(await store.stamp()).toBe(before);
});
