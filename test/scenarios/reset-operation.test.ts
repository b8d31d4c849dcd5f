import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Door, newProduct, refusalOf } from "../support/product.ts";
import { manifest, read, write } from "../support/repos.ts";

/** A merge or rebase that the run itself left half done goes back with its work, and comes back with it. */
describe.concurrent("a git operation that the run left under way", async () => {
  const product = await newProduct();
  const { box } = product;
  let door: Door;

  beforeAll(async () => {
    door = await product.connect();
  });

  const done = { report: { completed: [], intended: [], verdict: "done" } };
  const DIVERGED =
    "git checkout -q -b other; echo theirs > a.txt; echo more > more.txt; git add .; git commit -qm theirs; git checkout -q -; echo ours > a.txt; git commit -qam ours";

  async function stopped(name: string, script: string, more: Readonly<Record<string, unknown>> = {}) {
    const repo = existsSync(join(box.dir, name)) ? join(box.dir, name) : box.repo(name);
    const agent = product.agent(name, [[{ run: script }], [done]]);
    const start = { head: box.git(repo, "rev-parse", "HEAD"), tree: manifest(repo) };
    const { run_id, workspace } = await door.start({ repo, objective: name, agent, max_iterations: 1, ...more });
    await door.ended(run_id);
    const tree = workspace.path;
    const git_dir = box.git(tree, "rev-parse", "--absolute-git-dir");
    const state = (): unknown => ({
      files: manifest(tree),
      index: box.git(tree, "ls-files", "-s"),
      head: box.git(tree, "rev-parse", "HEAD"),
      on: box.git(tree, "rev-parse", "--symbolic-full-name", "HEAD"),
      branches: box.git(tree, "for-each-ref", "refs/heads"),
      status: box.git(tree, "status", "--porcelain=v2", "--branch"),
      operation: ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REBASE_HEAD", "rebase-merge/done"].map((name) =>
        existsSync(join(git_dir, name)) ? readFileSync(join(git_dir, name), "utf8") : null,
      ),
      names: readdirSync(git_dir).filter((name) => /^(?:MERGE|rebase|CHERRY|sequencer|AUTO)/u.test(name)),
    });
    return { run_id, tree, repo, git_dir, start, state };
  }

  async function reset(run_id: string, args: Readonly<Record<string, unknown>> = {}) {
    const preview = await door.call("run_reset", { run_id, ...args });
    const answer = await door.call("run_reset", { run_id, confirm_token: preview.confirm_token });
    return { preview, safety: answer.reset?.safety_checkpoint ?? "" };
  }

  test.for([
    ["merge", `${DIVERGED}; git merge other || true`, /The merge that the run left under way is over/u],
    ["rebase", `${DIVERGED}; git rebase other || true`, /The rebase that the run left under way is over/u],
    ["cherry-pick", `${DIVERGED}; git cherry-pick other || true`, /The cherry-pick that the run left under way is over/u],
  ] as const)(
    "a %s is ended by a reset to the start and is there again, bit for bit, after a reset to its safety checkpoint",
    async ([name, script, says]) => {
      const run = await stopped(name, script);
      const left = run.state();
      const { preview, safety } = await reset(run.run_id);
      expect(preview.consequences?.happens.join("\n")).toMatch(says);
      expect(preview.consequences?.conflicts).toEqual([]);
      expect(run.state()).toMatchObject({ head: run.start.head, operation: [null, null, null, null, null, null], names: [] });
      expect(box.git(run.tree, "status", "--porcelain")).toBe("");
      expect(box.git(run.tree, "rev-parse", "--abbrev-ref", "HEAD")).toMatch(/^loopkeeper\//u);
      await reset(run.run_id, { to: safety });
      expect(run.state()).toEqual(left);
      write(run.tree, "a.txt", "both\n");
      box.sh(run.tree, `git add a.txt && GIT_EDITOR=true git ${name} --continue`);
      expect(box.git(run.tree, "log", "--format=%s", "-1")).not.toBe("");
      expect(read(run.tree, "more.txt")).toBe("more\n");
    },
  );

  test("a run goes on from its step's entry, and from its stop, with its own merge taken back as it was", async () => {
    const script = `${DIVERGED}; git merge other || true`;
    // The fresh session of an entry plays the first turn again.
    const entry = await stopped("entry", `if [ ! -e ../seen ]; then touch ../seen; ${script}; fi`);
    await door.call("run_resume", { run_id: entry.run_id, add_iterations: 2, from: "entry" });
    expect(await door.ended(entry.run_id)).toMatchObject({ state: "done" });
    expect(box.git(entry.tree, "status", "--porcelain")).toBe("");
    expect(existsSync(join(entry.git_dir, "MERGE_HEAD"))).toBe(false);

    const stop = await stopped("stop", script);
    const left = stop.state();
    write(stop.tree, "a.txt", "a person's try\n");
    box.git(stop.tree, "add", "a.txt");
    await door.call("run_resume", { run_id: stop.run_id, add_iterations: 1, on_drift: "restore" });
    expect(await door.ended(stop.run_id)).toMatchObject({ state: "done" });
    expect(stop.state()).toEqual(left);
  });

  test("in place, files of a merge that are no commit's of the run are conflicts: the merge stays, and nothing changes", async () => {
    box.repo("in-place");
    box.sh(
      join(box.dir, "in-place"),
      "git checkout -q -b other; echo more > more.txt; echo theirs > a.txt; git add .; git commit -qm theirs; git checkout -q -",
    );
    const script = "echo ours > a.txt; git commit -qam ours; git merge other || true";
    const run = await stopped("in-place", script, { workspace: "in_place", permissions: "all" });
    const left = run.state();
    const refusal = await refusalOf(door.call("run_reset", { run_id: run.run_id }));
    expect(refusal).toMatch(/^not_allowed: operation_in_progress: a merge of the run, with changes of others in it/u);
    expect(run.state()).toEqual(left);
  });
});
