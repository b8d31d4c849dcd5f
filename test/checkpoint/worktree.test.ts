import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Captured, Checkpoints } from "../../src/checkpoint/checkpoint.ts";
import { createCheckpoints } from "../../src/checkpoint/create.ts";
import { makeSandbox, manifest, read, type Sandbox, untouchables, write } from "../support/repos.ts";

let box: Sandbox;
let checkpoints: Checkpoints;
let top: string;
let side: string;
beforeEach(() => {
  box = makeSandbox();
  checkpoints = createCheckpoints({ env: box.env, home: box.home });
  top = box.repo();
  side = join(box.dir, "trees", "side");
});
afterEach(() => box.remove());

const problem = { code: "repository_problem" };

async function add(branch = "side", path = side): Promise<void> {
  await checkpoints.addWorktree(await checkpoints.discover(top), { path, branch, base: "HEAD" });
}

async function capture(path: string, id: string): Promise<Captured> {
  return checkpoints.capture(await checkpoints.discover(path), { run_id: "run_w", id, kind: "stop", thorough: true });
}

async function restore(path: string, captured: Captured): Promise<void> {
  await checkpoints.restoreWhole(await checkpoints.discover(path), { run_id: "run_w", commit: captured.commit });
}

function view(path: string): string {
  return [
    box.git(path, "status", "--porcelain=v2", "--branch", "-uall"),
    box.git(path, "ls-files", "-s", "-v"),
    box.git(path, "ls-files", "-u"),
  ].join("\n");
}

describe("a new worktree", () => {
  test("is on its branch with the files of its base, and leaves the main one alone", async () => {
    write(top, "a.txt", "uncommitted\n");
    const before = untouchables(box, top);
    await add("loopkeeper/abc");
    expect(box.git(side, "symbolic-ref", "HEAD")).toBe("refs/heads/loopkeeper/abc");
    expect(read(side, "a.txt")).toBe("a\n".repeat(20));
    expect(box.git(side, "status", "--porcelain")).toBe("");
    expect(untouchables(box, top)["index"]).toBe(before["index"]);
    expect(await checkpoints.worktreeState(side, join(top, ".git"))).toBe("present");
  });

  test("is refused on a branch that exists, in a folder with files, or from an unknown base", async () => {
    await expect(add("main")).rejects.toMatchObject(problem);
    write(side, "file", "x");
    await expect(add("side")).rejects.toMatchObject(problem);
    expect(box.git(top, "branch", "--list", "side")).toBe("");
    const repo = await checkpoints.discover(top);
    await expect(checkpoints.addWorktree(repo, { path: join(box.dir, "n"), branch: "n", base: "nothing" })).rejects.toMatchObject(
      problem,
    );
    await expect(
      checkpoints.addWorktree(repo, { path: join(box.dir, "n"), branch: "bad..name", base: "HEAD" }),
    ).rejects.toMatchObject(problem);
  });

  test("can be made twice at once, and the same branch only once", async () => {
    await Promise.all([add("one", join(box.dir, "x", "tree")), add("two", join(box.dir, "y", "tree"))]);
    expect(await checkpoints.worktreeState(join(box.dir, "x", "tree"), join(top, ".git"))).toBe("present");
    expect(await checkpoints.worktreeState(join(box.dir, "y", "tree"), join(top, ".git"))).toBe("present");
    const both = await Promise.allSettled([add("same", join(box.dir, "p")), add("same", join(box.dir, "q"))]);
    expect(both.map((one) => one.status).sort()).toEqual(["fulfilled", "rejected"]);
  });
});

