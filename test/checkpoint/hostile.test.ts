import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Checkpoints } from "../../src/checkpoint/checkpoint.ts";
import { createCheckpoints } from "../../src/checkpoint/create.ts";
import { makeSandbox, read, type Sandbox, write } from "../support/repos.ts";

let box: Sandbox;
let checkpoints: Checkpoints;
beforeEach(() => {
  box = makeSandbox();
  checkpoints = createCheckpoints({
    env: { ...box.env, GIT_EXTERNAL_DIFF: plant("inherited"), GIT_DIR: "/nowhere" },
    home: box.home,
  });
});
afterEach(() => box.remove());

const HOOKS = [
  "pre-commit",
  "commit-msg",
  "prepare-commit-msg",
  "post-commit",
  "post-checkout",
  "post-index-change",
  "reference-transaction",
  "pre-push",
  "post-rewrite",
  "fsmonitor-watchman",
];

/** A program that leaves a mark when it runs. */
function plant(name: string): string {
  const file = join(box.dir, "planted", name);
  mkdirSync(join(box.dir, "ran"), { recursive: true });
  write(box.dir, `planted/${name}`, `#!/bin/sh\necho x > '${box.dir}/ran/${name}'\ncat\n`, 0o755);
  return file;
}

function plantEverything(top: string): void {
  const hooks = join(box.dir, "hooks");
  for (const hook of HOOKS) {
    write(hooks, hook, `#!/bin/sh\necho x > '${box.dir}/ran/hook-${hook}'\n`, 0o755);
    write(top, `.git/hooks/${hook}`, `#!/bin/sh\necho x > '${box.dir}/ran/local-${hook}'\n`, 0o755);
  }
  write(top, ".git/info/attributes", "*.up filter=evil diff=evil merge=evil\n*.bin filter=lfs\n");
  const settings: Record<string, string> = {
    "core.hooksPath": hooks,
    "core.fsmonitor": plant("fsmonitor"),
    "core.worktree": join(box.dir, "elsewhere"),
    "core.sshCommand": plant("ssh"),
    "core.gitProxy": plant("proxy"),
    "core.editor": plant("editor"),
    "core.pager": plant("pager"),
    "core.askPass": plant("askpass"),
    "core.alternateRefsCommand": plant("alternates"),
    "filter.evil.clean": plant("clean"),
    "filter.evil.smudge": plant("smudge"),
    "filter.evil.process": plant("process"),
    "filter.evil.required": "true",
    "filter.lfs.clean": "git-lfs clean -- %f",
    "filter.lfs.smudge": "git-lfs smudge -- %f",
    "lfs.extension.evil.clean": plant("lfs"),
    "diff.external": plant("diff"),
    "diff.evil.textconv": plant("textconv"),
    "diff.evil.command": plant("diff-command"),
    "merge.evil.driver": plant("merge"),
    "gpg.program": plant("gpg"),
    "commit.gpgSign": "true",
    "log.showSignature": "true",
    "credential.helper": plant("credential"),
    "remote.origin.url": `ext::${plant("ext")}`,
    "remote.origin.uploadpack": plant("uploadpack"),
    "remote.origin.vcs": "evil",
    "protocol.ext.allow": "always",
    "protocol.allow": "always",
    "uploadpack.packObjectsHook": plant("pack-objects"),
  };
  for (const [key, value] of Object.entries(settings)) box.git(top, "config", key, value);
}

test("nothing that a repository's configuration names is run by any operation", async () => {
  const top = box.repo();
  write(top, "x.up", "Mixed Case\n");
  write(top, "pic.bin", "bytes\n");
  box.git(top, "add", ".");
  box.git(top, "commit", "-qm", "more");
  mkdirSync(join(box.dir, "elsewhere"));
  write(box.dir, "elsewhere/secret", "s");
  plantEverything(top);

  const repo = await checkpoints.discover(join(top, "src"));
  expect(repo.top).toBe(top);
  const take = (id: string) => checkpoints.capture(repo, { run_id: "run_h", id, kind: "iteration", thorough: id === "c" });
  const mark = await checkpoints.actMark(repo);
  const start = await take("a");
  write(top, "x.up", "Other Case\n");
  write(top, "pic.bin", "other bytes\n");
  write(top, "y.up", "new\n");
  const stop = await take("b");
  await take("c");
  expect(box.sh(top, `git --work-tree='${top}' --git-dir=.git cat-file blob ${stop.ref}:x.up`)).toBe("Other Case");
  await checkpoints.isPresent(repo, stop.commit);
  await checkpoints.diffSummary(repo, start.commit, stop.commit, 10);
  await checkpoints.patchPage(repo, start.commit, stop.commit, { path: null, from_byte: 0, max_bytes: 10_000 });
  await checkpoints.dirtyFiles(repo);
  await checkpoints.observeActs(repo, mark, {
    iteration: 1,
    at: "2026-01-01T00:00:00.000Z",
    commands: [{ command: "git push", outcome: "ok" }],
  });
  const changes = await checkpoints.changedPaths(repo, start.tree, stop.tree);
  const paths = changes.map((change) => ({ path: change.path, target: change.from, last: change.to }));
  const plan = await checkpoints.planRestore(repo, { run_id: "run_h", paths, overwrite: [], head: null });
  await checkpoints.applyRestore(repo, { run_id: "run_h", plan, paths, safety_id: "s" });
  expect(read(top, "x.up")).toBe("Mixed Case\n");

  const side = join(box.dir, "side");
  await checkpoints.addWorktree(repo, { path: side, branch: "side", base: "HEAD" });
  const sideRepo = await checkpoints.discover(side);
  await checkpoints.restoreWhole(sideRepo, { run_id: "run_h", commit: stop.commit });
  expect(read(side, "y.up")).toBe("new\n");
  await checkpoints.commitAll(sideRepo, "all");
  await checkpoints.drift({
    repo_path: top,
    repo_common_dir: join(top, ".git"),
    workspace_path: side,
    workspace_kind: "worktree",
    stopped_ms: 0,
    run_id: "run_h",
    branch: "side",
    checkpoint: stop,
    base_branch: "main",
    own_commits: ["0".repeat(40)],
    remote: true,
  });
  rmSync(side, { recursive: true });
  await checkpoints.rebuildWorktree(repo, { path: side, branch: "side", head: stop.head ?? "" });
  expect(readdirSync(join(box.dir, "ran"))).toEqual([]);
  expect(readdirSync(join(box.dir, "elsewhere"))).toEqual(["secret"]);

  // The trap works: plain git falls into it.
  box.tryGit(top, `--work-tree=${top}`, "add", "x.up");
  expect(readdirSync(join(box.dir, "ran")).length).toBeGreaterThan(1);
});

test("a filter of the user's own configuration is used", async () => {
  const top = box.repo();
  box.git(box.home, "config", "--global", "filter.up.clean", "tr a-z A-Z");
  box.git(box.home, "config", "--global", "filter.up.smudge", "tr A-Z a-z");
  write(top, ".gitattributes", "*.up filter=up\n");
  write(top, "x.up", "lower\n");
  const captured = await checkpoints.capture(await checkpoints.discover(top), { run_id: "run_h", id: "a", kind: "stop" });
  expect(box.git(top, "cat-file", "blob", `${captured.ref}:x.up`)).toBe("LOWER");
});
