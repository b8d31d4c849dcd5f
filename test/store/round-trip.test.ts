import { beforeAll, describe, expect, it } from "vitest";
import { now } from "../../src/run/clock.ts";
import type { CheckpointRecord, RunRecord, VerifyRecord } from "../../src/run/run.ts";
import type { RequestRecord, Store } from "../../src/store/store.ts";
import { AT, aNewRun, anAttempt, anEntry, anEvent, anIdentity, anIteration, aRun, aStep, aStop } from "../support/records.ts";
import { backends, newStore } from "../support/stores.ts";

const ODD_TEXT = 'Zeile 1\n"quotes" \\ 日本語 🙂 \u0000 \ud800 \u2028 end';

const FULL: Partial<RunRecord> = {
  objective: "An objective with ünïcode",
  model: "m",
  mode: "code",
  state: "stopped",
  stop_reason: "escalated",
  stop: aStop({
    reason: "escalated",
    question: { kind: "permission", text: "May I?", command: "git push" },
    resets_at: AT,
    resets_at_source: "resets 3am",
    uncommitted: {
      total_files: 1,
      added: 1,
      removed: 2,
      truncated: false,
      checkpoint: "cp_1",
      files: [{ path: "a.ts", status: "modified", added: 1, removed: null, binary: false, owner: "this_run" }],
    },
    open_tool_calls: ["npm test"],
    gaps: ["events 1-2 unreadable"],
  }),
  stop_request: { mode: "now", why: "enough", at: AT },
  settings: {
    ...aRun().settings,
    budget: { cost_usd: 1.5, tokens: 5_000_000_000 },
    auto_resume: { reasons: ["engine_limit"], times: 3, used: 1 },
    allow: ["npm test"],
  },
  usage: { input_tokens: 9_000_000_000, output_tokens: 3, cost_usd: 0.125, active_ms: 12 },
  plan: [{ content: "one", status: "completed" }],
  report: { completed: ["a"], midway: null, intended: ["b"], verdict: "needs_human", question: "May I?", summary: "s" },
  last_words: "bye",
  resume_note: "note",
  predecessor_run_id: "run_before",
  was_reset: "cp_9",
  started_at: AT,
  alive_at: AT,
  progress_at: AT,
  waiting_until: AT,
  stopped_at: AT,
  archived_at: AT,
  reclaimed_at: AT,
  fence: 7,
};

