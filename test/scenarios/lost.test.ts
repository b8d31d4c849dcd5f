import { rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Door, newProduct, refusalOf } from "../support/product.ts";
import { read } from "../support/repos.ts";

/** What is left of a run when parts of it are gone: its objects, its worktree, its caller's folder. */
describe.concurrent("of a stopped run", async () => {
  const product = await newProduct();
  const { box } = product;
  let door: Door;
  beforeAll(async () => {
    door = await product.connect();
  });

  const DONE = { report: { completed: [], intended: [], verdict: "done" } };

  async function stoppedRun(name: string): Promise<{ readonly run_id: string; readonly tree: string; readonly repo: string }> {
    const repo = box.repo(name);
    const agent = product.agent(name, [
      [{ edit: { path: "a.txt", content: "the run's\n" } }, { commit: "Its commit" }, { edit: { path: "mine", content: "m\n" } }],
      [DONE],
    ]);
    const { run_id, workspace } = await door.start({ repo, objective: name, agent, max_iterations: 1 });
    await door.ended(run_id);
    return { run_id, tree: workspace.path, repo };
  }

  test("C17: checkpoints outlive git gc and prune; one whose objects are gone is shown as lost, not offered and refused", async () => {
    const { run_id, tree, repo } = await stoppedRun("pruned");
    const prune = (): void => {
      box.git(repo, "reflog", "expire", "--expire=now", "--all");
      box.git(repo, "gc", "--quiet", "--prune=now");
      box.git(repo, "prune");
    };
    prune();
    const kept = await door.call("run_explain_stop", { run_id });
    expect(new Set(kept.explanation?.checkpoints.map((checkpoint) => checkpoint.state))).toEqual(new Set(["present"]));
    expect(await door.call("run_reset", { run_id })).toMatchObject({ needs_confirmation: true });

    const entry = kept.explanation?.checkpoints.find((checkpoint) => checkpoint.kind === "entry")?.id ?? "";
    box.git(repo, "update-ref", "-d", `refs/loopkeeper/runs/${run_id}/${entry}`);
    prune();
    const lost = await door.call("run_explain_stop", { run_id });
    expect(lost.explanation?.checkpoints.find((checkpoint) => checkpoint.id === entry)?.state).toBe("lost");
    const resets = lost.choices?.filter((choice) => choice.action === "reset") ?? [];
    expect(resets.map((choice) => [choice.allowed, choice.why.startsWith("lost: ")])).toEqual(resets.map(() => [false, true]));
    expect(await refusalOf(door.call("run_reset", { run_id }))).toMatch(/^repository_problem: .*lost.*run_explain_stop/u);
    await door.call("run_resume", { run_id, add_iterations: 1 });
    expect(await door.ended(run_id)).toMatchObject({ state: "done" });
    expect(read(tree, "mine")).toBe("m\n");
  });

  test("C01: the id alone is enough from any folder, and the conversation goes on in the recorded one", async () => {
    const { run_id, tree } = await stoppedRun("anywhere");
    const elsewhere = await product.connect({}, "/");
    expect((await elsewhere.call("run_explain_stop", { run_id })).explanation).toMatchObject({
      context: { engine_session: "available" },
    });
    await elsewhere.call("run_resume", { run_id, add_iterations: 1 });
    const ended = await elsewhere.ended(run_id);
    expect(ended).toMatchObject({ state: "done", workspace: { path: tree } });
    expect(await elsewhere.call("run_status", { run_id })).toMatchObject({ context: "native" });
    await elsewhere.close();
  });

  test("a worktree that somebody deleted is made again by a reset, which then takes the run's work back and nothing else", async () => {
    const { run_id, tree, repo } = await stoppedRun("deleted");
    rmSync(tree, { recursive: true });
    const preview = await door.call("run_reset", { run_id });
    expect(preview).toMatchObject({ needs_confirmation: true });
    expect([read(tree, "a.txt"), read(tree, "mine")]).toEqual(["the run's\n", "m\n"]);
    const { reset } = await door.call("run_reset", { run_id, confirm_token: preview.confirm_token });
    expect([read(tree, "a.txt"), read(tree, "mine")]).toEqual(["a\n".repeat(20), null]);
    expect(box.git(tree, "log", "-1", "--format=%s")).toBe("base");
    expect(box.git(repo, "status", "--porcelain")).toBe("");
    const back = await door.call("run_reset", { run_id, to: reset?.safety_checkpoint });
    await door.call("run_reset", { run_id, confirm_token: back.confirm_token });
    expect([read(tree, "a.txt"), read(tree, "mine"), read(join(repo), "mine")]).toEqual(["the run's\n", "m\n", null]);
  });
});
