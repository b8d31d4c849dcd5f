import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Captured } from "../../src/checkpoint/checkpoint.ts";
import { manifest, read, type Sandbox, untouchables, write } from "../support/repos.ts";
import { makeRestoring, staged } from "./restoring.ts";

let box: Sandbox;
let capture: (top: string) => Promise<Captured>;
let planBack: ReturnType<typeof makeRestoring>["planBack"];
beforeEach(() => {
  ({ box, capture, planBack } = makeRestoring());
});
afterEach(() => box.remove());

describe("a restore of a run's paths", () => {
  test("puts back what was changed, removes what was made, brings back what was deleted", async () => {
    const top = box.repo();
    write(top, "mine.txt", "a person's file");
    const start = await capture(top);
    const before = manifest(top);
    write(top, "a.txt", "changed by the run\n");
    write(top, "new/deep/file.ts", "new");
    rmSync(join(top, "b.txt"));
    rmSync(join(top, "src"), { recursive: true });
    write(top, "src", "a file in the place of a folder");
    const stop = await capture(top);
    const after = manifest(top);
    const { plan, apply } = await planBack(top, start, stop);
    expect(plan).toMatchObject({
      restore: ["a.txt", "b.txt", "src/x.ts"],
      remove: ["new/deep/file.ts", "src"],
      conflicts: [],
      uncovered: [],
      head: null,
    });
    const result = await apply();
    expect(manifest(top)).toEqual(before);
    expect(result).toMatchObject({ restored: plan.restore, removed: plan.remove, kept: [], left_behind: null });

    const again = await planBack(top, result.safety, start);
    await again.apply();
    expect(manifest(top)).toEqual(after);
  });

  test("leaves the files of others as they are, tracked, untracked and ignored (C05, C07)", async () => {
    const top = box.repo();
    write(top, "output/before.jsonl", "made before the run");
    const start = await capture(top);
    write(top, "new.ts", "by the run");
    write(top, "output/during.jsonl", "made by another process");
    write(top, "c.txt", "edited by a person\n");
    const stop = await capture(top);
    write(top, "late.txt", "made after the stop");
    const { apply } = await planBack(top, start, stop, { only: ["new.ts"] });
    expect((await apply()).removed).toEqual(["new.ts"]);
    expect(read(top, "new.ts")).toBeNull();
    for (const path of ["output/before.jsonl", "output/during.jsonl", "c.txt", "late.txt"])
      expect(read(top, path)).not.toBeNull();
  });

  test("touches nothing for a run that owns nothing", async () => {
    const top = box.repo();
    write(top, "a.txt", "of another run\n");
    const start = await capture(top);
    const before = untouchables(box, top);
    const { plan, apply } = await planBack(top, start, start);
    expect(plan).toMatchObject({ restore: [], remove: [], conflicts: [] });
    await apply();
    expect(untouchables(box, top)).toEqual(before);
    expect(read(top, "a.txt")).toBe("of another run\n");
  });

  test("names a path that somebody else changed since, and overwrites it only when told to", async () => {
    const top = box.repo();
    const start = await capture(top);
    write(top, "a.txt", "run\n");
    write(top, "b.txt", "run\n");
    const stop = await capture(top);
    write(top, "a.txt", "a person, later\n");
    const first = await planBack(top, start, stop);
    expect(first.plan).toMatchObject({ restore: ["b.txt"], conflicts: ["a.txt"] });
    expect((await first.apply()).kept).toEqual(["a.txt"]);
    expect(read(top, "a.txt")).toBe("a person, later\n");
    const second = await planBack(top, start, stop, { overwrite: ["a.txt"] });
    expect(second.plan).toMatchObject({ restore: ["a.txt"], conflicts: [] });
    const result = await second.apply();
    expect(read(top, "a.txt")).toBe("a\n".repeat(20));
    expect(box.git(top, "show", `${result.safety.ref}:a.txt`)).toBe("a person, later");
  });

  test("a deleted path that somebody made anew, even ignored, is a conflict", async () => {
    const top = box.repo();
    write(top, "data/x", "old");
    const start = await capture(top);
    rmSync(join(top, "data"), { recursive: true });
    const stop = await capture(top);
    write(top, ".git/info/exclude", "data/\n");
    write(top, "data/x", "a person's");
    const { plan } = await planBack(top, start, stop);
    expect(plan).toMatchObject({ restore: [], conflicts: ["data/x"] });
  });

  test("refuses as a whole when a path of the plan, its index entry or HEAD moved since the plan", async () => {
    const top = box.repo();
    const start = await capture(top);
    write(top, "a.txt", "run\n");
    write(top, "b.txt", "run\n");
    const stop = await capture(top);
    for (const move of [
      () => write(top, "b.txt", "a person\n"),
      () => box.git(top, "add", "b.txt"),
      () => box.git(top, "commit", "-q", "--allow-empty", "-m", "a person"),
    ]) {
      const { apply } = await planBack(top, start, stop);
      move();
      const files = manifest(top);
      const before = untouchables(box, top);
      await expect(apply()).rejects.toMatchObject({ code: "repository_problem" });
      expect(manifest(top)).toEqual(files);
      expect(untouchables(box, top)).toEqual(before);
    }
  });

  test("works while others edit other paths between plan and apply", async () => {
    const top = box.repo();
    const start = await capture(top);
    write(top, "a.txt", "run\n");
    const stop = await capture(top);
    const { apply } = await planBack(top, start, stop);
    write(top, "c.txt", "a person\n");
    await apply();
    expect(read(top, "a.txt")).toBe("a\n".repeat(20));
    expect(read(top, "c.txt")).toBe("a person\n");
  });

  test("a file that a checkpoint had to leave out is uncovered and never removed", async () => {
    const top = box.repo();
    writeFileSync(join(top, "big"), Buffer.alloc(51 * 2 ** 20));
    const start = await capture(top);
    write(top, "big", "made small by the run");
    const stop = await capture(top);
    const { plan, apply } = await planBack(top, start, stop);
    expect(plan).toMatchObject({ remove: [], restore: [], uncovered: ["big"] });
    expect((await apply()).kept).toEqual(["big"]);
    expect(read(top, "big")).toBe("made small by the run");
  });

  test("submodules are named as uncovered", async () => {
    const top = box.repo();
    const lib = box.repo("lib");
    box.git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "sub");
    box.git(top, "commit", "-qm", "sub");
    const start = await capture(top);
    box.git(join(top, "sub"), "commit", "-q", "--allow-empty", "-m", "inner");
    write(top, "a.txt", "run\n");
    const { plan, apply } = await planBack(top, start, await capture(top));
    expect(plan).toMatchObject({ restore: ["a.txt"], uncovered: ["sub"] });
    const inner = box.git(join(top, "sub"), "rev-parse", "HEAD");
    await apply();
    expect(box.git(join(top, "sub"), "rev-parse", "HEAD")).toBe(inner);
  });
});

