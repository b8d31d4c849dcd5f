import { mkdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Checkpoints, Repository } from "../../src/checkpoint/checkpoint.ts";
import { createCheckpoints } from "../../src/checkpoint/create.ts";
import { sleep } from "../../src/run/clock.ts";
import { makeSandbox, read, type Sandbox, write } from "../support/repos.ts";

/** Configuration and refs are read without git where that is safe; these changes all lie between two operations. */

let box: Sandbox;
let checkpoints: Checkpoints;
let repo: string;
let found: Repository;
beforeEach(async () => {
  box = makeSandbox();
  checkpoints = createCheckpoints({ env: box.env, home: box.home });
  repo = box.repo();
  // Old enough to be remembered.
  for (const file of [join(repo, ".git/config"), join(box.home, ".gitconfig")]) utimesSync(file, 1, 1);
  await sleep(150);
  found = await checkpoints.discover(repo);
});
afterEach(() => box.remove());

let captures = 0;
const capture = () => {
  captures += 1;
  return checkpoints.capture(found, { run_id: "run_a", id: `cp_${captures}`, kind: "iteration" });
};

/** A filter that leaves a mark when it runs. */
function evilFilter(): string {
  const program = join(box.dir, "evil");
  write(box.dir, "evil", `#!/bin/sh\necho x > '${box.dir}/ran'\ncat\n`, 0o755);
  write(repo, ".git/info/attributes", "*.up filter=evil\n");
  return program;
}

test("a filter program that the configuration gets between two checkpoints is not run", async () => {
  await capture();
  box.git(repo, "config", "filter.evil.clean", evilFilter());
  write(repo, "x.up", "x\n");
  const { tree } = await capture();
  expect(read(box.dir, "ran")).toBeNull();
  expect(box.git(repo, "show", `${tree}:x.up`)).toBe("x");
});

test("nor one from a file that the configuration includes, there from the beginning or not", async () => {
  write(box.dir, "there", "[core]\n\tpager = cat\n");
  const program = evilFilter();
  for (const name of ["there", "made-later", "by-a-branch"]) {
    const key = name === "by-a-branch" ? "includeIf.onbranch:side.path" : "include.path";
    box.git(repo, "config", "--add", key, join(box.dir, name));
  }
  await sleep(150);
  for (const name of ["there", "made-later", "by-a-branch"]) {
    await capture();
    if (name === "by-a-branch") {
      write(box.dir, name, `[filter "evil"]\n\tclean = ${program}\n`);
      await sleep(150);
      await capture();
      box.git(repo, "switch", "-qc", "side");
    } else write(box.dir, name, `[filter "evil"]\n\tclean = ${program}\n`);
    write(repo, `${name}.up`, "x\n");
    await capture();
    expect(read(box.dir, "ran")).toBeNull();
    write(box.dir, name, "");
  }
});

test("a remote, an identity and an ignore file that were configured since are seen", async () => {
  expect(found.remote_name).toBeNull();
  box.git(repo, "remote", "add", "up", "https://example.org/a/b.git");
  expect((await checkpoints.discover(repo)).remote).toBe("example.org/a/b");
  box.git(repo, "config", "remote.up.mirror", "true");
  expect(await checkpoints.mirrorRemotes(found)).toEqual(["up"]);
  write(repo, "x.log", "x\n");
  expect((await capture()).files).toBe(1);
  write(box.dir, "ignored", "*.log\n");
  box.git(repo, "config", "core.excludesFile", join(box.dir, "ignored"));
  expect((await capture()).files).toBe(0);
});

test("HEAD is told as git tells it: packed, detached, unborn, in a worktree, on a branch of any name, through another branch", async () => {
  const stands = async (top: string) => {
    const { head, branch } = await checkpoints.discover(top);
    expect(head).toBe(box.tryGit(top, "rev-parse", "-q", "--verify", "HEAD^{commit}"));
    expect(branch).toBe(box.tryGit(top, "symbolic-ref", "-q", "HEAD"));
    expect(await checkpoints.resolve(found, "HEAD")).toBe(box.git(repo, "rev-parse", "HEAD"));
    return branch;
  };
  expect(await stands(repo)).toBe("refs/heads/main");
  box.git(repo, "pack-refs", "--all");
  await stands(repo);
  box.git(repo, "commit", "-qm", "loose again", "--allow-empty");
  await stands(repo);
  for (const name of ["with/slash", "umläut", "HEAD", "a{b", "100%"]) {
    box.git(repo, "update-ref", `refs/heads/${name}`, box.git(repo, "rev-parse", "refs/heads/main"));
    box.git(repo, "symbolic-ref", "HEAD", `refs/heads/${name}`);
    expect(await stands(repo)).toBe(`refs/heads/${name}`);
    box.git(repo, "pack-refs", "--all");
    await stands(repo);
  }
  box.git(repo, "symbolic-ref", "refs/heads/other-name", "refs/heads/main");
  box.git(repo, "symbolic-ref", "HEAD", "refs/heads/other-name");
  await stands(repo);
  box.git(repo, "switch", "-q", "--detach", "main");
  expect(await stands(repo)).toBeNull();
  box.git(repo, "worktree", "add", "-q", "-b", "in-a-worktree", join(box.dir, "tree"), "refs/heads/main");
  expect(await stands(join(box.dir, "tree"))).toBe("refs/heads/in-a-worktree");
  mkdirSync(join(box.dir, "none"));
  box.git(join(box.dir, "none"), "init", "-q");
  expect(await stands(join(box.dir, "none"))).toBe("refs/heads/main");
});
