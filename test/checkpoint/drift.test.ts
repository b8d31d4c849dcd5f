import { rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Captured, Checkpoints } from "../../src/checkpoint/checkpoint.ts";
import { createCheckpoints } from "../../src/checkpoint/create.ts";
import type { Drift } from "../../src/checkpoint/drift-shapes.ts";
import { epochMs } from "../../src/run/clock.ts";
import { makeSandbox, type Sandbox, untouchables, write } from "../support/repos.ts";

let box: Sandbox;
let checkpoints: Checkpoints;
let top: string;
let side: string;
let stop: Captured;
let own: string;
let stopped: number;

/** A run's worktree on branch `side` with one commit of its own, pushed, and an uncommitted edit, stopped. */
beforeEach(async () => {
  box = makeSandbox();
  checkpoints = createCheckpoints({ env: box.env, home: box.home });
  top = box.repo();
  side = join(box.dir, "side");
  box.git(box.dir, "init", "-q", "--bare", "remote.git");
  box.git(top, "remote", "add", "origin", join(box.dir, "remote.git"));
  box.git(top, "push", "-q", "-u", "origin", "main");
  await checkpoints.addWorktree(await checkpoints.discover(top), { path: side, branch: "side", base: "main" });
  write(side, "own.txt", "by the run\n");
  box.sh(side, "git add own.txt; git commit -qm own; git push -q origin side");
  write(side, "a.txt", "uncommitted\n");
  own = box.git(side, "rev-parse", "HEAD");
  stop = await checkpoints.capture(await checkpoints.discover(side), { run_id: "run_d", id: "stop", kind: "stop" });
  stopped = epochMs();
});
afterEach(() => box.remove());

function drift(more: { remote?: boolean; base?: string; own?: readonly string[] } = {}): Promise<Drift> {
  return checkpoints.drift({
    repo_path: top,
    repo_common_dir: join(top, ".git"),
    workspace_path: side,
    workspace_kind: "worktree",
    stopped_ms: stopped,
    run_id: "run_d",
    branch: "side",
    checkpoint: stop,
    base_branch: more.base ?? "main",
    own_commits: more.own ?? [own],
    remote: more.remote ?? false,
  });
}

const still = {
  workspace_missing: false,
  head_moved: false,
  branch_moved: false,
  branch: { local: null, remote: null, remote_checked: false, merged: null },
  files_changed: [],
  files_changed_total: 0,
  commits_by_others: [],
  operation_in_progress: null,
  locks: [],
};

test("nothing has drifted when nothing happened, and looking changes nothing", async () => {
  const before = untouchables(box, side);
  expect(await drift()).toMatchObject({ ...still, branch: { ...still.branch, local: { from: own, to: own } } });
  const looked = await drift({ remote: true });
  expect(looked).toMatchObject({
    branch_moved: false,
    branch: { remote_checked: true, remote: { from: own, to: own, deleted: false } },
  });
  expect(untouchables(box, side)).toEqual(before);
  expect(box.git(top, "for-each-ref", "--format=%(refname)", "refs/loopkeeper")).toBe(stop.ref);
});

test("edits and commits of others are named, the run's own are not", async () => {
  write(side, "b.txt", "a person\n");
  write(side, "their.txt", "new");
  box.sh(side, "git add their.txt; git -c user.name=Bea commit -qm 'by Bea'; git commit -q --allow-empty -m late");
  const late = box.git(side, "rev-parse", "HEAD");
  const seen = await drift({ own: [own, late] });
  expect(seen).toMatchObject({
    head_moved: true,
    branch_moved: true,
    files_changed: ["b.txt", "their.txt"],
    files_changed_total: 2,
  });
  expect(seen.commits_by_others).toEqual([{ sha: box.git(side, "rev-parse", "HEAD~1"), author: "Bea", subject: "by Bea" }]);
  expect(seen.branch.local).toEqual({ from: own, to: late });
});

test("a missing workspace is told, with the branch looked at from the repository", async () => {
  rmSync(side, { recursive: true });
  expect(await drift()).toMatchObject({
    workspace_missing: true,
    head_moved: null,
    branch_moved: false,
    files_changed: [],
    files_changed_total: null,
    operation_in_progress: null,
  });
  rmSync(top, { recursive: true });
  expect(await drift({ remote: true })).toMatchObject({
    ...still,
    workspace_missing: true,
    head_moved: null,
    branch_moved: null,
    files_changed_total: null,
  });
});

