import { describe, expect, test } from "vitest";
import { LoopkeeperError } from "../../src/run/errors.ts";
import { ceiling, iterationsLeft } from "../../src/run/grant.ts";
import { canonicalJson, newRunId, shortId } from "../../src/run/id.ts";
import { orderSteps } from "../../src/run/steps.ts";
import {
  AUTO_RESUME_REASONS,
  RESUMABLE_STOP_REASONS,
  STOP_REASONS,
  stopReasonRow,
  stopSentence,
  UNATTENDED_REASONS,
} from "../../src/run/stop-reason.ts";

describe("stop reasons", () => {
  test("the cut-offs brief a successor, verdicts and the owner's stop do not", () => {
    expect(RESUMABLE_STOP_REASONS).toEqual(STOP_REASONS.filter((reason) => stopReasonRow(reason).class === "cut_off"));
    expect(RESUMABLE_STOP_REASONS).toEqual([
      "max_iterations",
      "interrupted",
      "engine_limit",
      "provider_credit",
      "relay_timeout",
      "engine_auth",
      "context_overflow",
      "storage",
    ]);
  });

  test("only cut-offs that need nothing and no person are continued unattended by default", () => {
    expect(UNATTENDED_REASONS).toEqual(["interrupted", "engine_limit", "relay_timeout", "context_overflow"]);
    expect(AUTO_RESUME_REASONS).not.toContain("max_iterations");
    expect(AUTO_RESUME_REASONS.every((reason) => stopReasonRow(reason).class === "cut_off")).toBe(true);
  });

  test("each reason has a sentence of its own without a gap left in it", () => {
    const sentences = STOP_REASONS.map((reason) => stopSentence(reason, { iteration: 3, max_iterations: 9 }));
    expect(new Set(sentences).size).toBe(STOP_REASONS.length);
    expect(sentences.every((sentence) => !sentence.includes("{"))).toBe(true);
  });
});

describe("grants", () => {
  test("the ceiling is the first cap and every grant, and what is left is never negative", () => {
    expect(ceiling(10, [{ iterations: 5 }, { iterations: 2 }])).toBe(17);
    expect(ceiling(10, [])).toBe(10);
    expect(iterationsLeft({ iteration: 4, max_iterations: 10 })).toBe(6);
    expect(iterationsLeft({ iteration: 11, max_iterations: 10 })).toBe(0);
  });
});

describe("ids", () => {
  test("a run id holds 100 random bits, and a branch shows its first eight characters", () => {
    const ids = Array.from({ length: 1000 }, newRunId);
    expect(new Set(ids).size).toBe(1000);
    expect(ids.every((id) => /^run_[0-9a-hjkmnp-tv-z]{20}$/u.test(id))).toBe(true);
    expect(shortId("run_4k2f0123456789abcdef")).toBe("4k2f0123");
  });

  test("canonical JSON of equal values is equal whatever the order of keys", () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe(canonicalJson({ a: null, b: [{ c: 2, d: 1 }] }));
    expect(canonicalJson({ a: [1, 2] })).not.toBe(canonicalJson({ a: [2, 1] }));
  });
});

describe("steps", () => {
  const step = (name: string, ...needs: string[]) => ({ step: name, needs });

  test("a diamond comes out with each step after what it needs, otherwise in the given order", () => {
    const ordered = orderSteps([step("end", "left", "right"), step("left", "start"), step("right", "start"), step("start")]);
    expect(ordered.map((one) => one.step)).toEqual(["start", "left", "right", "end"]);
  });

  test("unknown, cyclic and doubled names are refused by name", () => {
    expect(() => orderSteps([step("a", "b")])).toThrow(LoopkeeperError);
    expect(() => orderSteps([step("a", "b"), step("b", "c"), step("c", "a")])).toThrow(/a, b, c form a cycle/u);
    expect(() => orderSteps([step("a"), step("a")])).toThrow(/"a" appears twice/u);
  });
});
