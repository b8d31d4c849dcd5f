import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Captured, Checkpoints } from "../../src/checkpoint/checkpoint.ts";
import { createCheckpoints } from "../../src/checkpoint/create.ts";
import { makeSandbox, type Sandbox, untouchables, write } from "../support/repos.ts";

let box: Sandbox;
let checkpoints: Checkpoints;
let count: number;
beforeEach(() => {
  box = makeSandbox();
  checkpoints = createCheckpoints({ env: box.env, home: box.home });
  count = 0;
});
afterEach(() => box.remove());

/** Captures, and checks that nothing of the user's was touched. */
async function capture(top: string, thorough = false): Promise<Captured> {
  const before = untouchables(box, top);
  count += 1;
  const captured = await checkpoints.capture(await checkpoints.discover(top), {
    run_id: "run_t",
    id: `cp_${count}`,
    kind: "iteration",
    thorough,
  });
  expect(untouchables(box, top)).toEqual(before);
  expect(await checkpoints.isPresent(await checkpoints.discover(top), captured.commit)).toBe(true);
  return captured;
}

/** The tree that a full rehash of all not ignored files gives, made with an index of its own. */
function oracle(top: string): string {
  const index = join(box.dir, "oracle-index");
  rmSync(index, { force: true });
  execFileSync("git", ["add", "-A"], { cwd: top, env: { ...box.env, GIT_INDEX_FILE: index }, stdio: "ignore" });
  return execFileSync("git", ["write-tree"], { cwd: top, env: { ...box.env, GIT_INDEX_FILE: index }, encoding: "utf8" }).trim();
}

