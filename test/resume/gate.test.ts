import { describe, expect, test } from "vitest";
import { choices, nextActions } from "../../src/resume/choices.ts";
import { defaultFrom, isResumable, resumeNeeds } from "../../src/resume/gate.ts";
import { refusalOf } from "../../src/resume/refusals.ts";
import { RUN_STATES, type RunRecord } from "../../src/run/run.ts";
import { STOP_REASONS, stopReasonRow } from "../../src/run/stop-reason.ts";
import { aRun, aStep, aStop } from "../support/records.ts";

const NOW = Date.parse("2026-06-01T12:00:00.000Z");
const AT = "2026-06-01T11:00:00.000Z";

/** Every run that can be met: each state, each reason of a stopped one, with each mark that puts it away. */
function everyRun(): readonly { readonly name: string; readonly run: RunRecord }[] {
  const live = RUN_STATES.filter((state) => state !== "stopped" && state !== "done").map((state) => ({
    name: state,
    run: aRun({ state, stop_reason: null, stop: null }),
  }));
  const stopped = STOP_REASONS.filter((reason) => reason !== "done").flatMap((reason) => {
    const base = {
      state: "stopped" as const,
      stop_reason: reason,
      stop: aStop({ reason }),
      iteration: 3,
      max_iterations: reason === "max_iterations" ? 3 : 10,
      archived_at: null,
      reclaimed_at: null,
      was_reset: null,
    };
    return [
      { name: `stopped ${reason}`, run: aRun(base) },
      { name: `stopped ${reason}, used up`, run: aRun({ ...base, iteration: 10 }) },
      { name: `stopped ${reason}, archived`, run: aRun({ ...base, archived_at: AT }) },
      { name: `stopped ${reason}, reclaimed`, run: aRun({ ...base, reclaimed_at: AT }) },
      { name: `stopped ${reason}, reset`, run: aRun({ ...base, was_reset: "cp_x" }) },
    ];
  });
  return [
    ...live,
    ...stopped,
    { name: "done", run: aRun({ state: "done", stop_reason: "done", stop: aStop({ reason: "done" }) }) },
  ];
}

const BEGUN = [{ step: "main", attempt: 1, entry_checkpoint: "cp_entry" }];
const factsOf = (run: RunRecord) => ({ run, steps: [aStep({ attempt: 1, state: "stopped" })], attempts: BEGUN, undelivered: [] });

describe("the gate", () => {
  for (const { name, run } of everyRun()) {
    test(`${name}: what is offered is allowed, what is not is refused with a reason`, () => {
      const list = choices(factsOf(run), NOW);
      const offered = (action: string): boolean => list.some((choice) => choice.action === action && choice.allowed);
      expect(offered("resume")).toBe(refusalOf("resume", run) === null);
      expect(offered("resume")).toBe(isResumable(run));
      expect(offered("grant")).toBe(refusalOf("grant", run) === null);
      expect(offered("reset")).toBe(refusalOf("reset", run) === null);
      for (const choice of list) if (!choice.allowed) expect(choice.why).toMatch(/^[a-z_]+: .{10}/u);
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
