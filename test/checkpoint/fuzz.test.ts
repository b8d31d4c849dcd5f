import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Captured, Checkpoints } from "../../src/checkpoint/checkpoint.ts";
import { createCheckpoints } from "../../src/checkpoint/create.ts";
import { generator } from "../support/generator.ts";
import { makeSandbox, manifest, type Sandbox, untouchables, write } from "../support/repos.ts";

let box: Sandbox;
let checkpoints: Checkpoints;
beforeEach(() => {
  box = makeSandbox();
  checkpoints = createCheckpoints({ env: box.env, home: box.home });
});
afterEach(() => box.remove());

const NAMES = ["a.txt", "b.txt", "src/x.ts", "src", "n/one", "n/two/deep", "n", "été", "keep.log", 'q"uo\nte'];

function isFree(top: string, name: string): boolean {
  const parents = name.split("/").slice(0, -1);
  return parents.every((_, n) => {
    const info = lstatSync(join(top, ...parents.slice(0, n + 1)), { throwIfNoEntry: false });
    return info === undefined || info.isDirectory();
  });
}

/** One random operation of a person or an agent. */
function step(top: string, pick: (below: number) => number): void {
  const name = NAMES[pick(NAMES.length)] ?? "a.txt";
  const path = join(top, name);
  const info = isFree(top, name) ? lstatSync(path, { throwIfNoEntry: false }) : null;
  if (info === null) return;
  const put = () => {
    rmSync(path, { recursive: true, force: true });
    write(top, name, `${pick(3)}\n`.repeat(1 + pick(2)));
  };
  const operations = [
    put,
    put,
    () => rmSync(path, { recursive: true, force: true }),
    () => {
      rmSync(path, { recursive: true, force: true });
      mkdirSync(join(path, ".."), { recursive: true });
      symlinkSync(pick(2) === 0 ? "b.txt" : "/etc/passwd", path);
    },
    () => info?.isFile() && chmodSync(path, pick(2) === 0 ? 0o755 : 0o644),
    () => box.tryGit(top, "add", "-f", "--", name),
    () => box.tryGit(top, "rm", "-q", "-r", "--cached", "-f", "--", name),
    () => box.tryGit(top, "commit", "-q", "-m", "step"),
    () => box.tryGit(top, "add", "-N", "--", name),
    () => write(top, ".gitignore", ["*.log\n", "n/\n", "", "src\n"][pick(4)] ?? ""),
    () => box.tryGit(top, "update-index", "--assume-unchanged", "--", name),
    () => box.tryGit(top, "mv", "-k", "b.txt", "moved.txt"),
    () => box.tryGit(top, "stash", "push", "-q"),
    () => box.tryGit(top, "stash", "pop", "-q"),
  ];
  operations[pick(operations.length)]?.();
}

/** What a full rehash says: everything that is not ignored, or is tracked. */
function oracle(top: string): string {
  const index = join(box.dir, "oracle");
  rmSync(index, { force: true });
  const env = { ...box.env, GIT_INDEX_FILE: index };
  const run = (args: readonly string[], input?: string) =>
    execFileSync("git", args, { cwd: top, env, input: input ?? "", encoding: "utf8" });
  run(["add", "-A"]);
  const tracked = execFileSync("git", ["ls-files", "-z", "-c"], { cwd: top, env: box.env, encoding: "utf8" });
  run(
    ["update-index", "--add", "--replace", "--remove", "-z", "--stdin"],
    tracked
      .split("\0")
      .filter((name) => name && coverable(top, name))
      .map((name) => `${name}\0`)
      .join(""),
  );
  return run(["write-tree"]).trim();
}

function coverable(top: string, name: string): boolean {
  const info = isFree(top, name) ? lstatSync(join(top, name), { throwIfNoEntry: false }) : undefined;
  return info !== undefined && !info.isDirectory();
}

// More of both by hand: FUZZ_SEEDS=10,11,12 FUZZ_STEPS=40.
const SEEDS = (process.env["FUZZ_SEEDS"] ?? "1,2").split(",").map(Number);
const STEPS = Number(process.env["FUZZ_STEPS"] ?? "6");

