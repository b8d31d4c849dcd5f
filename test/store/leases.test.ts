import { beforeEach, describe, expect, it } from "vitest";
import { epochMs, isoOf } from "../../src/run/clock.ts";
import type { LeaseRecord, Store } from "../../src/store/store.ts";
import { AT, aNewRun, anEvent, anIdentity } from "../support/records.ts";
import { backends, newStorePlace, rawSql, type StorePlace } from "../support/stores.ts";

for (const backend of backends) {
  describe(`leases in ${backend}`, () => {
    let place: StorePlace;
    let store: Store;
    beforeEach(async () => {
      place = await newStorePlace(backend);
      store = await place.open();
    });

    it("go to the oldest queued run first, and raise its fence", async () => {
      const first = await store.createRun(aNewRun());
      const second = await store.createRun(aNewRun());
      await store.createRun(aNewRun({ state: "stopped", stop_reason: "failed" }));
      expect(await store.claimQueued("w1", anIdentity())).toEqual({ run: { ...first, fence: 1 }, fence: 1 });
      expect((await store.claimQueued("w2", anIdentity()))?.run.run_id).toBe(second.run_id);
      expect(await store.claimQueued("w1", anIdentity())).toBeNull();
      expect(await store.leases()).toHaveLength(2);
    });

    it("wait for the time that a run waits for", async () => {
      const later = await store.createRun(aNewRun({ waiting_until: isoOf(epochMs() + 3_600_000) }));
      expect(await store.claimQueued("w1", anIdentity())).toBeNull();
      const due = await store.createRun(aNewRun({ waiting_until: isoOf(epochMs() - 60_000) }));
      expect((await store.claimQueued("w1", anIdentity()))?.run.run_id).toBe(due.run_id);
      expect((await store.liveRuns()).map((run) => run.run_id)).toEqual([later.run_id]);
    });

    it("are renewed only by their own fence", async () => {
      const { run_id } = await store.createRun(aNewRun());
      await store.claimQueued("w1", anIdentity());
      expect(await store.renewLease(run_id, 1)).toBe(true);
      expect(await store.renewLease(run_id, 0)).toBe(false);
      expect(await onlyLease(store)).toMatchObject({ beat: 1, fence: 1, worker_id: "w1", identity: anIdentity() });
      expect((await store.run(run_id, "owner"))?.alive_at).not.toBeNull();
      expect((await store.run(run_id, "owner"))?.revision).toBe(1);
    });

    it("are taken over only as they were seen", async () => {
      const { run_id } = await store.createRun(aNewRun());
      await store.claimQueued("w1", anIdentity());
      const seen = await onlyLease(store);
      await store.renewLease(run_id, 1);
      expect(await store.takeOver(seen, "w2", anIdentity(2))).toBeNull();
      expect((await store.run(run_id, "owner"))?.fence).toBe(1);
      const taken = await store.takeOver(await onlyLease(store), "w2", anIdentity(2));
      expect(taken).toMatchObject({ fence: 2, run: { run_id, fence: 2 } });
      expect(await store.renewLease(run_id, 1)).toBe(false);
      expect(await store.renewLease(run_id, 2)).toBe(true);
    });

    it("pass to exactly one of several that take over at once", async () => {
      await store.createRun(aNewRun());
      await store.claimQueued("w1", anIdentity());
      const seen = await onlyLease(store);
      const others = await Promise.all([place.open(), place.open(), place.open()]);
      const taken = await Promise.all(others.map((other, n) => other.takeOver(seen, `w${n + 2}`, anIdentity(n))));
      expect(taken.filter((result) => result !== null)).toHaveLength(1);
      expect((await onlyLease(store)).fence).toBe(2);
    });

    it("end only by their own fence, and a run without one is told among the live ones", async () => {
      const { run_id } = await store.createRun(aNewRun());
      await store.claimQueued("w1", anIdentity());
      expect(await store.liveRuns()).toEqual([]);
      await store.releaseLease(run_id, 7);
      expect(await store.leases()).toHaveLength(1);
      await store.releaseLease(run_id, 1);
      expect((await store.liveRuns()).map((run) => run.run_id)).toEqual([run_id]);
      expect((await store.claimQueued("w2", anIdentity()))?.fence).toBe(2);
    });

    it("on a run that is not live go to one door at a time, and never on a live one", async () => {
      const { run_id } = await store.createRun(aNewRun({ state: "stopped", stop_reason: "failed" }));
      expect(await store.leaseIdle(run_id, "door", anIdentity())).toEqual({ fence: 1 });
      expect(await store.leaseIdle(run_id, "other", anIdentity())).toBeNull();
      await store.releaseLease(run_id, 1);
      expect(await store.leaseIdle(run_id, "other", anIdentity())).toEqual({ fence: 2 });
      await store.releaseLease(run_id, 2);
      await store.apply({
        run_id,
        at: AT,
        bump_revision: true,
        events: [anEvent()],
        run: { state: "queued", stop_reason: null },
      });
      expect(await store.leaseIdle(run_id, "door", anIdentity())).toBeNull();
      expect(await store.leaseIdle("run_none", "door", anIdentity())).toBeNull();
    });

    it("are given past a damaged run in the queue", async () => {
      const damaged = await store.createRun(aNewRun());
      const whole = await store.createRun(aNewRun());
      place.replays.except(damaged.run_id);
      await rawSql(place, `update runs set usage = 'x' where run_id = '${damaged.run_id}'`);
      expect((await store.claimQueued("w1", anIdentity()))?.run.run_id).toBe(whole.run_id);
      expect(await store.claimQueued("w1", anIdentity())).toBeNull();
    });
  });
}

async function onlyLease(store: Store): Promise<LeaseRecord> {
  const [lease] = await store.leases();
  if (lease === undefined) throw new Error("no lease");
  return lease;
}
