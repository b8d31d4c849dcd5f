import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Checkpoints } from "../../src/checkpoint/checkpoint.ts";
import { createCheckpoints } from "../../src/checkpoint/create.ts";
import { makeSandbox, type Sandbox, write } from "../support/repos.ts";

let box: Sandbox;
let checkpoints: Checkpoints;
beforeEach(() => {
  box = makeSandbox();
  checkpoints = createCheckpoints({ env: box.env, home: box.home });
});
afterEach(() => box.remove());

const problem = { code: "repository_problem" };

describe("discover", () => {
  test("finds the working tree from a folder within it", async () => {
    const top = box.repo();
    const repo = await checkpoints.discover(join(top, "src"));
    expect(repo).toMatchObject({
      top,
      git_dir: join(top, ".git"),
      common_dir: join(top, ".git"),
      branch: "refs/heads/main",
      object_format: "sha1",
    });
    expect(repo.head).toBe(box.git(top, "rev-parse", "HEAD"));
    expect(repo.root_commit).toBe(repo.head);
  });

  test("finds it through a symbolic link and from a file", async () => {
    const top = box.repo();
    symlinkSync(top, join(box.dir, "link"));
    expect((await checkpoints.discover(join(box.dir, "link", "src", "x.ts"))).top).toBe(top);
  });

  test("reads a repository without commits", async () => {
    const top = box.repo("empty", { commit: false });
    expect(await checkpoints.discover(top)).toMatchObject({
      head: null,
      branch: "refs/heads/main",
      root_commit: null,
      remote: null,
    });
  });

  test("reads a detached HEAD, a packed ref and a SHA-256 repository", async () => {
    const top = box.repo();
    box.git(top, "pack-refs", "--all");
    expect((await checkpoints.discover(top)).branch).toBe("refs/heads/main");
    box.git(top, "checkout", "-q", "--detach");
    expect(await checkpoints.discover(top)).toMatchObject({ branch: null });
    const other = await checkpoints.discover(box.repo("sha256", { init: ["--object-format=sha256"] }));
    expect(other.object_format).toBe("sha256");
    expect(other.head).toHaveLength(64);
  });

  test("tells a linked worktree from its main one", async () => {
    const top = box.repo();
    box.git(top, "worktree", "add", "-q", "-b", "side", join(box.dir, "side"));
    const repo = await checkpoints.discover(join(box.dir, "side"));
    expect(repo).toMatchObject({ top: join(box.dir, "side"), common_dir: join(top, ".git"), branch: "refs/heads/side" });
    expect(repo.git_dir).toBe(join(top, ".git", "worktrees", "side"));
  });

  test("a planted core.worktree changes nothing", async () => {
    const top = box.repo();
    const other = box.repo("other");
    box.git(top, "config", "core.worktree", other);
    expect((await checkpoints.discover(top)).top).toBe(top);
  });

  test("refuses what is no repository, bare, missing, the home folder, what holds it, or the root", async () => {
    mkdirSync(join(box.dir, "plain"));
    await expect(checkpoints.discover(join(box.dir, "plain"))).rejects.toMatchObject(problem);
    await expect(checkpoints.discover(join(box.dir, "nowhere"))).rejects.toMatchObject(problem);
    box.git(box.dir, "init", "-q", "--bare", "bare.git");
    await expect(checkpoints.discover(join(box.dir, "bare.git"))).rejects.toMatchObject(problem);
    await expect(checkpoints.discover(join(box.repo(), ".git"))).rejects.toMatchObject(problem);
    box.git(box.home, "init", "-q");
    box.git(box.dir, "init", "-q");
    await expect(checkpoints.discover(box.dir)).rejects.toMatchObject(problem);
    write(box.home, "project/file", "x");
    await expect(checkpoints.discover(join(box.home, "project"))).rejects.toMatchObject(problem);
    await expect(checkpoints.discover("/")).rejects.toMatchObject(problem);
  });

  test("asks for a newer git when the format is unknown", async () => {
    const top = box.repo();
    box.git(top, "config", "core.repositoryFormatVersion", "1");
    box.git(top, "config", "extensions.refStorageOfTheFuture", "x");
    await expect(checkpoints.discover(top)).rejects.toThrow(/newer git/);
  });

  test("names an operation that is under way", async () => {
    const top = box.repo();
    box.sh(
      top,
      "git checkout -qb o; echo o>a.txt; git commit -qam o; git checkout -q main; echo m>a.txt; git commit -qam m; git merge o || true",
    );
    expect((await checkpoints.discover(top)).operation).toBe("merge");
  });
});

describe("the remote", () => {
  test.each([
    "git@GitHub.com:Owner/name.git",
    "ssh://git@github.com/Owner/name",
    "ssh://git@github.com:22/Owner/name.git",
    "https://github.com/Owner/name.git",
    "https://user:secret@github.com:443/Owner/name/",
    "git://github.com/Owner/name.git",
  ])("%s has one normalised form and no password", async (url) => {
    const top = box.repo();
    box.git(top, "remote", "add", "origin", url);
    const repo = await checkpoints.discover(top);
    expect(repo.remote).toBe("github.com/Owner/name");
    expect(repo.remote_url).not.toContain("secret");
  });

  test("is origin, else the only one, else none", async () => {
    const top = box.repo();
    box.git(top, "remote", "add", "fork", "https://h/fork/x");
    expect((await checkpoints.discover(top)).remote).toBe("h/fork/x");
    box.git(top, "remote", "add", "second", "https://h/second/x");
    expect(await checkpoints.discover(top)).toMatchObject({ remote: null, remote_name: null });
    box.git(top, "remote", "add", "origin", "https://h/o/x");
    expect(await checkpoints.discover(top)).toMatchObject({ remote: "h/o/x", remote_name: "origin" });
  });

  test("a local path is kept as URL and has no normalised form", async () => {
    const top = box.repo();
    box.git(top, "remote", "add", "origin", join(box.dir, "x.git"));
    expect(await checkpoints.discover(top)).toMatchObject({ remote: null, remote_url: join(box.dir, "x.git") });
  });

  test("names the remotes that a push would mirror hidden refs to", async () => {
    const top = box.repo("mirror");
    box.git(top, "remote", "add", "backup", "--mirror=push", join(box.dir, "backup.git"));
    box.git(top, "remote", "add", "origin", join(box.dir, "origin.git"));
    expect(await checkpoints.mirrorRemotes(await checkpoints.discover(top))).toEqual(["backup"]);
  });
});
