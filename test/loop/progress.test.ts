import { describe, expect, test } from "vitest";
import { NO_PROGRESS_ITERATIONS, noProgress, progressKey } from "../../src/loop/progress.ts";

const facts = { tree: "t", head: "h", acts: 0, plan: [], verify_codes: [0], report: null };
const report = { completed: ["a"], midway: null, intended: [], verdict: null, question: null, summary: "done a" };

describe("progress", () => {
  test("wording never counts: other words in plan and report give the same key", () => {
    const one = progressKey({ ...facts, plan: [{ content: "write it", status: "pending" }], report });
    const two = progressKey({
      ...facts,
      plan: [{ content: "write the thing", status: "pending" }],
      report: { ...report, completed: ["b"], summary: "other" },
    });
    expect(two).toBe(one);
  });

  test("tree, acts, plan statuses, check codes and the number completed count", () => {
    const keys = [
      progressKey(facts),
      progressKey({ ...facts, tree: "u" }),
      progressKey({ ...facts, acts: 1 }),
      progressKey({ ...facts, plan: [{ content: "a", status: "completed" }] }),
      progressKey({ ...facts, verify_codes: [1] }),
      progressKey({ ...facts, report }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("it takes three iterations in a row, each equal to the one before; the first is compared with the entry", () => {
    expect(NO_PROGRESS_ITERATIONS).toBe(3);
    expect(noProgress("e", ["e", "e"])).toBe(false);
    expect(noProgress("e", ["e", "e", "e"])).toBe(true);
    expect(noProgress("e", ["a", "a", "a"])).toBe(false);
    expect(noProgress("e", ["a", "a", "a", "a"])).toBe(true);
    expect(noProgress("e", ["e", "e", "b", "b", "b"])).toBe(false);
  });
});
