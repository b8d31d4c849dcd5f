import { beforeAll, describe, expect, test } from "vitest";
import { ceilings } from "../../src/loop/decide.ts";
import { resumeNeeds } from "../../src/resume/gate.ts";
import { refusalOf } from "../../src/resume/refusals.ts";
import { reopenChange } from "../../src/resume/reopen.ts";
import type { RunRecord } from "../../src/run/run.ts";
import type { StopReason } from "../../src/run/stop-reason.ts";
import type { Store } from "../../src/store/store.ts";
import { AT, aNewRun, anEvent, anIdentity, anIteration, aStep, aStop } from "../support/records.ts";
import { backends, newStore } from "../support/stores.ts";

/** Numbers that a seed fixes, so that a history that fails can be played again. */
function seeded(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
}

/** As the loop decides it before each iteration. */
function mayGoOn(run: RunRecord): boolean {
  return ceilings(run, aStep(), { entry_key: "", keys: [] }).kind === "go_on";
}

/** One run over its life: driven, stopped, crashed, granted, resumed, every call now and then repeated. */
class History {
  readonly #store: Store;
  readonly #next: (below: number) => number;
  readonly #run_id: string;
  readonly #cap: number;
  /** What the owner was answered: all of it must be so in the end, and nothing more. */
  #granted = 0;
  #calls = 0;

  constructor(store: Store, seed: number, runId: string, cap: number) {
    this.#store = store;
    this.#next = seeded(seed);
    this.#run_id = runId;
    this.#cap = cap;
  }

  async play(moves: number): Promise<void> {
    for (let move = 0; move < moves; move += 1) {
      const run = await this.#run();
      if (run.state === "queued" || run.state === "running") await this.#drive(run);
      else if (this.#next(3) === 0) await this.#grant(run);
      else await this.#resume(run);
      if (this.#next(4) === 0) await this.#grant(await this.#run());
    }
    const run = await this.#run();
    const ledger = await this.#store.grants(this.#run_id);
    const finished = (await this.#store.iterations(this.#run_id, 1_000)).filter((iteration) => iteration.finished);
    expect(ledger.reduce((sum, grant) => sum + grant.iterations, 0)).toBe(this.#granted);
    expect(run.max_iterations).toBe(this.#cap + this.#granted);
    expect(finished).toHaveLength(run.iteration);
    expect(run.iteration).toBeLessThanOrEqual(run.max_iterations);
  }

  async #run(): Promise<RunRecord> {
    const run = await this.#store.run(this.#run_id, "owner");
    if (run === null) throw new Error("the run is gone");
    return run;
  }

  /** A driver: some iterations as long as the ceiling allows, then a stop, or a death that another one takes over. */
  async #drive(queued: RunRecord): Promise<void> {
    const lease = await this.#claim(queued);
    let run = await this.#change(lease, { state: "running", stop_reason: null });
    for (let turns = this.#next(4); turns > 0 && mayGoOn(run); turns -= 1) {
      if (this.#next(6) === 0) break;
      run = await this.#store.apply({
        run_id: this.#run_id,
        at: AT,
        fence: lease,
        bump_revision: true,
        events: [anEvent()],
        run: { iteration: run.iteration + 1 },
        iterations: [anIteration(run.iteration + 1, { finished: true })],
      });
      if (this.#next(5) === 0) await this.#grant(run);
      run = await this.#run();
    }
    const died = this.#next(3) === 0;
    const fence = died ? await this.#takenOver(lease) : lease;
    const reason: StopReason = died ? "interrupted" : !mayGoOn(run) ? "max_iterations" : this.#reason();
    const stop = aStop({ reason, iteration: run.iteration, step: "main" });
    await this.#store.apply({
      run_id: this.#run_id,
      at: AT,
      fence,
      bump_revision: true,
      events: [anEvent()],
      run: { state: "stopped", stop_reason: reason, stop },
      steps: [{ step: "main", state: "stopped" }],
      tree_hold: null,
    });
    await this.#store.releaseLease(this.#run_id, fence);
  }

  #reason(): StopReason {
    return (["engine_limit", "relay_timeout", "cancelled", "storage"] as const)[this.#next(4)] ?? "cancelled";
  }

  async #claim(queued: RunRecord): Promise<number> {
    const claimed = await this.#store.claimQueued("worker", anIdentity());
    if (claimed?.run.run_id !== queued.run_id) throw new Error("another run was claimed");
    return claimed.fence;
  }

