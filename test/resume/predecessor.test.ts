import { beforeAll, describe, expect, test } from "vitest";
import { createCheckpoints } from "../../src/checkpoint/create.ts";
import { findPredecessor, type NewRunPlace } from "../../src/resume/predecessor.ts";
import { isoOf, msOf } from "../../src/run/clock.ts";
import type { RunRecord, StopRecord } from "../../src/run/run.ts";
import { RESUMABLE_STOP_REASONS, STOP_REASONS, type StopReason } from "../../src/run/stop-reason.ts";
import type { Store } from "../../src/store/store.ts";
import { AT, aNewRun, anEvent, aStop } from "../support/records.ts";
import { makeSandbox } from "../support/repos.ts";
import { backends, newStore } from "../support/stores.ts";

const NOW = msOf(AT);
const hoursAgo = (hours: number): string => isoOf(NOW - hours * 3_600_000);

describe.each(backends)("the run that briefs a new one, in %s", (backend) => {
  const box = makeSandbox();
  const checkpoints = createCheckpoints({ env: { ...box.env }, home: box.home });
  let store: Store;
  let repos = 0;
  beforeAll(async () => {
    store = await newStore(backend);
    return () => box.remove();
  });

  /** A repository of its own for each test: its runs, and the new run that looks for them. */
  function place() {
    repos += 1;
    const common_dir = `/repo-${repos}/.git`;
    const remote = `example.org/team/repo-${repos}`;
    async function run(ended: number, reason: StopReason, fields: Partial<RunRecord> = {}, stop: Partial<StopRecord> = {}) {
      const at = hoursAgo(ended);
      const record = aNewRun({
        repo_common_dir: common_dir,
        repo_remote: remote,
        state: reason === "done" ? "done" : "stopped",
        stop_reason: reason,
        stop: aStop({ reason, at, ...stop }),
        stopped_at: at,
        created_at: hoursAgo(ended + 1),
        ...fields,
      });
      return (await store.createRun(record)).run_id;
    }
    const find = (more: Partial<NewRunPlace> = {}) =>
      findPredecessor(
        { store, checkpoints },
        {
          owner: "owner",
          common_dir,
          remote,
          workspace: "worktree",
          workspace_path: "/tree",
          base_commit: null,
          base_run: null,
          now_ms: NOW,
          lookback_hours: 6,
          brief: "auto",
          ...more,
        },
      );
    return { run, find, common_dir, remote };
  }

  test.each(STOP_REASONS)("one that stopped as %s briefs only if its reason does", async (reason) => {
    const { run, find } = place();
    const run_id = await run(1, reason);
    const found = await find();
    expect(found?.run.run_id).toBe(run_id);
    expect(found?.briefed).toBe(RESUMABLE_STOP_REASONS.includes(reason));
    expect(found?.note === null).toBe(found?.briefed === false);
    if (found?.briefed)
      expect(found.note?.split("\n")[1]).toMatch(new RegExp(`${run_id}\\) stopped at .* \\(${reason}\\): \\S`, "u"));
  });

  test.each(["done", "failed", "cancelled", "escalated"] as const)("%s in between ends the search", async (reason) => {
    const { run, find } = place();
    await run(2, "interrupted");
    const between = await run(1, reason);
    expect(await find()).toMatchObject({ run: { run_id: between }, briefed: false, note: null });
  });

  test("the newest is the one that stopped last, not the one that began last", async () => {
    const { run, find } = place();
    await run(3, "engine_limit", { created_at: hoursAgo(3.5) });
    const long = await run(1, "interrupted", { created_at: hoursAgo(5) });
    expect(await find()).toMatchObject({ run: { run_id: long }, briefed: true });
  });

  test("a reset to the start briefs no one and ends the search, and so does an archived run", async () => {
    const reset = place();
    await reset.run(2, "interrupted");
    await reset.run(1, "interrupted", { was_reset: "cp_1" });
    expect(await reset.find()).toMatchObject({ briefed: false, why: expect.stringContaining("reset") });
    const archived = place();
    await archived.run(2, "interrupted");
    await archived.run(1, "interrupted", { archived_at: AT });
    expect(await archived.find()).toMatchObject({ briefed: false, why: expect.stringContaining("archived") });
  });

  test("the look-back counts from the stop, by its setting", async () => {
    const { run, find } = place();
    await run(5.9, "interrupted", { created_at: hoursAgo(40) });
    expect(await find()).toMatchObject({ briefed: true });
    expect(await find({ lookback_hours: 5 })).toMatchObject({ briefed: false });
    const late = place();
    await late.run(6.1, "interrupted");
    expect(await late.find()).toMatchObject({ briefed: false, why: expect.stringContaining("6 h") });
    expect(await late.find({ lookback_hours: 7 })).toMatchObject({ briefed: true });
  });

  test("live runs are skipped and end nothing, whatever their last stop was", async () => {
    const { run, find } = place();
    const stopped = await run(3, "engine_limit");
    for (const state of ["queued", "running", "stopping"] as const) await run(1, "failed", { state });
    expect(await find()).toMatchObject({ run: { run_id: stopped }, briefed: true });
  });

  test("a run of another owner is not seen", async () => {
    const { run, find } = place();
    await run(1, "interrupted", { owner: "somebody else" });
    expect(await find()).toBeNull();
  });

  test("the same repository is known by its git directory or by its remote, in every spelling", async () => {
    const { run, find, remote } = place();
    const run_id = await run(1, "interrupted");
    expect(await find({ remote: null, workspace_path: "/another/worktree" })).toMatchObject({ run: { run_id } });
    const name = remote.replace("example.org/", "");
    for (const url of [
      `https://example.org/${name}`,
      `https://user:word@EXAMPLE.org:443/${name}.git`,
      `ssh://git@example.org:2222/${name}.git/`,
      `git@example.org:${name}.git`,
      `git@Example.ORG:/${name}`,
      `git://example.org/${name}.git`,
      `git+ssh://deploy@example.org/${name}`,
    ])
      expect(await find({ common_dir: "/a/clone/.git", remote: checkpoints.normaliseRemote(url) })).toMatchObject({
        run: { run_id },
      });
    expect(
      await find({ common_dir: "/a/clone/.git", remote: checkpoints.normaliseRemote(`https://example.org/x/${name}`) }),
    ).toBeNull();
  });

  test("its note lists its own acts alone, and edits that were never committed", async () => {
    const { run, find } = place();
    const other = await run(2, "interrupted");
    const run_id = await run(
      1,
      "relay_timeout",
      {},
      {
        uncommitted: {
          total_files: 1,
          added: 3,
          removed: 0,
          truncated: false,
          checkpoint: "cp_9",
          files: [{ path: "left.txt", status: "added", added: 3, removed: 0, binary: false, owner: "this_run" }],
        },
      },
    );
    const act = { kind: "commit", ref: "c".repeat(40), iteration: 1, at: AT, status: "landed" } as const;
    await store.apply({ run_id: other, at: AT, bump_revision: false, events: [anEvent()], acts: [{ ...act, what: "not mine" }] });
    await store.apply({ run_id, at: AT, bump_revision: false, events: [anEvent()], acts: [{ ...act, what: "mine" }] });
    const note = (await find())?.note ?? "";
    expect(note).toMatch(/Done by that run[\s\S]*mine \(iteration 1, /u);
    expect(note).not.toContain("not mine");
    expect(note).toMatch(/Not committed at the stop: 1 files[\s\S]*added left\.txt \(that run's\)/u);
    expect(note).toMatch(/NOT in your working tree; .*base: "run:run_/u);
  });

  test("nobody is briefed who wants no brief", async () => {
    const { run, find } = place();
    await run(1, "interrupted");
    expect(await find({ brief: "none" })).toMatchObject({ briefed: false, note: null });
  });
});