describe("ignore rules", () => {
  test("are looked at before anything changes: files that an undone rule protected stay (C08)", async () => {
    const top = box.repo();
    write(top, "sub/.gitignore", "x\n");
    write(top, "sub/x", "ignored");
    const start = await capture(top);
    write(top, ".gitignore", "data/\n.env\n");
    write(top, "data/one", "1");
    write(top, "data/two", "2");
    write(top, ".env", "SECRET");
    write(top, "sub/.gitignore", "x\ny\n");
    write(top, "sub/y", "ignored later");
    write(top, "a.txt", "run\n");
    const stop = await capture(top);
    const { plan, apply } = await planBack(top, start, stop);
    expect(plan).toMatchObject({ restore: ["a.txt", "sub/.gitignore"], remove: [".gitignore"] });
    const result = await apply();
    for (const path of ["data/one", "data/two", ".env", "sub/x", "sub/y"]) expect(read(top, path)).not.toBeNull();
    const back = await planBack(top, result.safety, start);
    await back.apply();
    expect(read(top, ".gitignore")).toBe("data/\n.env\n");
    expect(read(top, "data/one")).toBe("1");
  });
});

describe("the index", () => {
  test("keeps the staged hunks of others (C09)", async () => {
    const top = box.repo();
    write(top, "a.txt", `first\n${"a\n".repeat(20)}`);
    box.git(top, "add", "a.txt");
    write(top, "a.txt", `first\n${"a\n".repeat(20)}last\n`);
    const start = await capture(top);
    write(top, "b.txt", "run\n");
    write(top, "new.ts", "run");
    box.git(top, "add", "b.txt", "new.ts");
    const stop = await capture(top);
    box.git(top, "reset", "-q", "b.txt", "new.ts");
    const before = staged(box, top);
    box.git(top, "add", "b.txt", "new.ts");
    await (await planBack(top, start, stop)).apply();
    expect(staged(box, top)).toBe(before);
    expect(read(top, "a.txt")).toBe(`first\n${"a\n".repeat(20)}last\n`);
    expect(box.git(top, "status", "--porcelain")).toBe("MM a.txt");
  });

  test("keeps what somebody else staged over what the run had staged", async () => {
    const top = box.repo();
    const start = await capture(top);
    write(top, "b.txt", "run\n");
    box.git(top, "add", "b.txt");
    const stop = await capture(top);
    write(top, "b.txt", "a person\n");
    box.git(top, "add", "b.txt");
    write(top, "b.txt", "run\n");
    await (await planBack(top, start, stop)).apply();
    expect([read(top, "b.txt"), box.git(top, "show", ":b.txt")]).toEqual(["b\n".repeat(20), "a person"]);
  });

  test("is byte for byte the same when the run staged nothing", async () => {
    const top = box.repo();
    box.git(top, "update-index", "--assume-unchanged", "d.txt");
    const start = await capture(top);
    write(top, "a.txt", "run\n");
    const stop = await capture(top);
    const before = untouchables(box, top);
    await (await planBack(top, start, stop)).apply();
    expect(untouchables(box, top)).toEqual(before);
  });

  test("loses what the run staged and edited on, and gets it back with the safety checkpoint", async () => {
    const top = box.repo();
    const start = await capture(top);
    const clean = staged(box, top);
    write(top, "new.ts", "one");
    box.git(top, "add", "new.ts");
    write(top, "new.ts", "two");
    write(top, "a.txt", "run\n");
    box.git(top, "add", "a.txt");
    const stop = await capture(top);
    const dirty = staged(box, top);
    const result = await (await planBack(top, start, stop)).apply();
    expect(staged(box, top)).toBe(clean);
    expect(box.git(top, "status", "--porcelain")).toBe("");
    await (await planBack(top, result.safety, start)).apply();
    expect(staged(box, top)).toBe(dirty);
    expect(read(top, "new.ts")).toBe("two");
  });

  test("a lock of another git refuses the restore before anything is touched (C21)", async () => {
    const top = box.repo();
    const start = await capture(top);
    write(top, "a.txt", "run\n");
    const { apply } = await planBack(top, start, await capture(top));
    write(top, ".git/index.lock", "");
    await expect(apply()).rejects.toThrow(/index\.lock/);
    expect(read(top, "a.txt")).toBe("run\n");
    expect(read(top, ".git/index.lock")).toBe("");
    rmSync(join(top, ".git/index.lock"));
    await apply();
    expect(read(top, ".git/index.lock")).toBeNull();
  });

  test("conflicts of a merge under way stay as they are", async () => {
    const top = box.repo();
    box.sh(
      top,
      "git checkout -qb o; echo o>a.txt; git commit -qam o; git checkout -q main; echo m>a.txt; git commit -qam m; git merge o || true",
    );
    const start = await capture(top);
    write(top, "b.txt", "run\n");
    const stop = await capture(top);
    const before = staged(box, top);
    await (await planBack(top, start, stop)).apply();
    expect(staged(box, top)).toBe(before);
    expect(read(top, ".git/MERGE_HEAD")).not.toBeNull();
  });
});