describe("a capture", () => {
  test("holds staged, unstaged, untracked, deleted and moved files", async () => {
    const top = box.repo();
    write(top, "a.txt", "staged\n");
    box.git(top, "add", "a.txt");
    write(top, "a.txt", "in the tree\n");
    write(top, "n/new.txt", "new");
    unlinkSync(join(top, "b.txt"));
    box.git(top, "rm", "-q", "--cached", "c.txt");
    box.git(top, "mv", "d.txt", "dd.txt");
    unlinkSync(join(top, "e.txt"));
    write(top, "e.txt/inner", "i");
    const captured = await capture(top);
    expect(captured.tree).toBe(oracle(top));
    expect(captured.index_tree).toBe(box.git(top, "write-tree"));
    expect(captured).toMatchObject({
      head: box.git(top, "rev-parse", "HEAD"),
      branch: "refs/heads/main",
      files: 7,
      operation: null,
    });
    expect(box.git(top, "rev-parse", `${captured.ref}^{tree}`)).toBe(captured.tree);
  });

  test("of an unchanged tree writes only a ref to the same commit", async () => {
    const top = box.repo();
    write(top, "new", "n");
    const first = await capture(top);
    const second = await capture(top);
    expect(second.commit).toBe(first.commit);
    expect(second.ref).not.toBe(first.ref);
    expect((await capture(top, true)).commit).toBe(first.commit);
  });

  test("sees an edit of equal size within the index's own second", async () => {
    const top = box.repo();
    for (let n = 0; n < 5; n += 1) {
      write(top, "a.txt", `one ${n}\n`);
      box.git(top, "add", "a.txt");
      write(top, "a.txt", `two ${n}\n`);
      expect((await capture(top)).tree).toBe(oracle(top));
    }
  });

  test("covers hidden edits: assume-unchanged, skip-worktree, intent-to-add", async () => {
    const top = box.repo();
    box.git(top, "update-index", "--assume-unchanged", "a.txt");
    box.git(top, "update-index", "--skip-worktree", "b.txt");
    write(top, "a.txt", "hidden a\n");
    write(top, "b.txt", "hidden b\n");
    write(top, "ita", "later\n");
    box.git(top, "add", "-N", "ita");
    expect((await capture(top)).tree).toBe(oracle(top));
    write(top, "a.txt", "hidden again\n");
    expect((await capture(top)).tree).toBe(oracle(top));
  });

  test("keeps absent files of a sparse checkout in the tree", async () => {
    const top = box.repo();
    write(top, "big/z.txt", "z");
    box.git(top, "add", ".");
    box.git(top, "commit", "-qm", "2");
    box.git(top, "sparse-checkout", "set", "src");
    write(top, "src/x.ts", "changed");
    const captured = await capture(top);
    expect(box.git(top, "ls-tree", "-r", "--name-only", captured.tree)).toContain("big/z.txt");
    expect(captured.files).toBe(1);
  });

  test.each([["--index-version", "4"], ["--split-index"]])("reads an index written with %s %s", async (...args) => {
    const top = box.repo();
    box.git(top, "update-index", ...args);
    write(top, "a.txt", "x");
    write(top, "i", "i");
    box.git(top, "add", "a.txt");
    box.git(top, "add", "-N", "i");
    expect((await capture(top)).tree).toBe(oracle(top));
  });

  test("works in a conflicted merge and names it", async () => {
    const top = box.repo();
    box.sh(
      top,
      "git checkout -qb o; echo o>a.txt; git commit -qam o; git checkout -q main; echo m>a.txt; git commit -qam m; git merge o || true",
    );
    const captured = await capture(top);
    expect(captured.operation).toBe("merge");
    expect(captured.tree).toBe(oracle(top));
    expect(box.git(top, "ls-files", "-u").split("\n")).toHaveLength(3);
  });

  test("works on an unborn branch, in an empty repository, detached, and with packed refs", async () => {
    const empty = box.repo("empty", { commit: false });
    expect(await capture(empty)).toMatchObject({ head: null, branch: "refs/heads/main", files: 0 });
    write(empty, "a", "a");
    box.git(empty, "add", "a");
    expect((await capture(empty)).tree).toBe(oracle(empty));
    const top = box.repo();
    box.git(top, "pack-refs", "--all");
    box.git(top, "checkout", "-q", "--detach");
    write(top, "u", "u");
    expect(await capture(top)).toMatchObject({ branch: null, tree: oracle(top) });
  });

  test("works in a SHA-256 repository, also with a version 4 index", async () => {
    const top = box.repo("sha256", { init: ["--object-format=sha256"] });
    write(top, "a.txt", "b");
    write(top, "u", "u");
    box.git(top, "add", "-N", "u");
    expect((await capture(top)).tree).toBe(oracle(top));
    box.git(top, "update-index", "--index-version", "4");
    expect((await capture(top)).tree).toBe(oracle(top));
  });

  test("in a linked worktree leaves the main one alone, and its refs outlive the folder", async () => {
    const top = box.repo();
    const side = join(box.dir, "side");
    box.git(top, "worktree", "add", "-q", "-b", "side", side);
    write(side, "u", "side");
    write(top, "u", "main");
    const before = untouchables(box, top);
    const captured = await capture(side);
    expect(untouchables(box, top)).toEqual(before);
    rmSync(side, { recursive: true });
    box.sh(top, "git worktree prune; git gc -q --prune=now");
    expect(box.git(top, "show", `${captured.ref}:u`)).toBe("side");
    expect(await checkpoints.isPresent(await checkpoints.discover(top), captured.commit)).toBe(true);
  });

  test("works on a shallow clone and on a partial clone without fetching", async () => {
    const source = box.repo("source");
    write(source, "a.txt", "second");
    box.git(source, "commit", "-qam", "second");
    box.git(source, "config", "uploadpack.allowFilter", "true");
    for (const how of ["--depth=1", "--filter=blob:none"]) {
      const top = join(box.dir, `clone${how}`);
      box.git(box.dir, "clone", "-q", how, `file://${source}`, top);
      const missing = box.git(top, "rev-list", "--objects", "--all", "--missing=print");
      write(top, "u", "u");
      expect((await capture(top)).files).toBe(1);
      expect(box.git(top, "rev-list", "--objects", "--missing=print", "main")).toBe(missing);
    }
  });
});

