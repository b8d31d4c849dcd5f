import { beforeAll, describe, expect, it } from "vitest";
import { now } from "../../src/run/clock.ts";
import { LeaseLostError, LoopkeeperError } from "../../src/run/errors.ts";
import type { RunRecord } from "../../src/run/run.ts";
import type { RunChange, Store } from "../../src/store/store.ts";
import { AT, aNewRun, anEntry, anEvent, anIdentity, anIteration } from "../support/records.ts";
import { backends, newStore } from "../support/stores.ts";

const LATER = "2026-11-29T20:00:00.000Z";

for (const backend of backends) {
  describe(`a change in ${backend}`, () => {
    let store: Store;
    beforeAll(async () => {
      store = await newStore(backend);
    });

    it("moves the revision and changed_at only when it says so", async () => {
      const run = await store.createRun(aNewRun());
      const usage = { input_tokens: 1, output_tokens: 2, cost_usd: null, active_ms: 3 };
      const quiet = await store.apply({
        run_id: run.run_id,
        at: LATER,
        bump_revision: false,
        events: [anEvent()],
        run: { usage, progress_at: LATER },
      });
      expect(quiet).toEqual({ ...run, usage, progress_at: LATER });
      const loud = await store.apply({
        run_id: run.run_id,
        at: LATER,
        bump_revision: true,
        events: [anEvent()],
        run: { state: "running" },
      });
      expect(loud).toEqual({ ...quiet, state: "running", revision: 2, changed_at: LATER });
      expect(await store.run(run.run_id, "owner")).toEqual(loud);
    });

    it("names both revisions when the run moved since the writer looked", async () => {
      const run = await store.createRun(aNewRun());
      const change = { run_id: run.run_id, at: AT, bump_revision: true, events: [anEvent()], expected_revision: 1 } as const;
      await store.apply(change);
      const error = await refusal(store.apply({ ...change, grants: [{ iterations: 1, at: AT }] }));
      expect(error.code).toBe("revision_conflict");
      expect(error.message).toMatch(/expected_revision is 1, its revision is 2/);
      expect(await store.grants(run.run_id)).toEqual([]);
    });

    it("refuses a writer whose lease was taken over, and stores nothing of it", async () => {
      const run = await queuedAndClaimed(store);
      const [lease] = (await store.leases()).filter((row) => row.run_id === run.run_id);
      if (lease === undefined) throw new Error("no lease");
      await store.takeOver(lease, "w2", anIdentity(2));
      const late = {
        run_id: run.run_id,
        at: AT,
        fence: 1,
        bump_revision: true,
        events: [anEvent()],
        run: { iteration: 9 },
      } as const;
      await expect(store.apply({ ...late, iterations: [anIteration(1)] })).rejects.toBeInstanceOf(LeaseLostError);
      await expect(
        store.appendJournal({ run_id: run.run_id, fence: 1, at: AT, entries: [anEntry("late")] }),
      ).rejects.toBeInstanceOf(LeaseLostError);
      expect(await store.run(run.run_id, "owner")).toMatchObject({ iteration: 0, fence: 2, revision: 1 });
      expect(await store.iterations(run.run_id, 5)).toEqual([]);
      expect((await store.journal(run.run_id, { limit: 5 })).total).toBe(0);
      await store.apply({ ...late, fence: 2 });
    });

    it("stores a request only together with its effect", async () => {
      const run = await store.createRun(aNewRun());
      const request = {
        owner: "owner",
        request_id: `r-${run.run_id}`,
        tool: "t",
        args_hash: "h",
        run_id: run.run_id,
        answer: "{}",
      };
      const change: RunChange = {
        run_id: run.run_id,
        at: AT,
        bump_revision: true,
        events: [anEvent()],
        grants: [{ iterations: 5, at: AT }],
        request: { ...request, at: now() },
      };
      await refusal(store.apply({ ...change, steps: [{ step: "no such step", state: "running" }] }));
      expect(await store.findRequest("owner", request.request_id)).toBeNull();
      expect(await store.grants(run.run_id)).toEqual([]);
      await store.apply(change);
      const twice = await refusal(store.apply(change));
      expect(twice.code).toBe("revision_conflict");
      expect(await store.run(run.run_id, "owner")).toMatchObject({ max_iterations: 15, revision: 2 });
    });

    it("has a request's effect once when the same call comes several times at the same moment", async () => {
      const run = await store.createRun(aNewRun());
      const request = {
        owner: "owner",
        request_id: `p-${run.run_id}`,
        tool: "t",
        args_hash: "h",
        run_id: run.run_id,
        answer: "{}",
      };
      const calls = Array.from({ length: 6 }, () =>
        store.apply({
          run_id: run.run_id,
          at: AT,
          bump_revision: true,
          events: [anEvent()],
          grants: [{ iterations: 5, at: AT }],
          request: { ...request, at: now() },
        }),
      );
      const results = await Promise.allSettled(calls);
      expect(results.filter((result) => result.status === "fulfilled")).toHaveLength(1);
      expect(await store.run(run.run_id, "owner")).toMatchObject({ max_iterations: 15 });
    });

    it("lets one run hold a working tree and names it to the next", async () => {
      const tree = "/trees/tree-held";
      const first = await store.createRun({ ...aNewRun(), tree_hold: tree });
      const refused = await refusal(store.createRun({ ...aNewRun(), tree_hold: tree }));
      expect(refused.code).toBe("already_running");
      expect(refused.message).toContain(first.run_id);
      expect((await store.holderOf(tree))?.run_id).toBe(first.run_id);
      await store.apply({
        run_id: first.run_id,
        at: AT,
        bump_revision: true,
        events: [anEvent()],
        run: { state: "stopped" },
        tree_hold: null,
      });
      expect(await store.holderOf(tree)).toBeNull();
      const second = await store.createRun({ ...aNewRun(), tree_hold: tree });
      const resumed = store.apply({
        run_id: first.run_id,
        at: AT,
        bump_revision: true,
        events: [anEvent()],
        run: { state: "queued" },
        tree_hold: tree,
      });
      expect((await refusal(resumed)).message).toContain(second.run_id);
      expect(await store.run(first.run_id, "owner")).toMatchObject({ state: "stopped" });
    });

    it("lets only one of several simultaneous starts have a working tree", async () => {
      // Many rounds: two of them have to meet between a look at the tree and the taking of it.
      for (let round = 1; round <= 40; round += 1) {
        const tree_hold = `/trees/contested-${round}`;
        const results = await Promise.allSettled(Array.from({ length: 5 }, () => store.createRun({ ...aNewRun(), tree_hold })));
        expect(results.filter((result) => result.status === "fulfilled")).toHaveLength(1);
        for (const result of results) {
          if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "already_running" });
        }
      }
    });

    it("treats the hold of a run that ended without giving it up as free, unless a door works on the tree", async () => {
      const tree = "/trees/left-behind";
      const ended = await store.createRun({ ...aNewRun({ state: "stopped" }), tree_hold: tree });
      const lease = await store.leaseIdle(ended.run_id, "door", anIdentity());
      const refused = await refusal(store.createRun({ ...aNewRun(), tree_hold: tree }));
      expect(refused.message).toContain(ended.run_id);
      await store.releaseLease(ended.run_id, lease?.fence ?? 0);
      const next = await store.createRun({ ...aNewRun(), tree_hold: tree });
      expect((await store.holderOf(tree))?.run_id).toBe(next.run_id);
    });

    it("says that a run does not exist", async () => {
      const missing = await refusal(store.apply({ run_id: "run_none", at: AT, bump_revision: true, events: [anEvent()] }));
      expect(missing.code).toBe("run_not_found");
    });

    it("delivers an instruction once", async () => {
      const instruction = {
        id: "i",
        kind: "instructions",
        text: "do",
        at: AT,
        delivered_at: null,
        delivered_iteration: null,
      } as const;
      const run = await store.createRun({ ...aNewRun(), instructions: [instruction] });
      for (const iteration of [1, 2]) {
        await store.apply({
          run_id: run.run_id,
          at: AT,
          bump_revision: true,
          events: [anEvent()],
          delivered: { ids: ["i"], iteration },
        });
      }
      expect(await store.instructions(run.run_id, "all")).toEqual([{ ...instruction, delivered_at: AT, delivered_iteration: 1 }]);
    });
  });
}

async function queuedAndClaimed(store: Store): Promise<RunRecord> {
  const run = await store.createRun(aNewRun());
  for (;;) {
    const claim = await store.claimQueued("w1", anIdentity());
    if (claim === null) throw new Error("nothing to claim");
    if (claim.run.run_id === run.run_id) return claim.run;
  }
}

async function refusal(work: Promise<unknown>): Promise<LoopkeeperError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof LoopkeeperError) return error;
  throw new Error(`not refused as expected: ${String(error)}`);
}