test.each(SEEDS)(
  "seed %i: every capture equals a full rehash, touches nothing, and every restore is exact",
  async (seed) => {
    const top = box.repo();
    const pick = generator(seed);
    const repo = () => checkpoints.discover(top);
    let last: Captured | null = null;
    for (let n = 0; n < STEPS; n += 1) {
      for (let times = 1 + pick(4); times > 0; times -= 1) step(top, pick);
      const before = untouchables(box, top);
      const captured = await checkpoints.capture(await repo(), {
        run_id: "run_f",
        id: `cp_${n}`,
        kind: "iteration",
        thorough: pick(4) === 0,
      });
      expect(untouchables(box, top)).toEqual(before);
      expect(captured.tree, `step ${n}`).toBe(oracle(top));
      if (last !== null && n % 3 === 2) await thereAndBack(top, last, captured, n);
      last = captured;
    }
    expect(readdirSync(join(top, ".git", "loopkeeper")).some((name) => name.endsWith("lock"))).toBe(false);
  },
  600_000,
);

/** Restores the earlier checkpoint's paths, looks, and restores the safety checkpoint. */
async function thereAndBack(top: string, target: Captured, stop: Captured, n: number): Promise<void> {
  const repo = await checkpoints.discover(top);
  const start = manifest(top);
  const index = box.git(top, "ls-files", "-s", "-v");
  const go = async (from: Captured, to: Captured, id: string) => {
    const changes = await checkpoints.changedPaths(repo, to.tree, from.tree);
    const paths = changes.map((change) => ({ path: change.path, target: change.from, last: change.to }));
    const staged = await checkpoints.changedPaths(repo, to.index_tree, from.index_tree);
    const entries = staged.map((change) => ({ path: change.path, target: change.from, last: change.to }));
    const plan = await checkpoints.planRestore(repo, {
      run_id: "run_f",
      paths,
      entries,
      overwrite: [],
      head: null,
      checkpoint: to.commit,
    });
    const result = await checkpoints.applyRestore(repo, {
      run_id: "run_f",
      plan,
      paths,
      entries,
      safety_id: id,
      checkpoint: to.commit,
    });
    for (const path of plan.remove) expect(existsSync(join(top, path)) && lstatSync(join(top, path)).isFile()).toBe(false);
    const contents = await checkpoints.contentAt(repo, to.tree, plan.restore);
    const after = await checkpoints.capture(repo, { run_id: "run_f", id: `${id}_after`, kind: "iteration" });
    if (!plan.restore.includes(".gitignore") && !plan.remove.includes(".gitignore")) {
      expect(await checkpoints.contentAt(repo, after.tree, plan.restore)).toEqual(contents);
    }
    return { result, conflicts: plan.conflicts, after };
  };
  const there = await go(stop, target, `there_${n}`);
  const back = await checkpoints.changedPaths(repo, there.result.safety.tree, there.after.tree);
  const own = [...there.result.restored, ...there.result.removed];
  const paths = back
    .filter((change) => own.includes(change.path))
    .map((change) => ({ path: change.path, target: change.from, last: change.to }));
  const checkpoint = there.result.safety.commit;
  const unstaged = await checkpoints.changedPaths(repo, there.result.safety.index_tree, there.after.index_tree);
  const entries = unstaged.map((change) => ({ path: change.path, target: change.from, last: change.to }));
  const plan = await checkpoints.planRestore(repo, { run_id: "run_f", paths, entries, overwrite: [], head: null, checkpoint });
  await checkpoints.applyRestore(repo, { run_id: "run_f", plan, paths, entries, safety_id: `back_${n}`, checkpoint });
  expect(plan.conflicts, `step ${n}`).toEqual([]);
  if (!own.includes(".gitignore")) expect(manifest(top)).toEqual(start);
  expect(box.git(top, "ls-files", "-s", "-v"), `step ${n}`).toBe(index);
}
