import { describe, expect, test } from "vitest";
import { choices, nextActions } from "../../src/resume/choices.ts";
import { defaultFrom, isResumable, resumeNeeds } from "../../src/resume/gate.ts";
import { refusalOf } from "../../src/resume/refusals.ts";
import { STOP_REASONS, stopReasonRow } from "../../src/run/stop-reason.ts";
import { BEGUN, everyRun, factsOf } from "../support/every-run.ts";
import { aRun, aStep, aStop } from "../support/records.ts";

const NOW = Date.parse("2026-06-01T12:00:00.000Z");
describe("the gate", () => {
  for (const { name, run } of everyRun()) {
    test(`${name}: what is offered is allowed, what is not is refused with a reason`, () => {
      const list = choices(factsOf(run), NOW);
      const offered = (action: string): boolean => list.some((choice) => choice.action === action && choice.allowed);
      expect(offered("resume")).toBe(refusalOf("resume", run) === null);
      expect(offered("resume")).toBe(isResumable(run));
      expect(offered("grant")).toBe(refusalOf("grant", run) === null);
      expect(offered("reset")).toBe(refusalOf("reset", run) === null);
      for (const choice of list) if (!choice.allowed) expect(choice.why.agent).toMatch(/^[a-z_]+: .{10}/u);
      expect(list.filter((choice) => choice.recommended).every((choice) => choice.allowed)).toBe(true);
      expect(list.filter((choice) => choice.recommended).length).toBeLessThanOrEqual(1);
    });
  }

  test("next actions name only calls that are allowed, never a confirming one", () => {
    for (const { run } of everyRun()) {
      for (const action of nextActions(factsOf(run), NOW)) {
        expect(action.args).not.toHaveProperty("confirm_token");
        if (action.tool === "run_resume") expect(refusalOf("resume", run)).toBeNull();
        if (action.tool === "run_grant_iterations") expect(refusalOf("grant", run)).toBeNull();
        if (action.tool === "run_stop") expect(refusalOf("stop", run)).toBeNull();
      }
    }
  });

  test("a resume wants what the table says, and more iterations whenever none is left", () => {
    for (const reason of STOP_REASONS.filter((one) => one !== "done")) {
      const run = aRun({
        state: "stopped",
        stop_reason: reason,
        stop: aStop({ reason, question: null, ceiling: null }),
        iteration: 3,
        max_iterations: 10,
      });
      const wanted = stopReasonRow(reason).needs.filter((need) => need !== "add_iterations");
      expect(resumeNeeds(factsOf(run), defaultFrom(factsOf(run)))).toEqual(wanted);
      expect(resumeNeeds(factsOf({ ...run, iteration: 10 }), "entry")).toEqual([...wanted, "add_iterations"]);
    }
  });

  test("failed is taken up from its entry, unless a later step succeeded meanwhile", () => {
    const run = aRun({ state: "stopped", stop_reason: "failed", stop: aStop({ reason: "failed" }) });
    const failed = aStep({ step: "one", position: 0, state: "failed", attempt: 1 });
    expect(defaultFrom({ run, steps: [failed], attempts: BEGUN, undelivered: [] })).toBe("entry");
    const later = aStep({ step: "two", position: 1, state: "succeeded", attempt: 1 });
    expect(defaultFrom({ run, steps: [failed, later], attempts: BEGUN, undelivered: [] })).toBe("stop");
    expect(
      resumeNeeds(
        { run: { ...run, iteration: 1, max_iterations: 5 }, steps: [failed], attempts: BEGUN, undelivered: [] },
        "stop",
      ),
    ).toEqual(["instructions"]);
  });

  test("a permission question is answered by a permission, not by instructions", () => {
    const question = { kind: "permission" as const, text: "May I?", command: "make" };
    const run = aRun({
      state: "stopped",
      stop_reason: "escalated",
      stop: aStop({ reason: "escalated", question, ceiling: null }),
      iteration: 1,
      max_iterations: 5,
    });
    expect(resumeNeeds(factsOf(run), "stop")).toEqual(["permission"]);
  });

  test("before the usage window resets there are two ways to resume: wait for it, or try now", () => {
    const stop = aStop({ reason: "engine_limit", resets_at: "2026-06-01T15:00:00.000Z", ceiling: null });
    const run = aRun({
      state: "stopped",
      stop_reason: "engine_limit",
      stop,
      iteration: 1,
      max_iterations: 5,
      archived_at: null,
      reclaimed_at: null,
      was_reset: null,
    });
    expect(nextActions(factsOf(run), NOW).some((action) => action.tool === "run_stop")).toBe(false);
    const waiting = { ...run, waiting_until: "2026-06-01T15:00:30.000Z" };
    expect(nextActions(factsOf(waiting), NOW)).toContainEqual(expect.objectContaining({ tool: "run_stop" }));
    const ways = choices(factsOf(run), NOW).filter((choice) => choice.action === "resume");
    expect(ways.map((choice) => choice.args["at"])).toEqual(["reset", "now"]);
    expect(ways.map((choice) => choice.recommended)).toEqual([true, false]);
  });
});