for (const backend of backends) {
  describe(`records in ${backend}`, () => {
    let store: Store;
    beforeAll(async () => {
      store = await newStore(backend);
    });

    it("gives a whole run back as it was stored", async () => {
      const created = aNewRun(FULL);
      expect(await store.createRun(created)).toEqual(created.run);
      expect(await store.run(created.run.run_id, "owner")).toEqual(created.run);
    });

    it("shows a run to its owner alone", async () => {
      const { run } = aNewRun();
      await store.createRun({ ...aNewRun(), run });
      expect(await store.run(run.run_id, "somebody")).toBeNull();
      expect(await store.runsByPrefix(run.run_id, "somebody", 5)).toEqual([]);
    });

    it("keeps texts of any kind readable; a NUL character becomes a replacement character", async () => {
      const { run } = await createdRun(store);
      const after = await store.apply({
        run_id: run.run_id,
        at: AT,
        bump_revision: true,
        run: { last_words: ODD_TEXT, plan: [{ content: ODD_TEXT, status: "pending" }] },
        journal: [anEntry(ODD_TEXT, { data: { raw: ODD_TEXT } })],
        events: [{ type: "run_stopped", at: AT, data: { text: ODD_TEXT } }],
      });
      const read = await store.run(run.run_id, "owner");
      expect(read?.plan[0]?.content).toBe(ODD_TEXT);
      expect(read?.last_words).toBe('Zeile 1\n"quotes" \\ 日本語 🙂 \uFFFD \uFFFD \u2028 end');
      expect(after.revision).toBe(2);
      const { entries } = await store.journal(run.run_id, { limit: 5 });
      expect(entries).toEqual([{ n: 1, ...anEntry(ODD_TEXT, { data: { raw: ODD_TEXT } }) }]);
      expect((await store.events(run.run_id, { limit: 1 }))[0]?.data).toEqual({ text: ODD_TEXT });
    });

    it("gives every record of a run back as it was stored", async () => {
      const run_id = aRun().run_id;
      const steps = [aStep(), aStep({ step: "two", position: 1, needs: ["main"], title: "Second", max_iterations: 4 })];
      const instruction = {
        id: "i1",
        kind: "instructions",
        text: "do",
        at: AT,
        delivered_at: null,
        delivered_iteration: null,
      } as const;
      await store.createRun({ ...aNewRun({ run_id }), steps, instructions: [instruction] });
      const checkpoint = aCheckpoint("cp_1");
      const verify = aVerify("npm test", 1);
      const act = { kind: "commit", what: "Fix it", ref: "c".repeat(40), iteration: 1, at: AT, status: "landed" } as const;
      await store.apply({
        run_id,
        at: AT,
        bump_revision: true,
        events: [anEvent()],
        steps: [{ step: "two", state: "running", verify: ["make"] }],
        attempts: [{ step: "main", attempt: 1, context: "handoff", why_handoff: "key", ended_by: "failed" }],
        open_attempts: [anAttempt({ step: "two", note: "a note" })],
        iterations: [anIteration(1, { cost_usd: 0.5, input_tokens: 3_000_000_000 })],
        acts: [act],
        grants: [{ iterations: 5, at: AT }],
        checkpoints: [checkpoint, aCheckpoint("cp_2")],
        verify: [verify, aVerify("make", null)],
        new_instructions: [{ ...instruction, id: "i2", kind: "updates" }],
        delivered: { ids: ["i1"], iteration: 1 },
      });
      expect(await store.steps(run_id)).toEqual([steps[0], { ...steps[1], state: "running", verify: ["make"] }]);
      expect(await store.attempts(run_id)).toEqual([
        anAttempt({ context: "handoff", why_handoff: "key", ended_by: "failed" }),
        anAttempt({ step: "two", note: "a note" }),
      ]);
      expect(await store.iterations(run_id, 5)).toEqual([anIteration(1, { cost_usd: 0.5, input_tokens: 3_000_000_000 })]);
      expect(await store.acts(run_id, 5)).toEqual([act]);
      expect(await store.grants(run_id)).toEqual([{ iterations: 5, at: AT }]);
      expect(await store.checkpoints(run_id, 5)).toEqual([aCheckpoint("cp_2"), checkpoint]);
      expect(await store.checkpoint(run_id, "cp_1")).toEqual(checkpoint);
      expect(await store.checkpoint(run_id, "cp_none")).toBeNull();
      expect(await store.lastVerify(run_id)).toEqual([verify, aVerify("make", null)]);
      expect(await store.instructions(run_id, "undelivered")).toEqual([{ ...instruction, id: "i2", kind: "updates" }]);
      expect(await store.instructions(run_id, "all")).toEqual([
        { ...instruction, delivered_at: AT, delivered_iteration: 1 },
        { ...instruction, id: "i2", kind: "updates" },
      ]);
    });

    it("replaces an iteration and a checkpoint that exist, and keeps the latest result of each command", async () => {
      const { run } = await createdRun(store);
      const change = { run_id: run.run_id, at: AT, bump_revision: true, events: [anEvent()] } as const;
      await store.apply({
        ...change,
        iterations: [anIteration(1), anIteration(2)],
        checkpoints: [aCheckpoint("cp_1"), aCheckpoint("cp_2")],
        verify: [aVerify("npm test", 1), aVerify("x".repeat(10_000), 0)],
      });
      await store.apply({
        ...change,
        iterations: [anIteration(1, { finished: true, summary: "done" })],
        checkpoints: [{ ...aCheckpoint("cp_1"), state: "lost" }],
        verify: [aVerify("npm test", 0)],
      });
      expect(await store.iterations(run.run_id, 5)).toEqual([
        anIteration(2),
        anIteration(1, { finished: true, summary: "done", revision: 3 }),
      ]);
      expect(await store.checkpoints(run.run_id, 5)).toEqual([aCheckpoint("cp_2"), { ...aCheckpoint("cp_1"), state: "lost" }]);
      expect(await store.lastVerify(run.run_id)).toEqual([aVerify("npm test", 0), aVerify("x".repeat(10_000), 0)]);
    });

    it("pages events from a number on, and gives the newest without one", async () => {
      const { run } = await createdRun(store);
      const begun = Array.from({ length: 6 }, (_, n) => ({ type: "iteration_started", at: AT, data: { n } }) as const);
      const events = [...begun.slice(1), anEvent("iteration_started")] as const;
      await store.apply({ run_id: run.run_id, at: AT, bump_revision: true, events });
      expect((await store.events(run.run_id, { limit: 2 })).map((event) => event.seq)).toEqual([6, 7]);
      expect((await store.events(run.run_id, { after: 2, limit: 3 })).map((event) => event.seq)).toEqual([3, 4, 5]);
    });

    it("keeps a request's answer, and lets it be completed later", async () => {
      const created = aNewRun();
      const request = aRequest(created.run.run_id, "r1");
      await store.createRun({ ...created, request });
      expect(await store.findRequest("owner", "r1")).toEqual(request);
      expect(await store.findRequest("somebody", "r1")).toBeNull();
      await store.updateRequestAnswer("owner", "r1", '{"context":"native"}');
      expect(await store.findRequest("owner", "r1")).toEqual({ ...request, answer: '{"context":"native"}' });
    });

    it("forgets a request after 7 days, and the same id is then free", async () => {
      const created = aNewRun();
      const old = { ...aRequest(created.run.run_id, "old"), at: "2020-01-01T00:00:00.000Z" };
      await store.createRun({ ...created, request: old });
      expect(await store.findRequest("owner", "old")).toBeNull();
      const again = { ...old, at: now() };
      await store.apply({ run_id: created.run.run_id, at: AT, bump_revision: true, events: [anEvent()], request: again });
      expect(await store.findRequest("owner", "old")).toEqual(again);
    });

    it("finds runs by the beginning of their id, and a repository's runs by directory or remote", async () => {
      const first = aNewRun({ repo_common_dir: "/one/.git", repo_remote: null, created_at: "2026-01-01T00:00:00.000Z" });
      const second = aNewRun({
        repo_common_dir: "/two/.git",
        repo_remote: "host/one",
        created_at: "2026-01-02T00:00:00.000Z",
        archived_at: AT,
      });
      await store.createRun(first);
      await store.createRun(second);
      const id = first.run.run_id;
      for (const prefix of [id, id.slice(0, 14), id.slice(4, 14), id.slice(4, 14).toUpperCase()]) {
        expect((await store.runsByPrefix(prefix, "owner", 5)).map((run) => run.run_id)).toEqual([id]);
      }
      expect(await store.runsByPrefix("run_%", "owner", 5)).toEqual([]);
      const of = { owner: "owner", common_dir: "/one/.git", remote: "host/one" };
      expect(await store.runsOfRepository({ ...of, limit: 5 })).toEqual([second.run, first.run]);
      expect(await store.runsOfRepository({ ...of, limit: 1 })).toEqual([second.run]);
      expect(await store.runsOfRepository({ ...of, remote: null, limit: 5 })).toEqual([first.run]);
    });

    it("keeps workers until they are removed", async () => {
      const worker = { worker_id: "w1", identity: anIdentity(), version: "1.2.3", started_at: AT };
      await store.registerWorker(worker);
      const [before] = await store.workers();
      await store.beatWorker("w1");
      const [after] = await store.workers();
      expect(before).toMatchObject(worker);
      expect(String(after?.beat_at) >= String(before?.beat_at)).toBe(true);
      await store.removeWorker("w1");
      expect(await store.workers()).toEqual([]);
    });

    it("has one secret of 32 bytes for as long as it exists", async () => {
      const secret = await store.secret();
      expect(secret).toHaveLength(32);
      expect(await store.secret()).toEqual(secret);
    });
  });
}

async function createdRun(store: Store): Promise<{ readonly run: RunRecord }> {
  return { run: await store.createRun(aNewRun()) };
}

function aCheckpoint(id: string): CheckpointRecord {
  return {
    id,
    kind: "iteration",
    iteration: 1,
    step: "main",
    attempt: 1,
    at: AT,
    commit: "c".repeat(40),
    tree: "d".repeat(40),
    index_tree: null,
    head: null,
    branch: "refs/heads/main",
    files: 3,
    bytes: 5_000_000_000,
    skipped: [{ path: "big.bin", bytes: 9, why: "too_big" }],
    state: "present",
    failure: null,
  };
}

function aVerify(command: string, exit_code: number | null): VerifyRecord {
  return { step: "main", command, exit_code, iteration: 1, at: AT, tail: "1 failing" };
}

function aRequest(run_id: string, request_id: string): RequestRecord {
  return { owner: "owner", request_id, tool: "coding_loop_start", args_hash: "h", run_id, answer: "{}", at: now() };
}
