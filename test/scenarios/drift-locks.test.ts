import { spawn } from "node:child_process";
import { existsSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Door, fileAppears, newProduct, refusalOf } from "../support/product.ts";
import { read, write } from "../support/repos.ts";

/** Locks and half-done operations of git's that a stopped run left behind, or that somebody made since. */
describe.concurrent("what git left half done", async () => {
  const product = await newProduct();
  const { box } = product;
  let door: Door;

  beforeAll(async () => {
    door = await product.connect();
  });

  const done = { report: { completed: [], intended: [], verdict: "done" } };

  async function stopped(name: string, turn: readonly unknown[], more: Readonly<Record<string, unknown>> = {}) {
    const repo = box.repo(name);
    const agent = product.agent(name, [turn, [done], [done]]);
    const { run_id, workspace } = await door.start({ repo, objective: name, agent, max_iterations: 1, ...more });
    await door.ended(run_id);
    const tree = workspace.path;
    return { run_id, tree, repo, git_dir: box.git(tree, "rev-parse", "--absolute-git-dir") };
  }

  const again = (run_id: string, args: Readonly<Record<string, unknown>> = {}) =>
    door.call("run_resume", { run_id, add_iterations: 1, ...args });

  const ways = async (run_id: string, action: string) =>
    ((await door.call("run_explain_stop", { run_id })).choices ?? []).filter((choice) => choice.action === action);

  test("C21: an index.lock of a git that died with the run is explained, and goes only with consent", async () => {
    const run = await stopped("stale", [
      { edit: { path: "a.txt", content: "the run's\n" } },
      { run: ': > "$(git rev-parse --git-dir)/index.lock"' },
    ]);
    const lock = join(run.git_dir, "index.lock");
    expect(await door.text("run_explain_stop", { run_id: run.run_id })).toContain(
      "left by a git that died before the stop, no process holds it",
    );
    expect(await refusalOf(again(run.run_id))).toMatch(/^not_allowed: stale_lock: .*index\.lock.*rm '/u);
    expect(await ways(run.run_id, "resume")).toMatchObject([
      { allowed: true, args: { on_drift: "keep" } },
      { allowed: true, args: { on_drift: "restore" } },
    ]);
    for (const way of [...(await ways(run.run_id, "reset")), ...(await ways(run.run_id, "redo"))]) {
      expect(way).toMatchObject({ allowed: false, why: expect.stringMatching(/^stale_lock: /u) });
      expect(
        await refusalOf(door.call(way.tool, { ...way.args, ...(way.action === "redo" ? { add_iterations: 1 } : {}) })),
      ).toMatch(/^not_allowed: stale_lock: .*index\.lock.*rm '/u);
    }
    expect((await door.call("run_grant_iterations", { run_id: run.run_id, iterations: 1 })).summary).toContain("NOT continued");
    expect(existsSync(lock)).toBe(true);
    write(run.tree, "a.txt", "a person's\n");
    const resumed = await again(run.run_id, { on_drift: "restore" });
    expect(resumed.resumed?.restore).toMatchObject({ restored: ["a.txt"], removed: [lock] });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
    expect(existsSync(lock)).toBe(false);
    expect(read(run.tree, "a.txt")).toBe("the run's\n");
    // Set aside, not destroyed.
    expect(readdirSync(join(run.git_dir, "loopkeeper", "stale-locks"))).toHaveLength(1);
  });

  test("C21: an explicit keep leaves a stale lock where it is and tells the agent", async () => {
    const run = await stopped("kept", [{ run: ': > "$(git rev-parse --git-dir)/index.lock"' }]);
    await again(run.run_id, { on_drift: "keep" });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
    expect(existsSync(join(run.git_dir, "index.lock"))).toBe(true);
    expect(await door.resource(`loopkeeper://runs/${run.run_id}/note`)).toMatch(/lock file of git's was left/u);
  });

  test("C21: a live git that holds the lock is waited for, then refused, whatever on_drift says; when it ends the run goes on", async () => {
    const run = await stopped("live", [{ edit: { path: "a.txt", content: "the run's\n" } }]);
    const holder = spawn("git", ["-c", "core.editor=sleep 600 #", "commit", "-qa"], {
      cwd: run.tree,
      env: { ...box.env },
      stdio: "ignore",
    });
    const lock = join(run.git_dir, "index.lock");
    await fileAppears(lock);
    expect(await door.text("run_explain_stop", { run_id: run.run_id })).toMatch(/held by process \d+ \(git /u);
    expect(await refusalOf(again(run.run_id, { on_drift: "restore" }))).toMatch(/^repository_problem: a git is at work/u);
    expect(await refusalOf(again(run.run_id, { on_drift: "keep" }))).toMatch(/^repository_problem: a git is at work/u);
    expect(existsSync(lock)).toBe(true);
    const ended = new Promise((resolve) => holder.on("exit", resolve));
    holder.kill("SIGTERM");
    await ended;
    await again(run.run_id);
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
  });

  test("a run in place is warned of a lock at its start, and is refused when another repository has taken the place of its own", async () => {
    const repo = box.repo("replaced");
    write(repo, ".git/index.lock", "");
    const agent = product.agent("replaced", [[{ edit: { path: "a.txt", content: "x\n" } }], [done]]);
    const args = { repo, objective: "x", agent, max_iterations: 1, workspace: "in_place", permissions: "all" };
    const started = await door.call("coding_loop_start", args);
    expect(started).toMatchObject({ warnings: expect.arrayContaining([expect.stringMatching(/index\.lock is there/u)]) });
    const run_id = String(started.run?.run_id);
    await door.ended(run_id);
    rmSync(repo, { recursive: true });
    box.git(box.dir, "init", "-q", "replaced");
    box.sh(repo, "echo theirs > theirs; git add .; git commit -qm theirs");
    expect(await door.text("run_explain_stop", { run_id })).toContain("does not have the run's checkpoints");
    expect(await refusalOf(again(run_id))).toMatch(/^repository_problem: .*another/u);
    expect(read(repo, "a.txt")).toBeNull();
  });

  test("a lock newer than the stop without a holder is never removed: the refusal names it and the command", async () => {
    const run = await stopped("unclear", [{ edit: { path: "a.txt", content: "x" } }]);
    const lock = join(run.git_dir, "index.lock");
    write(run.git_dir, "index.lock", "");
    const later = new Date(Date.now() + 60_000);
    utimesSync(lock, later, later);
    expect(await refusalOf(again(run.run_id, { on_drift: "restore" }))).toMatch(/^repository_problem: .*rm '.*index\.lock'/u);
    expect(existsSync(lock)).toBe(true);
    rmSync(lock);
    await again(run.run_id);
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
  });

  test("a merge that the run began is told as its own and goes on; one that a person began since refuses a restore and stays", async () => {
    const conflict =
      "git checkout -q -b other; echo theirs > a.txt; git commit -qam theirs; git checkout -q -; echo ours > a.txt; git commit -qam ours";
    const own = await stopped("own-merge", [{ run: `${conflict}; git merge other || true` }]);
    expect(await door.text("run_explain_stop", { run_id: own.run_id })).toContain(
      "a merge is in progress, begun by the run itself before it stopped",
    );
    const before = box.git(own.tree, "ls-files", "-u");
    await again(own.run_id);
    expect(await door.ended(own.run_id)).toMatchObject({ state: "done" });
    expect(await door.resource(`loopkeeper://runs/${own.run_id}/note`)).toContain(
      "merge that was under way when you stopped still is",
    );
    expect(box.git(own.tree, "ls-files", "-u")).toBe(before);

    const theirs = await stopped("their-merge", [{ run: conflict }]);
    box.tryGit(theirs.tree, "merge", "other");
    const { explanation } = await door.call("run_explain_stop", { run_id: theirs.run_id });
    expect(explanation).toMatchObject({ drift: { operation_in_progress: "merge" } });
    for (const args of [{ on_drift: "restore" }, { from: "entry" }])
      expect(await refusalOf(again(theirs.run_id, args))).toMatch(
        /^not_allowed: operation_in_progress: a merge that the run did not/u,
      );
    const { choices } = await door.call("run_explain_stop", { run_id: theirs.run_id });
    const back = choices?.filter(({ action }) => action === "reset" || action === "redo") ?? [];
    expect(back.map(({ allowed }) => allowed)).toEqual([false, false, false]);
    for (const { tool, args, why } of back) {
      expect(why).toMatch(/^operation_in_progress: a merge that the run did not start/u);
      expect(await refusalOf(door.call(tool, tool === "run_redo" ? { ...args, add_iterations: 1 } : args))).toMatch(
        /^not_allowed: operation_in_progress: a merge that the run did not/u,
      );
    }
    expect(await ways(theirs.run_id, "resume")).toMatchObject([{ allowed: true, args: { run_id: theirs.run_id } }]);
    const unmerged = box.git(theirs.tree, "ls-files", "-u");
    await again(theirs.run_id);
    expect(await door.ended(theirs.run_id)).toMatchObject({ state: "done" });
    expect(await door.resource(`loopkeeper://runs/${theirs.run_id}/note`)).toContain("do not abort or finish it");
    expect(box.git(theirs.tree, "ls-files", "-u")).toBe(unmerged);
  });

  test("an operation that was under way at the stop and was ended since is told", async () => {
    const run = await stopped("ended", [
      {
        run: "git checkout -q -b other; echo theirs > a.txt; git commit -qam theirs; git checkout -q -; echo ours > a.txt; git commit -qam ours; git rebase other || true",
      },
    ]);
    box.git(run.tree, "rebase", "--abort");
    expect(await door.text("run_explain_stop", { run_id: run.run_id })).toContain(
      "the rebase that was under way at the stop was ended since",
    );
    await again(run.run_id);
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
  });
});