describe("HEAD", () => {
  test("goes back with the run's commits, which stay under a hidden ref", async () => {
    const top = box.repo();
    const start = await capture(top);
    const from0 = box.git(top, "rev-parse", "HEAD");
    write(top, "a.txt", "run\n");
    write(top, "new.ts", "run");
    box.git(top, "add", ".");
    box.git(top, "commit", "-qm", "by the run");
    write(top, "a.txt", "run, later\n");
    const stop = await capture(top);
    const tip = box.git(top, "rev-parse", "HEAD");
    const { plan, apply } = await planBack(top, start, stop, { head: { from: tip, to: from0 } });
    expect(plan.head).toEqual({ from: tip, to: from0 });
    const result = await apply();
    expect(result.left_behind).toEqual({ ref: "refs/loopkeeper/runs/run_t/left-1", commit: tip });
    expect(box.git(top, "rev-parse", "refs/loopkeeper/runs/run_t/left-1", "HEAD", "main").split("\n")).toEqual([
      tip,
      from0,
      from0,
    ]);
    expect(box.git(top, "status", "--porcelain")).toBe("");
    const back = await planBack(top, result.safety, start, { head: { from: from0, to: tip } });
    await back.apply();
    expect(box.git(top, "rev-parse", "HEAD")).toBe(tip);
    expect(box.git(top, "status", "--porcelain")).toBe(" M a.txt");
  });

  test("goes back to before the first commit, and to the commit again", async () => {
    const top = box.repo("unborn", { commit: false });
    write(top, "mine.txt", "a person's\n");
    const start = await capture(top);
    write(top, "new.ts", "run\n");
    box.git(top, "add", "new.ts");
    box.git(top, "commit", "-qm", "by the run");
    const tip = box.git(top, "rev-parse", "HEAD");
    const stop = await capture(top);
    const result = await (await planBack(top, start, stop, { head: { from: tip, to: null } })).apply();
    expect([box.tryGit(top, "rev-parse", "-q", "--verify", "HEAD"), box.git(top, "status", "--porcelain")]).toEqual([
      null,
      "?? mine.txt",
    ]);
    await (await planBack(top, result.safety, start, { head: { from: null, to: tip } })).apply();
    expect([box.git(top, "rev-parse", "HEAD"), box.git(top, "status", "--porcelain")]).toEqual([tip, "?? mine.txt"]);
  });

  test("moves a detached HEAD without moving a branch", async () => {
    const top = box.repo();
    const first = box.git(top, "rev-parse", "HEAD");
    box.git(top, "checkout", "-q", "--detach");
    const start = await capture(top);
    write(top, "a.txt", "run\n");
    box.git(top, "commit", "-qam", "by the run");
    const stop = await capture(top);
    const tip = box.git(top, "rev-parse", "HEAD");
    await (await planBack(top, start, stop, { head: { from: tip, to: first } })).apply();
    expect(box.git(top, "rev-parse", "HEAD", "main").split("\n")).toEqual([first, first]);
    expect(box.tryGit(top, "symbolic-ref", "-q", "HEAD")).toBeNull();
  });

  test("stays when somebody committed on top", async () => {
    const top = box.repo();
    const first = box.git(top, "rev-parse", "HEAD");
    const start = await capture(top);
    write(top, "a.txt", "run\n");
    box.git(top, "commit", "-qam", "by the run");
    const tip = box.git(top, "rev-parse", "HEAD");
    const stop = await capture(top);
    box.git(top, "commit", "-q", "--allow-empty", "-m", "a person");
    const { plan } = await planBack(top, start, stop, { head: { from: tip, to: first } });
    expect(plan.head).toBeNull();
  });
});
