import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { intentsOf } from "../../src/checkpoint/act-intents.ts";
import type { Checkpoints } from "../../src/checkpoint/checkpoint.ts";
import { createCheckpoints } from "../../src/checkpoint/create.ts";
import { shellCommands } from "../../src/checkpoint/shell-words.ts";
import type { Act } from "../../src/run/act.ts";
import { makeSandbox, type Sandbox, write } from "../support/repos.ts";

let box: Sandbox;
let checkpoints: Checkpoints;
let top: string;
beforeEach(() => {
  box = makeSandbox();
  checkpoints = createCheckpoints({ env: box.env, home: box.home });
  top = box.repo();
});
afterEach(() => box.remove());

type Outcome = "ok" | "failed" | null;

/** Runs `script` between mark and observation; `told` are the commands that the run is known to have called. */
async function observe(script: string, told: readonly (readonly [string, Outcome])[] = [], place = top): Promise<readonly Act[]> {
  const repo = await checkpoints.discover(place);
  const mark = await checkpoints.actMark(repo);
  box.sh(place, script);
  const commands = told.map(([command, outcome]) => ({ command, outcome }));
  return checkpoints.observeActs(repo, mark, { iteration: 3, at: "2026-01-02T03:04:05.000Z", commands });
}

const brief = (acts: readonly Act[]) => acts.map((act) => [act.kind, act.what, act.status]);

function addRemote(): void {
  box.git(box.dir, "init", "-q", "--bare", "remote.git");
  box.git(top, "remote", "add", "origin", join(box.dir, "remote.git"));
  box.git(top, "push", "-q", "-u", "origin", "main");
}

describe("commits", () => {
  test("are those that entered through this working tree's HEAD", async () => {
    const acts = await observe("echo 1 > a.txt; git commit -qam 'first: with colon'; git commit -q --allow-empty -m second");
    expect(brief(acts)).toEqual([
      ["commit", "first: with colon", "landed"],
      ["commit", "second", "landed"],
    ]);
    expect(acts.map((act) => act.ref)).toEqual(box.git(top, "rev-parse", "HEAD~1", "HEAD").split("\n"));
    expect(acts[0]).toMatchObject({ iteration: 3, at: expect.stringMatching(/^20..-.*Z$/) });
  });

  test("of another worktree of the same repository are not ours", async () => {
    const side = join(box.dir, "side");
    box.git(top, "worktree", "add", "-q", "-b", "side", side);
    expect(await observe(`git -C '${side}' commit -q --allow-empty -m theirs`)).toEqual([]);
    expect(brief(await observe("git commit -q --allow-empty -m ours", [], side))).toEqual([["commit", "ours", "landed"]]);
  });

  test("that were checked out, fast-forwarded or reset to are not ours", async () => {
    box.sh(top, "git checkout -qb o; git commit -q --allow-empty -m theirs; git checkout -q main");
    expect(
      await observe("git merge -q --ff-only o; git reset -q --hard HEAD~1; git checkout -q o; git checkout -q main"),
    ).toEqual([]);
  });

  test("made by cherry-pick, rebase and merge count, and an amended one counts once", async () => {
    box.sh(
      top,
      "git checkout -qb o; echo o > o; git add o; git commit -qm picked; git checkout -q main; echo m > m; git add m; git commit -qm m",
    );
    const acts = await observe(
      "git cherry-pick o; git commit -q --allow-empty -m draft; git commit -q --amend --allow-empty -m final; git merge -q --no-edit -s ours o",
      [["git merge -s ours o", "ok"]],
    );
    expect(brief(acts)).toEqual([
      ["commit", "picked", "landed"],
      ["commit", "final", "landed"],
      ["commit", "Merge made by the 'ours' strategy.", "landed"],
      ["merge", "git merge -s ours o", "landed"],
    ]);
  });

  test("are found without a reflog only when the run called a command that makes them", async () => {
    box.git(top, "config", "core.logAllRefUpdates", "false");
    rmSync(join(top, ".git/logs"), { recursive: true });
    expect(await observe("git commit -q --allow-empty -m unknown")).toEqual([]);
    expect(brief(await observe("git commit -q --allow-empty -m ours", [["git commit --allow-empty -m ours", "ok"]]))).toEqual([
      ["commit", "ours", "landed"],
    ]);
  });

  test("of the first branch of an empty repository count", async () => {
    const empty = box.repo("empty", { commit: false });
    expect(brief(await observe("git commit -q --allow-empty -m root", [], empty))).toEqual([["commit", "root", "landed"]]);
  });
});