describe("a lost worktree", () => {
  test("whose folder is gone comes back with files, index, branch and untracked files", async () => {
    await add();
    write(side, "a.txt", "staged\n");
    box.git(side, "add", "a.txt");
    write(side, "a.txt", "edited\n");
    write(side, "new/file", "n");
    write(side, "ita", "i");
    box.git(side, "add", "-N", "ita");
    box.git(side, "update-index", "--assume-unchanged", "b.txt");
    rmSync(join(side, "c.txt"));
    const captured = await capture(side, "a");
    const [files, seen] = [manifest(side), view(side)];
    rmSync(side, { recursive: true });
    expect(await checkpoints.worktreeState(side, join(top, ".git"))).toBe("missing");
    const other = join(box.dir, "other");
    await add("other", other);
    rmSync(other, { recursive: true });
    await checkpoints.rebuildWorktree(await checkpoints.discover(top), { path: side, branch: "side", head: captured.head ?? "" });
    await restore(side, captured);
    expect(manifest(side)).toEqual(files);
    expect(view(side)).toBe(seen);
    expect(readdirSync(join(top, ".git", "worktrees")).sort()).toEqual(["other", "side"]);
  });

  test("whose entry git pruned keeps its files and is registered again", async () => {
    await add();
    write(side, "a.txt", "edited after\n");
    const head = box.git(side, "rev-parse", "HEAD");
    const aside = join(box.dir, "aside");
    renameSync(side, aside);
    box.git(top, "worktree", "prune");
    renameSync(aside, side);
    expect(await checkpoints.worktreeState(side, join(top, ".git"))).toBe("unregistered");
    await checkpoints.rebuildWorktree(await checkpoints.discover(top), { path: side, branch: "side", head });
    expect(await checkpoints.worktreeState(side, join(top, ".git"))).toBe("present");
    expect(read(side, "a.txt")).toBe("edited after\n");
    expect(box.git(side, "status", "--porcelain")).toBe(" M a.txt");
    expect(box.git(top, "worktree", "list")).toContain(side);
    expect(readdirSync(join(box.dir, "trees"))).toEqual(["side"]);
  });

  test("gets its branch back when that was deleted, and stays detached when it moved", async () => {
    await add();
    write(side, "u", "u");
    box.git(side, "commit", "-q", "--allow-empty", "-m", "own");
    const captured = await capture(side, "a");
    const head = captured.head ?? "";
    rmSync(side, { recursive: true });
    box.sh(top, "git worktree prune; git branch -D side");
    const repo = await checkpoints.discover(top);
    await checkpoints.rebuildWorktree(repo, { path: side, branch: "side", head });
    await restore(side, captured);
    expect(box.git(side, "rev-parse", "HEAD", "side").split("\n")).toEqual([head, head]);
    rmSync(side, { recursive: true });
    box.sh(top, `git worktree prune; git branch -f side main`);
    await checkpoints.rebuildWorktree(repo, { path: side, branch: "side", head });
    await restore(side, captured);
    expect(box.git(side, "rev-parse", "HEAD")).toBe(head);
    expect(box.git(top, "rev-parse", "side")).toBe(box.git(top, "rev-parse", "main"));
    expect(read(side, "u")).toBe("u");
  });

  test("is not made where a worktree or another repository is", async () => {
    await add();
    const repo = await checkpoints.discover(top);
    const head = repo.head ?? "";
    await expect(checkpoints.rebuildWorktree(repo, { path: side, branch: "side", head })).rejects.toMatchObject(problem);
    await expect(
      checkpoints.rebuildWorktree(repo, { path: join(box.dir, "n"), branch: null, head: "1".repeat(40) }),
    ).rejects.toMatchObject(problem);
  });
});

describe("a rebuilt worktree", () => {
  test("that was broken off before its files came is finished by the next rebuild, and a locked one stays locked", async () => {
    await add();
    write(side, "u", "untracked\n");
    const captured = await capture(side, "a");
    box.git(top, "worktree", "lock", "--reason", "on a stick", side);
    rmSync(side, { recursive: true });
    const repo = await checkpoints.discover(top);
    const input = { path: side, branch: "side", head: captured.head ?? "" };
    expect(await checkpoints.rebuildWorktree(repo, input)).toMatchObject({ how: "made" });
    expect(await checkpoints.worktreeState(side, join(top, ".git"))).toBe("unfinished");
    expect(await checkpoints.rebuildWorktree(repo, input)).toMatchObject({ how: "made" });
    await restore(side, captured);
    expect(await checkpoints.worktreeState(side, join(top, ".git"))).toBe("present");
    expect(read(side, "u")).toBe("untracked\n");
    expect(box.git(top, "worktree", "list", "--porcelain")).toContain("locked on a stick");
  });
});

