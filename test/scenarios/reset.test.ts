import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Answer, type Door, newProduct, refusalOf } from "../support/product.ts";
import { manifest, read, write } from "../support/repos.ts";

/** A reset takes back what the run changed, shows that first, and leaves everybody else's bytes. */
describe("reset", async () => {
  const product = await newProduct();
  const { box } = product;
  let door: Door;

  beforeAll(async () => {
    door = await product.connect();
  });

  const stopTurn = { report: { completed: [], intended: [], verdict: "blocked", summary: "stop here" } };

  async function runIn(
    repo: string,
    name: string,
    actions: readonly unknown[],
    args: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const agent = product.agent(name, [[...actions, stopTurn]]);
    const { run_id } = await door.start({ repo, objective: name, agent, workspace: "in_place", permissions: "all", ...args });
    expect(await door.ended(run_id)).toMatchObject({ stop_reason: "failed" });
    return run_id;
  }

  async function reset(
    run_id: string,
    args: Readonly<Record<string, unknown>> = {},
  ): Promise<{ readonly preview: Answer; readonly done: Answer }> {
    const preview = await door.call("run_reset", { run_id, ...args });
    expect(preview).toMatchObject({ needs_confirmation: true, preview_again: null });
    const done = await door.call("run_reset", { run_id, confirm_token: preview.confirm_token });
    return { preview, done };
  }

  test("takes back the run's files alone; untracked files of others, ignored ones and staged hunks keep their bytes, and the safety checkpoint brings all back", async () => {
    const repo = box.repo("in-place");
    write(repo, ".gitignore", "secret/\n");
    box.git(repo, "add", ".gitignore");
    box.git(repo, "commit", "-qm", "ignore");
    write(repo, "output/before.jsonl", "made before the run\n");
    write(repo, "a.txt", `staged\n${read(repo, "a.txt") ?? ""}`);
    box.git(repo, "add", "a.txt");
    write(repo, "secret/key", "do not touch\n");
    appendFileSync(join(repo, ".gitignore"), "data/\n");
    write(repo, "data/ignored", "protected by a dirty ignore file\n");
    const before = manifest(repo);
    const staged = box.git(repo, "diff", "--cached");
    const run = await runIn(repo, "edits", [
      { edit: { path: "new.ts", content: "new\n" } },
      { edit: { path: "b.txt", content: "changed\n" } },
      { run: "rm c.txt" },
    ]);
    write(repo, "output/during.jsonl", "made by somebody else after\n");
    const after = manifest(repo);

    const { preview, done } = await reset(run);
    expect(preview.consequences?.conflicts).toEqual([]);
    expect(preview.consequences?.happens[0]).toContain(run);
    expect(done.reset).toMatchObject({ restored: expect.arrayContaining(["b.txt", "c.txt"]), removed: ["new.ts"] });
    expect(manifest(repo)).toEqual({ ...before, "output/during.jsonl": after["output/during.jsonl"] });
    expect(box.git(repo, "diff", "--cached")).toBe(staged);
    expect(await refusalOf(door.call("run_resume", { run_id: run }))).toMatch(/^not_allowed: was_reset/u);

    await reset(run, { to: done.reset?.safety_checkpoint });
    expect(manifest(repo)).toEqual(after);
    expect(box.git(repo, "diff", "--cached")).toBe(staged);
    expect((await door.call("run_status", { run_id: run })).run).toMatchObject({ resumable: true });
  });

  test("a path that a person changed since is a conflict and stays, unless the preview was told to overwrite it", async () => {
    const repo = box.repo("conflict");
    const run = await runIn(repo, "conflicted", [
      { edit: { path: "a.txt", content: "the run's\n" } },
      { edit: { path: "b.txt", content: "the run's\n" } },
    ]);
    write(repo, "a.txt", "a person's\n");
    const { preview, done } = await reset(run);
    expect(preview.consequences?.conflicts.map((conflict) => conflict.path)).toEqual(["a.txt"]);
    expect(done.reset).toMatchObject({ restored: ["b.txt"] });
    expect(read(repo, "a.txt")).toBe("a person's\n");
    await reset(run, { overwrite: ["a.txt"] });
    expect(read(repo, "a.txt")).toBe("a\n".repeat(20));
  });

  test("a file changed between two iterations by somebody else is never the run's", async () => {
    const repo = box.repo("between");
    const agent = product.agent("between", [
      [{ edit: { path: "x", content: "1" } }],
      [{ edit: { path: "y", content: "2" } }, stopTurn],
    ]);
    const { run_id } = await door.start({
      repo,
      objective: "between",
      agent,
      workspace: "in_place",
      permissions: "all",
      max_iterations: 1,
    });
    await door.ended(run_id);
    write(repo, "person.txt", "a person's\n");
    write(repo, "x", "a person's x\n");
    await door.call("run_resume", { run_id, add_iterations: 1 });
    await door.ended(run_id);
    const { preview } = await reset(run_id);
    expect(preview.consequences?.conflicts.map((conflict) => conflict.path)).toEqual(["x"]);
    expect([read(repo, "person.txt"), read(repo, "x"), read(repo, "y")]).toEqual(["a person's\n", "a person's x\n", null]);
  });

  test("a worktree's branch goes back with its files, the commits stay under a hidden ref, and a restart begins anew", async () => {
    const repo = box.repo("worktree");
    const agent = product.agent("commits", [[{ edit: { path: "n", content: "n" } }, { commit: "Add n" }, stopTurn]]);
    const { run_id, workspace, repository } = await door.start({ repo, objective: "commits", agent });
    await door.ended(run_id);
    const tip = box.git(repo, "rev-parse", repository.branch ?? "");
    const preview = await door.call("run_reset", { run_id, restart: true });
    expect(preview.consequences?.undoes.join("\n")).toContain("Add n");
    const done = await door.call("run_reset", { run_id, confirm_token: preview.confirm_token });
    expect(box.git(repo, "rev-parse", repository.branch ?? "")).toBe(box.git(repo, "rev-parse", "main"));
    expect(read(workspace.path, "n")).toBeNull();
    expect(box.git(repo, "for-each-ref", "--format=%(objectname)", `refs/loopkeeper/runs/${run_id}`)).toContain(tip);
    const restarted = String(done["restarted_run_id"]);
    expect(await door.ended(restarted)).toMatchObject({ stop_reason: "failed", iteration: 1 });
  });

  test("resetting to the safety checkpoint brings the branch's commits back too", async () => {
    const repo = box.repo("there-and-back");
    const agent = product.agent("back", [
      [{ edit: { path: "n", content: "n" } }, { commit: "Add n" }, { edit: { path: "m", content: "m" } }, stopTurn],
    ]);
    const { run_id, workspace, repository } = await door.start({ repo, objective: "back", agent });
    await door.ended(run_id);
    const tip = box.git(repo, "rev-parse", repository.branch ?? "");
    const before = manifest(workspace.path);
    const { done } = await reset(run_id);
    expect(done.reset?.removed).toEqual(expect.arrayContaining(["m", "n"]));
    await reset(run_id, { to: done.reset?.safety_checkpoint });
    expect(box.git(repo, "rev-parse", repository.branch ?? "")).toBe(tip);
    expect(manifest(workspace.path)).toEqual(before);
  });

  test("a token is good for what was previewed: not for other arguments, another run, or a tree that moved", async () => {
    const repo = box.repo("token");
    const run = await runIn(repo, "token", [{ edit: { path: "t", content: "t" } }]);
    const preview = await door.call("run_reset", { run_id: run });
    const token = preview.confirm_token;
    expect(await refusalOf(door.call("run_reset", { run_id: run, confirm_token: token, restart: true }))).toMatch(
      /^confirm_token_invalid: /u,
    );
    expect(await refusalOf(door.call("run_reset", { run_id: run, confirm_token: `${token}x` }))).toMatch(
      /^confirm_token_invalid: /u,
    );
    write(repo, "t", "moved");
    const again = await door.call("run_reset", { run_id: run, confirm_token: token });
    expect(again).toMatchObject({
      needs_confirmation: true,
      preview_again: "changed",
      consequences: { conflicts: [{ path: "t" }] },
    });
    expect(read(repo, "t")).toBe("moved");
  });
});
