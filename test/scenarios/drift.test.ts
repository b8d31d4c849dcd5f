import { rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Door, newProduct, refusalOf } from "../support/product.ts";
import { read, write } from "../support/repos.ts";

/** What others changed between a stop and its resume: told in the explanation, and handled as the call says. */
describe("drift", async () => {
  const product = await newProduct();
  const { box } = product;
  let door: Door;

  beforeAll(async () => {
    door = await product.connect();
  });

  const done = { report: { completed: [], intended: [], verdict: "done" } };

  async function stoppedRun(name: string): Promise<{ readonly run_id: string; readonly tree: string; readonly repo: string }> {
    const repo = box.repo(name);
    const agent = product.agent(name, [
      [{ edit: { path: "mine", content: "the run's\n" } }, { edit: { path: "a.txt", content: "the run's a\n" } }],
      [done],
    ]);
    const { run_id, workspace } = await door.start({ repo, objective: name, agent, max_iterations: 1 });
    await door.ended(run_id);
    return { run_id, tree: workspace.path, repo };
  }

  test("edits and commits of others are explained, refused on request, and kept by default with a word to the engine", async () => {
    const { run_id, tree } = await stoppedRun("kept");
    write(tree, "a.txt", "a person's a\n");
    write(tree, "theirs", "a person's\n");
    box.git(tree, "add", "theirs");
    box.git(tree, "commit", "-qm", "Theirs");
    const { explanation } = await door.call("run_explain_stop", { run_id });
    expect(explanation).toMatchObject({
      drift: {
        head_moved: true,
        commits_by_others: [{ author: expect.stringContaining("Ann"), subject: "Theirs" }],
        files_changed: expect.arrayContaining(["a.txt", "theirs"]),
      },
    });
    expect(await refusalOf(door.call("run_resume", { run_id, add_iterations: 1, on_drift: "refuse" }))).toMatch(
      /^not_allowed: drift: .*Ann/u,
    );
    const resumed = await door.call("run_resume", { run_id, add_iterations: 1 });
    expect(resumed.resumed?.note).toMatch(/Others committed since[\s\S]*Theirs/u);
    expect(await door.ended(run_id)).toMatchObject({ state: "done" });
    expect([read(tree, "a.txt"), read(tree, "theirs")]).toEqual(["a person's a\n", "a person's\n"]);
  });

  test("restore takes the run's own files back to the stop, keeps everything else, and saves what it replaced", async () => {
    const { run_id, tree } = await stoppedRun("restored");
    write(tree, "a.txt", "a person's a\n");
    rmSync(join(tree, "mine"));
    write(tree, "theirs", "a person's\n");
    const resumed = await door.call("run_resume", { run_id, add_iterations: 1, on_drift: "restore" });
    expect(resumed.resumed?.restore).toMatchObject({
      restored: ["a.txt", "mine"],
      removed: [],
      safety_checkpoint: expect.stringMatching(/^cp_/u),
    });
    expect(await door.ended(run_id)).toMatchObject({ state: "done" });
    expect([read(tree, "a.txt"), read(tree, "mine"), read(tree, "theirs")]).toEqual([
      "the run's a\n",
      "the run's\n",
      "a person's\n",
    ]);
  });

  test("a worktree that was deleted is rebuilt from the stop checkpoint, uncommitted edits included", async () => {
    const { run_id, tree } = await stoppedRun("deleted");
    rmSync(tree, { recursive: true });
    expect((await door.call("run_explain_stop", { run_id })).explanation).toMatchObject({ drift: { workspace_missing: true } });
    expect((await door.call("run_resume", { run_id, add_iterations: 1 })).resumed).toMatchObject({ context: "native" });
    expect(await door.ended(run_id)).toMatchObject({ state: "done" });
    expect([read(tree, "a.txt"), read(tree, "mine")]).toEqual(["the run's a\n", "the run's\n"]);
  });

  test("a successor run is briefed about its predecessor, and the owner is told where its work is", async () => {
    const { run_id, repo } = await stoppedRun("followed");
    const next = await door.call("coding_loop_start", {
      repo,
      objective: "Go on",
      agent: product.agent("next", [[{ recall: true }, done]]),
      base: `run:${run_id}`,
    });
    expect(next).toMatchObject({
      predecessor: { run_id, briefed: true, work_in_tree: true },
      resume_note: { predecessor_run_id: run_id, text: expect.stringContaining("max_iterations") },
    });
    const ended = await door.ended(String(next.run?.run_id));
    expect(ended).toMatchObject({ state: "done" });
    expect(read(ended.workspace.path, "mine")).toBe("the run's\n");
    const third = await door.call("coding_loop_start", { repo, objective: "Anew", agent: "next", dry_run: true });
    expect(third).toMatchObject({ would: { resume_note: null } });
  });

  test("an explanation needs neither repository nor worktree", async () => {
    const { run_id, tree, repo } = await stoppedRun("gone");
    rmSync(tree, { recursive: true });
    rmSync(repo, { recursive: true });
    const { explanation } = await door.call("run_explain_stop", { run_id });
    expect(explanation).toMatchObject({ cause: { stop_reason: "max_iterations" }, uncommitted: { total_files: 2 } });
    expect(await refusalOf(door.call("run_resume", { run_id, add_iterations: 1 }))).toMatch(/^repository_problem: /u);
  });
});