describe("a whole restore", () => {
  test("brings a rebase under way to a new worktree, where it can be continued", async () => {
    await add();
    box.sh(side, "echo o>a.txt; git commit -qam o; echo o2>b.txt; git commit -qam o2");
    box.sh(top, "echo m>a.txt; git commit -qam m");
    box.sh(side, "git rebase main || true");
    const captured = await capture(side, "a");
    expect(captured.operation).toBe("rebase");
    const seen = view(side);
    rmSync(side, { recursive: true });
    await checkpoints.rebuildWorktree(await checkpoints.discover(top), { path: side, branch: null, head: captured.head ?? "" });
    await restore(side, captured);
    expect(view(side)).toBe(seen);
    box.sh(side, "echo res>a.txt; git add a.txt; GIT_EDITOR=true git rebase --continue");
    expect(box.git(side, "log", "--format=%s").split("\n")).toEqual(["o2", "o", "m", "base"]);
    expect(box.git(side, "symbolic-ref", "HEAD")).toBe("refs/heads/side");
  });

  test("lays the edits of one run over the new branch of another", async () => {
    await add();
    write(side, "a.txt", "run one\n");
    write(side, "new", "n");
    const captured = await capture(side, "a");
    const second = join(box.dir, "second");
    await checkpoints.addWorktree(await checkpoints.discover(top), { path: second, branch: "second", base: captured.head ?? "" });
    await restore(second, captured);
    expect(box.git(second, "symbolic-ref", "HEAD")).toBe("refs/heads/second");
    expect(read(second, "a.txt")).toBe("run one\n");
    expect(read(side, "a.txt")).toBe("run one\n");
    expect(box.git(second, "status", "--porcelain")).toBe(" M a.txt\n?? new");
  });

  test("saves what it finds in the folder before it writes", async () => {
    await add();
    write(side, "a.txt", "stop\n");
    const captured = await capture(side, "a");
    write(side, "a.txt", "newer\n");
    write(side, ".gitignore", "hidden\n");
    write(side, "hidden", "ignored and staying");
    await restore(side, captured);
    expect(read(side, "a.txt")).toBe("stop\n");
    expect(read(side, "hidden")).toBe("ignored and staying");
    const refs = box.git(top, "for-each-ref", "--format=%(refname)", "refs/loopkeeper/runs/run_w").split("\n");
    const saved = refs.find((ref) => ref !== captured.ref);
    expect(box.git(top, "show", `${saved}:a.txt`)).toBe("newer");
  });

  test("is refused in the main working tree", async () => {
    const captured = await capture(top, "a");
    await expect(restore(top, captured)).rejects.toMatchObject(problem);
  });

  test("is refused when the checkpoint is gone", async () => {
    await add();
    const repo = await checkpoints.discover(side);
    await expect(checkpoints.restoreWhole(repo, { run_id: "run_w", commit: "2".repeat(40) })).rejects.toMatchObject(problem);
    await expect(checkpoints.restoreWhole(repo, { run_id: "run_w", commit: repo.head ?? "" })).rejects.toMatchObject(problem);
  });
});

describe("the last commit of a run", () => {
  test("holds everything, as the user, and leaves a clean tree; then there is nothing to commit", async () => {
    await add();
    write(side, "a.txt", "edited\n");
    write(side, "new", "n");
    rmSync(join(side, "b.txt"));
    const repo = await checkpoints.discover(side);
    const commit = await checkpoints.commitAll(repo, "Keep the work\n\nof the run");
    expect(box.git(side, "log", "-1", "--format=%H|%an|%ce|%s")).toBe(`${commit}|Ann|ann@example.org|Keep the work`);
    expect(box.git(side, "status", "--porcelain")).toBe("");
    expect(box.git(side, "rev-parse", "side")).toBe(commit);
    expect(await checkpoints.commitAll(repo, "again")).toBeNull();
    expect(existsSync(join(repo.git_dir, "index.lock"))).toBe(false);
  });

  test("is Loopkeeper's without a user, and the first one on an unborn branch", async () => {
    write(box.home, ".gitconfig", "[init]\n\tdefaultBranch = main\n");
    const empty = box.repo("empty", { commit: false });
    write(empty, "a", "a");
    const commit = await checkpoints.commitAll(await checkpoints.discover(empty), "first");
    expect(box.git(empty, "log", "-1", "--format=%H %an <%ae>")).toBe(`${commit} Loopkeeper <loopkeeper@localhost>`);
  });

  test("is refused in the middle of a merge", async () => {
    box.sh(
      top,
      "git checkout -qb o; echo o>a.txt; git commit -qam o; git checkout -q main; echo m>a.txt; git commit -qam m; git merge o || true",
    );
    await expect(checkpoints.commitAll(await checkpoints.discover(top), "x")).rejects.toMatchObject(problem);
  });
});
