import { afterEach, beforeEach, expect, test } from "vitest";
import { classify } from "../../src/checkpoint/classify.ts";
import { makeSandbox, type Sandbox, write } from "../support/repos.ts";

let box: Sandbox;
beforeEach(() => {
  box = makeSandbox();
});
afterEach(() => box.remove());

const limits = { file_bytes: 100, total_bytes: 250, run_bytes: 1_000 };

function facts(tracked: readonly string[], held: Readonly<Record<string, number>>) {
  return {
    submodules: new Set<string>(),
    spent_bytes: 0,
    tracked: async () => new Set(tracked),
    untracked_bound: Object.values(held).reduce((sum, bytes) => sum + bytes, 0),
    held: async () => new Map(Object.entries(held)),
  };
}

test("the largest untracked files are left out first when all together are over the quota", async () => {
  for (const [name, size] of [
    ["a", 90],
    ["b", 100],
    ["c", 80],
    ["d", 70],
  ] as const)
    write(box.dir, name, "x".repeat(size));
  const listed = new Map(["a", "b", "c", "d"].map((name) => [name, "untracked"] as const));
  const result = await classify(box.dir, listed, facts([], {}), limits);
  expect(result.stage).toEqual(["a", "c", "d"]);
  expect(result.skipped).toEqual([{ path: "b", bytes: 100, why: "quota" }]);
});

test("files that the checkpoint holds already count towards the quota, and leave it when they grew", async () => {
  write(box.dir, "held", "x".repeat(95));
  write(box.dir, "fresh", "x".repeat(60));
  const listed = new Map([
    ["held", "changed"],
    ["fresh", "untracked"],
  ] as const);
  const result = await classify(box.dir, listed, facts([], { held: 10, other: 100 }), limits);
  expect(result.skipped).toEqual([{ path: "held", bytes: 95, why: "quota" }]);
  expect(result.remove).toEqual(["held"]);
});

test("tracked files are never left out", async () => {
  write(box.dir, "big", "x".repeat(1000));
  const listed = new Map([["big", "changed"]] as const);
  const result = await classify(box.dir, listed, facts(["big"], { big: 1000 }), limits);
  expect(result).toMatchObject({ stage: ["big"], skipped: [] });
});