test("a deleted branch, an operation under way and an old index.lock are told", async () => {
  box.sh(side, "git checkout -q --detach; git branch -D side; git bisect start");
  const lock = join(top, ".git/worktrees/side/index.lock");
  write(top, ".git/worktrees/side/index.lock", "");
  utimesSync(lock, new Date(1_700_000_000_000), new Date(1_700_000_000_000));
  const seen = await drift();
  expect(seen).toMatchObject({ head_moved: true, branch_moved: true, operation_in_progress: "bisect" });
  expect(seen.branch.local).toEqual({ from: own, to: null });
  expect(seen.locks).toMatchObject([{ path: lock, state: "stale", holder: null }]);
});

test("the remote's branch is seen to move and to be deleted, without a fetch", async () => {
  const clone = join(box.dir, "clone");
  box.git(box.dir, "clone", "-q", "-b", "side", join(box.dir, "remote.git"), clone);
  box.sh(clone, "git commit -q --allow-empty -m theirs; git push -q");
  const moved = await drift({ remote: true });
  expect(moved.branch).toMatchObject({ remote: { from: own, to: box.git(clone, "rev-parse", "HEAD"), deleted: false } });
  expect(moved.branch_moved).toBe(true);
  box.git(side, "fetch", "-q");
  const fetched = await drift({ remote: true });
  expect(fetched.branch.remote?.from).toBe(own);
  expect(fetched.commits_by_others).toMatchObject([{ subject: "theirs" }]);
  box.git(clone, "push", "-q", "origin", ":side");
  expect((await drift({ remote: true })).branch.remote).toEqual({ from: own, to: null, deleted: true });
});

test("a remote that cannot be reached is not checked, and is no error", async () => {
  box.git(top, "remote", "set-url", "origin", join(box.dir, "nowhere.git"));
  expect(await drift({ remote: true })).toMatchObject({ branch_moved: false, branch: { remote: null, remote_checked: false } });
});

test.each([
  ["merge", "git merge -q --no-ff --no-edit side"],
  ["fast_forward", "git merge -q --ff-only side"],
  ["squash", "git commit -q --allow-empty -m between; git merge -q --squash side; git commit -qm squashed"],
  ["rebase", "echo z > z; git add z; git commit -qm between; git cherry-pick side >/dev/null"],
])("a branch that came into its base by %s is told", async (how, script) => {
  box.git(side, "checkout", "-q", "--", "a.txt");
  box.sh(top, script);
  const { merged } = (await drift()).branch;
  expect(merged).toMatchObject({ into: "main" });
  expect(how === "squash" ? ["squash", "rebase"] : [how]).toContain(merged?.how);
});

test("two commits squashed into one are found by their patch", async () => {
  write(side, "own2.txt", "more\n");
  box.sh(side, "git checkout -q -- a.txt; git add own2.txt; git commit -qm own2");
  stop = await checkpoints.capture(await checkpoints.discover(side), { run_id: "run_d", id: "stop2", kind: "stop" });
  box.sh(
    top,
    "echo z > z; git add z; git commit -qm between; git merge -q --squash side; git commit -qm squashed; git commit -q --allow-empty -m after",
  );
  const { merged } = (await drift({ own: [own, stop.head ?? ""] })).branch;
  expect(merged).toEqual({ into: "main", sha: box.git(top, "rev-parse", "HEAD~1"), how: "squash" });
});

test("a branch without commits of its own is not merged, and one that is not in its base neither", async () => {
  expect((await drift({ own: [] })).branch.merged).toBeNull();
  expect((await drift()).branch.merged).toBeNull();
  expect((await drift({ base: "no-such-branch" })).branch.merged).toBeNull();
});

test("a checkpoint whose objects are gone leaves files unknown, not unchanged", async () => {
  stop = { ...stop, tree: "3".repeat(40), commit: "4".repeat(40) };
  expect(await drift()).toMatchObject({ files_changed_total: null, files_changed: [], head_moved: false });
});