  /** What the dead driver still tries to write is refused. */
  async #takenOver(fence: number): Promise<number> {
    const [lease] = (await this.#store.leases()).filter((held) => held.run_id === this.#run_id);
    if (lease === undefined) throw new Error("no lease");
    const taken = await this.#store.takeOver(lease, "another", anIdentity(2));
    if (taken === null) throw new Error("not taken over");
    await expect(this.#change(fence, { iteration: 999 })).rejects.toThrow("taken over");
    return taken.fence;
  }

  #change(fence: number, run: Partial<Pick<RunRecord, "state" | "stop_reason" | "iteration">>): Promise<RunRecord> {
    return this.#store.apply({ run_id: this.#run_id, at: AT, fence, bump_revision: true, events: [anEvent()], run });
  }

  async #grant(run: RunRecord): Promise<void> {
    if (refusalOf("grant", run) !== null) return;
    const iterations = 1 + this.#next(3);
    await this.#once(iterations, (request) =>
      this.#store.apply({
        run_id: this.#run_id,
        at: AT,
        bump_revision: true,
        events: [anEvent()],
        grants: [{ iterations, at: AT }],
        ...request,
      }),
    );
  }

  async #resume(run: RunRecord): Promise<void> {
    if (refusalOf("resume", run) !== null) return;
    const [steps, attempts] = await Promise.all([this.#store.steps(this.#run_id), this.#store.attempts(this.#run_id)]);
    const needs = resumeNeeds({ run, steps, attempts, undelivered: [] }, "stop");
    const add = needs.includes("add_iterations") ? 1 + this.#next(3) : this.#next(2);
    const change = reopenChange(
      { run, steps, attempts },
      {
        at: AT,
        from: "stop",
        by: "owner",
        add_iterations: add,
        instructions: [],
        settings: run.settings,
        model: null,
        verify: null,
        data: {},
        also: [],
      },
    );
    if (change === null) throw new Error("not reopened");
    await this.#once(add, (request) => this.#store.apply({ ...change, run_id: this.#run_id, at: AT, ...request }));
  }

  /** One call, which its client may send again: once after the answer, or twice at the same time. */
  async #once(
    iterations: number,
    call: (request: { request: Parameters<Store["apply"]>[0]["request"] & object }) => Promise<unknown>,
  ) {
    this.#calls += 1;
    const request_id = `${this.#run_id}-${this.#calls}`;
    const request = {
      owner: "owner",
      request_id,
      tool: "run_grant_iterations",
      args_hash: "hash",
      run_id: this.#run_id,
      answer: "{}",
      at: new Date().toISOString(),
    };
    const times = 1 + this.#next(2);
    const sent = await Promise.allSettled(Array.from({ length: times }, () => call({ request })));
    if (this.#next(3) === 0) await expect(call({ request })).rejects.toThrow();
    expect(sent.filter((one) => one.status === "fulfilled")).toHaveLength(1);
    expect(await this.#store.findRequest("owner", request_id)).not.toBeNull();
    this.#granted += iterations;
  }
}

/** Fewer on Postgres, whose every transaction is a round trip and a flush. */
const HISTORIES = { sqlite: 1_000, postgres: 40 } as const;

for (const backend of backends) {
  describe(`the ledger of grants in ${backend}`, () => {
    let store: Store;
    beforeAll(async () => {
      store = await newStore(backend);
    });

    test(`is first cap and grants over ${HISTORIES[backend]} random histories of stops, deaths and repeated calls`, async () => {
      for (let seed = 1; seed <= HISTORIES[backend]; seed += 1) {
        const cap = 1 + (seed % 4);
        const { run_id } = await store.createRun(aNewRun({ first_cap: cap, max_iterations: cap }));
        await new History(store, seed, run_id, cap).play(3);
        const run = await store.run(run_id, "owner");
        // Nothing of this history is left for the next one to claim.
        if (run?.state === "queued")
          await store.apply({ run_id, at: AT, bump_revision: true, events: [anEvent()], run: { state: "stopped" } });
      }
    }, 400_000);
  });
}
