import { describe, expect, it } from "vitest";
import { epochMs } from "../../src/run/clock.ts";
import { RUN_STATES, type RunRecord, type RunState } from "../../src/run/run.ts";
import { STOP_REASONS, stopReasonRow } from "../../src/run/stop-reason.ts";
import type { RunFilter, Store } from "../../src/store/store.ts";
import { AT, aNewRun, anEvent } from "../support/records.ts";
import { backends, newStore, newStorePlace, rawSql } from "../support/stores.ts";

const ALL: RunFilter = { owner: "owner", archived: false, limit: 50 };

const FILTERS: readonly Omit<RunFilter, "owner" | "limit">[] = [
  { archived: false },
  { archived: true },
  { archived: false, states: ["stopped"] },
  { archived: false, states: ["running", "queued", "stopping"] },
  { archived: false, stop_reasons: ["failed", "max_iterations"] },
  { archived: false, resumable: true },
  { archived: false, resumable: false },
  { archived: false, needs_attention: true },
  { archived: false, common_dir: "/r1/.git" },
  { archived: false, remote: "host/r2" },
  { archived: false, common_dir: "/r1/.git", remote: "host/r2", states: ["stopped"] },
  { archived: false, changed_since: minute(40) },
  { archived: false, changed_since: minute(40), common_dir: "/r0/.git", needs_attention: true },
];

for (const backend of backends) {
  describe(`the list of runs in ${backend}`, () => {
    it("agrees with a look at every run, for every filter, over all its pages", async () => {
      const store = await newStore(backend);
      const runs: RunRecord[] = [];
      const random = randomOf(7);
      for (let n = 0; n < 70; n += 1) runs.push(await store.createRun(aNewRun(randomRun(random, n))));
      for (let n = 70; n < 110; n += 1) {
        const index = Math.floor(random() * runs.length);
        const run = runs[index];
        if (run === undefined) continue;
        const { state, stop_reason, archived_at, waiting_until, was_reset } = randomRun(random, n);
        const patch = { state, stop_reason, archived_at, waiting_until, was_reset };
        runs.splice(index, 1);
        runs.push(await store.apply({ run_id: run.run_id, at: minute(n), bump_revision: true, events: [anEvent()], run: patch }));
      }
      await store.createRun(aNewRun({ owner: "somebody" }));
      for (const filter of FILTERS) {
        const expected = runs.filter((run) => matches(run, filter)).reverse();
        const pages = await allPages(store, { ...filter, owner: "owner", limit: 9 });
        expect(pages.runs, JSON.stringify(filter)).toEqual(expected);
        expect(pages.total).toBe(expected.length);
        expect(pages.by_state).toEqual(countByState(expected));
      }
    });

    it("shows every run once while runs change, begin and end between its pages", async () => {
      const store = await newStore(backend);
      const ids: string[] = [];
      for (let n = 0; n < 30; n += 1) ids.unshift((await store.createRun(aNewRun({ created_at: minute(n) }))).run_id);
      const seen: string[] = [];
      const random = randomOf(3);
      for (let cursor: string | undefined; ; ) {
        const page = await store.runs(cursor === undefined ? { ...ALL, limit: 4 } : { ...ALL, limit: 4, cursor });
        seen.push(...page.runs.map((run) => run.run_id));
        if (page.next_cursor === null) break;
        cursor = page.next_cursor;
        for (let n = 0; n < 5; n += 1) {
          const run_id = ids[Math.floor(random() * ids.length)] ?? "";
          await store.apply({ run_id, at: minute(40), bump_revision: true, events: [anEvent()], run: { state: "running" } });
        }
        await store.createRun(aNewRun());
      }
      expect(seen).toEqual(ids);
    });

    it("refuses a cursor that it did not give", async () => {
      const store = await newStore(backend);
      for (const cursor of ["", "nonsense", Buffer.from("[1,2]").toString("base64url")]) {
        await expect(store.runs({ ...ALL, cursor })).rejects.toMatchObject({ code: "bad_input" });
      }
    });

    it("refuses a cursor after a day, when the order of its first page is no longer known", async () => {
      const store = await newStore(backend);
      for (let n = 0; n < 3; n += 1) await store.createRun(aNewRun());
      const { next_cursor } = await store.runs({ ...ALL, limit: 1 });
      const parts: unknown = JSON.parse(Buffer.from(next_cursor ?? "", "base64url").toString());
      const old = JSON.stringify(parts).replace(/\d+\]$/, `${epochMs() - 25 * 3_600_000}]`);
      const cursor = Buffer.from(old).toString("base64url");
      await expect(store.runs({ ...ALL, limit: 1, cursor })).rejects.toMatchObject({
        message: expect.stringContaining("a day old"),
      });
    });

    it("leaves a damaged run out, tells of it, and shows the others", async () => {
      const told: unknown[] = [];
      const place = await newStorePlace(backend, (error) => told.push(error));
      const store = await place.open();
      const damaged = await store.createRun(aNewRun());
      const whole = await store.createRun(aNewRun());
      place.replays.except(damaged.run_id);
      await rawSql(place, `update runs set settings = '{' where run_id = '${damaged.run_id}'`);
      expect((await store.runs(ALL)).runs).toEqual([whole]);
      expect(told).toHaveLength(1);
      await expect(store.run(damaged.run_id, "owner")).rejects.toMatchObject({ code: "store_unavailable" });
    });
  });
}