describe("names", () => {
  test("of any bytes are captured", async () => {
    const top = box.repo();
    for (const name of ["new\nline", "tab\t.txt", 'quote".txt', '"', " lead", "-dash", ":(top)magic", "star*", "a\\b", "ü"])
      write(top, name, name);
    writeFileSync(Buffer.concat([Buffer.from(`${top}/latin`), Buffer.from([0xe9, 0xff])]), "bytes");
    expect((await capture(top)).tree).toBe(oracle(top));
    const repo = await checkpoints.discover(top);
    const changes = await checkpoints.changedPaths(repo, "HEAD^{tree}", (await capture(top)).tree);
    expect(changes.map((change) => change.path)).toContain("latin\\xe9\\xff");
    expect(changes.map((change) => change.path)).toContain("a\\\\b");
    const paths = changes.map((change) => change.path);
    expect(await checkpoints.contentAt(repo, (await capture(top)).tree, paths)).toEqual(changes.map((change) => change.to));
  });

  test("links, executable bits and a rename in case only are captured", async () => {
    const top = box.repo();
    symlinkSync("/etc/passwd", join(top, "link"));
    symlinkSync("nowhere", join(top, "dangling"));
    unlinkSync(join(top, "a.txt"));
    symlinkSync("b.txt", join(top, "a.txt"));
    chmodSync(join(top, "b.txt"), 0o755);
    renameSync(join(top, "c.txt"), join(top, "C.txt"));
    expect((await capture(top)).tree).toBe(oracle(top));
  });

  test("a folder replaced by a link to elsewhere is captured as a link", async () => {
    const top = box.repo();
    write(box.dir, "victim/x.ts", "secret");
    rmSync(join(top, "src"), { recursive: true });
    symlinkSync(join(box.dir, "victim"), join(top, "src"));
    expect((await capture(top)).tree).toBe(oracle(top));
  });
});

describe("what is left out is named", () => {
  test("an untracked file over 50 MB, but never a tracked one", async () => {
    const top = box.repo();
    write(top, "big", "");
    truncateSync(join(top, "big"), 60 * 2 ** 20);
    const captured = await capture(top);
    expect(captured.skipped).toEqual([{ path: "big", bytes: 60 * 2 ** 20, why: "too_big" }]);
    expect(captured.files).toBe(0);
    box.git(top, "add", "big");
    expect(await capture(top)).toMatchObject({ skipped: [], files: 1 });
  });

  test("an untracked file that grew over the limit leaves the tree", async () => {
    const top = box.repo();
    write(top, "grows", "small");
    expect((await capture(top)).files).toBe(1);
    truncateSync(join(top, "grows"), 60 * 2 ** 20);
    expect(await capture(top)).toMatchObject({ files: 0, skipped: [{ path: "grows", why: "too_big" }] });
  });

  test("pipes and sockets, which are never opened", async () => {
    const top = box.repo();
    box.sh(top, "mkfifo pipe; rm a.txt; mkfifo a.txt");
    const captured = await capture(top);
    expect(captured.skipped).toEqual([{ path: "a.txt", bytes: 0, why: "special" }]);
    expect(box.git(top, "ls-tree", "--name-only", captured.tree)).not.toContain("a.txt");
  });

  test("nested repositories and submodules, which are never entered", async () => {
    const top = box.repo();
    const lib = box.repo("lib");
    box.git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "sub");
    box.git(top, "commit", "-qm", "sub");
    box.git(top, "init", "-q", "nested");
    write(top, "nested/file", "inner");
    box.git(top, "init", "-q", "hollow");
    write(top, "sub/x", "inner");
    write(top, "root.txt", "root");
    const captured = await capture(top);
    expect(captured.skipped.map((item) => [item.path, item.why])).toEqual([
      ["hollow", "nested_repository"],
      ["nested", "nested_repository"],
      ["sub", "nested_repository"],
    ]);
    expect(captured.files).toBe(1);
    expect(box.git(join(top, "sub"), "for-each-ref", "refs/loopkeeper")).toBe("");
  });
});