describe("branches and tags", () => {
  test("count when a command of the run made them", async () => {
    const acts = await observe("git checkout -q -b one; git branch two; git switch -q -c three; git tag v1; git branch theirs", [
      ["git checkout -b one", "ok"],
      ["cd . && git branch two && git switch -c three", "ok"],
      ["git tag v1", null],
      ["git tag -l", "ok"],
      ["git branch --list", "ok"],
    ]);
    expect(acts.map((act) => [act.kind, act.ref, act.status])).toEqual([
      ["branch", "refs/heads/one", "landed"],
      ["branch", "refs/heads/two", "landed"],
      ["branch", "refs/heads/three", "landed"],
      ["tag", "refs/tags/v1", "landed"],
    ]);
  });

  test("that were there before, or never came about, are no acts", async () => {
    box.git(top, "branch", "old");
    expect(
      await observe("true", [
        ["git branch old", "failed"],
        ["git checkout -b never", "failed"],
        ["git branch gone", "ok"],
      ]),
    ).toEqual([]);
  });
});

describe("pushes", () => {
  test("landed when the remote-tracking ref came to hold the commit", async () => {
    addRemote();
    const acts = await observe("git checkout -q -b feat; git commit -q --allow-empty -m c; git push -q origin feat", [
      ["git push origin feat 2>&1 | tail -3", "ok"],
    ]);
    expect(acts.map((act) => [act.kind, act.ref, act.status])).toEqual([
      ["commit", box.git(top, "rev-parse", "feat"), "landed"],
      ["push", "refs/remotes/origin/feat", "landed"],
    ]);
  });

  test("of the present branch and of HEAD are found without a named branch", async () => {
    addRemote();
    for (const command of [
      "git push",
      "git push -u origin HEAD",
      "FOO=1 git -c a.b=c push --force-with-lease origin +main:main",
    ]) {
      const acts = await observe("git commit -q --allow-empty -m c; git push -q", [[command, null]]);
      expect(acts.at(-1)).toMatchObject({ kind: "push", ref: "refs/remotes/origin/main", status: "landed" });
    }
  });

  test("whose end was never seen and that no ref confirms are unobserved", async () => {
    addRemote();
    const acts = await observe("git commit -q --allow-empty -m c", [["git push origin main", null]]);
    expect(acts.at(-1)).toMatchObject({ kind: "push", what: "git push origin main", status: "unobserved" });
  });

  test("that failed, were dry, or moved nothing are no acts", async () => {
    addRemote();
    const told = [
      ["git push origin main", "ok"],
      ["git push --dry-run", "ok"],
      ["git push origin gone", "failed"],
    ] as const;
    expect(await observe("true", told)).toEqual([]);
  });

  test("of another repository are never confirmed by this one's refs", async () => {
    addRemote();
    mkdirSync(join(box.dir, "other"));
    const acts = await observe("git commit -q --allow-empty -m c; git push -q", [
      [`cd ${box.dir}/other && git push origin main`, "ok"],
    ]);
    expect(acts.at(-1)).toMatchObject({ kind: "push", status: "unobserved" });
  });
});

test("pull requests and issues count by the outcome of their command", async () => {
  const acts = await observe("true", [
    ["gh pr create --title 'a; git push' --body x", "ok"],
    ["gh issue create -t x", null],
    ["gh pr merge 12", "failed"],
    ["npm publish --dry-run", "ok"],
  ]);
  expect(brief(acts)).toEqual([
    ["pull_request", "gh pr create --title a; git push --body x", "landed"],
    ["issue", "gh issue create -t x", "unobserved"],
  ]);
});

describe("shell text", () => {
  test.each([
    ["echo 'git push'", []],
    ["# git push\nls", []],
    ["cat <<'EOF' > x\ngit push\nEOF\necho done", []],
    ["git commit -m \"$(cat <<'EOF'\nIt's done; git push\nEOF\n)\"", []],
    ['bash -lc "cd x && git push"', ["push"]],
    ["sudo -E env A=1 git push && echo ok", ["push"]],
    ["if true; then git push; fi", ["push"]],
    ["git log | grep push", []],
    ["(git push)", ["push"]],
    ["timeout 60 git push", ["push"]],
    ["git \\\n  push", ["push"]],
    ["git stash push", []],
    ["git push>/dev/null 2>&1", ["push"]],
    ["echo x > git push", []],
    ["npm test &> log && git push <<< y", ["push"]],
    ["git merge --abort", []],
    ["/usr/bin/git push origin v1 :old", ["push", "push"]],
  ])("%s", (text, kinds) => {
    expect(intentsOf(text).map((intent) => intent.kind)).toEqual(kinds);
  });

  test("of any kind is read without failing", () => {
    for (const text of ["", "'", '"', "$(", "<<", "<<EOF", "\\", "git", "git -C", "a && ", "((((", '"$('])
      expect(() => shellCommands(text)).not.toThrow();
  });
});

test("a mark outlives a reflog that was cut", async () => {
  const repo = await checkpoints.discover(top);
  write(top, "a.txt", "x");
  const mark = await checkpoints.actMark(repo);
  box.git(top, "reflog", "expire", "--expire=now", "--all");
  box.git(top, "commit", "-qam", "later");
  const acts = await checkpoints.observeActs(repo, mark, { iteration: 1, at: "2026-01-02T03:04:05.000Z", commands: [] });
  expect(brief(acts)).toEqual([["commit", "later", "landed"]]);
});