describe("the matching of lists", () => {
  it("covers every stop reason in the test's own model", () => {
    expect(STOP_REASONS.filter((reason) => !stopReasonRow(reason).resumable)).toEqual(["done"]);
  });
});

function matches(run: RunRecord, filter: Omit<RunFilter, "owner" | "limit">): boolean {
  const inRepository =
    run.repo_common_dir === filter.common_dir || (run.repo_remote !== null && run.repo_remote === filter.remote);
  if ((filter.common_dir !== undefined || filter.remote !== undefined) && !inRepository) return false;
  if ((run.archived_at !== null) !== filter.archived) return false;
  if (filter.states !== undefined && !filter.states.includes(run.state)) return false;
  if (filter.stop_reasons !== undefined && !filter.stop_reasons.some((reason) => reason === run.stop_reason)) return false;
  if (filter.changed_since !== undefined && run.changed_at < filter.changed_since) return false;
  const stopped = run.state === "stopped" && run.archived_at === null;
  const resumable = stopped && run.stop_reason !== "done" && run.reclaimed_at === null && run.was_reset === null;
  if (filter.resumable !== undefined && resumable !== filter.resumable) return false;
  return filter.needs_attention === undefined || (stopped && run.waiting_until === null) === filter.needs_attention;
}

function randomRun(
  random: () => number,
  n: number,
): Partial<RunRecord> & Pick<RunRecord, "state" | "stop_reason" | "archived_at" | "waiting_until" | "was_reset"> {
  const pick = <T>(values: readonly T[]): T | undefined => values[Math.floor(random() * values.length)];
  const state = pick([...RUN_STATES, "stopped", "stopped"] as const) ?? "queued";
  const repository = Math.floor(random() * 3);
  const reasons = STOP_REASONS.filter((reason) => reason !== "done");
  return {
    state,
    stop_reason: state === "done" ? "done" : state === "stopped" ? (pick(reasons) ?? null) : null,
    repo_common_dir: `/r${repository}/.git`,
    repo_remote: random() < 0.3 ? null : `host/r${Math.floor(random() * 3)}`,
    archived_at: random() < 0.15 ? AT : null,
    waiting_until: random() < 0.2 ? AT : null,
    was_reset: random() < 0.1 ? "cp_1" : null,
    reclaimed_at: random() < 0.1 ? AT : null,
    created_at: minute(n),
    changed_at: minute(n),
  };
}

async function allPages(store: Store, filter: RunFilter) {
  const first = await store.runs(filter);
  const runs = [...first.runs];
  for (let cursor = first.next_cursor; cursor !== null; ) {
    const page = await store.runs({ ...filter, cursor });
    runs.push(...page.runs);
    cursor = page.next_cursor;
  }
  return { runs, total: first.total, by_state: first.by_state };
}

function countByState(runs: readonly RunRecord[]): Record<RunState, number> {
  const count = (state: RunState) => runs.filter((run) => run.state === state).length;
  return {
    queued: count("queued"),
    running: count("running"),
    stopping: count("stopping"),
    stopped: count("stopped"),
    done: count("done"),
  };
}

function minute(n: number): string {
  return `2026-11-29T${String(10 + Math.floor(n / 60)).padStart(2, "0")}:${String(n % 60).padStart(2, "0")}:00.000Z`;
}

/** The same numbers at every run of the tests (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