describe("ignore rules", () => {
  test("that come later take files out, and files added by force stay in", async () => {
    const top = box.repo();
    write(top, "node_modules/x.js", "x");
    write(top, "keep.log", "log");
    expect((await capture(top)).files).toBe(2);
    write(top, ".gitignore", "node_modules/\n*.log\n");
    expect(box.git(top, "ls-tree", "-r", "--name-only", (await capture(top)).tree)).not.toMatch(/node_modules|keep\.log/);
    box.git(top, "add", "-f", "keep.log");
    write(top, "keep.log", "more log");
    const captured = await capture(top);
    expect(box.git(top, "show", `${captured.commit}:keep.log`)).toBe("more log");
  });

  test("of info/exclude and of the user's own file count", async () => {
    const top = box.repo();
    write(top, "one.tmp", "1");
    write(top, "two.bak", "2");
    expect((await capture(top)).files).toBe(2);
    write(top, ".git/info/exclude", "*.tmp\n");
    expect((await capture(top)).files).toBe(1);
    write(box.home, ".config/git/ignore", "*.bak\n");
    expect((await capture(top)).files).toBe(0);
    expect((await capture(top)).files).toBe(0);
  });
});

describe("damage", () => {
  test("objects taken by garbage collection from under the private index are captured again", async () => {
    const top = box.repo();
    write(top, "u", "untracked");
    const first = await capture(top);
    box.git(top, "update-ref", "-d", first.ref);
    box.sh(top, "git reflog expire --expire=now --all; git gc -q --prune=now");
    write(top, "v", "another");
    const second = await capture(top);
    expect(second.tree).toBe(oracle(top));
  });

  test("torn state files are rebuilt", async () => {
    const top = box.repo();
    write(top, "u", "u");
    const first = await capture(top);
    for (const file of ["tree.json", "user-index.json", "sidecar.json", "last.json"])
      write(join(top, ".git/loopkeeper"), file, '{"tre');
    expect((await capture(top)).tree).toBe(first.tree);
    write(join(top, ".git/loopkeeper"), "index", "DIRC");
    expect((await capture(top)).tree).toBe(first.tree);
  });

  test("a lock left by a dead process and a lock of a killed git are taken over", async () => {
    const top = box.repo();
    await capture(top);
    write(join(top, ".git/loopkeeper"), "lock", JSON.stringify({ pid: 2 ** 22 - 1, started: "1", token: "x" }));
    write(join(top, ".git/loopkeeper"), "index.lock", "");
    write(top, "u", "u");
    expect((await capture(top)).files).toBe(1);
  });

  test("an index.lock of the user's git does not keep a capture from its work", async () => {
    const top = box.repo();
    write(top, ".git/index.lock", "");
    write(top, "u", "u");
    expect((await capture(top)).files).toBe(1);
    expect(readFileSync(join(top, ".git/index.lock"), "utf8")).toBe("");
  });

  test("captures of one tree at the same time do not disturb each other", async () => {
    const top = box.repo();
    write(top, "u", "u");
    const repo = await checkpoints.discover(top);
    const ids = ["a", "b", "c", "d", "e"];
    const all = await Promise.all(ids.map((id) => checkpoints.capture(repo, { run_id: "run_t", id, kind: "iteration" })));
    expect(new Set(all.map((one) => one.tree))).toEqual(new Set([oracle(top)]));
  });

  test("a folder that cannot be written surfaces as a system error", async () => {
    const top = box.repo();
    const repo = await checkpoints.discover(top);
    mkdirSync(join(top, ".git/loopkeeper/lock"), { recursive: true });
    await expect(checkpoints.capture(repo, { run_id: "run_t", id: "x", kind: "stop" })).rejects.toMatchObject({
      code: expect.stringMatching(/^E/),
    });
  });
});
