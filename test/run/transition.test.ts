import { describe, expect, test } from "vitest";
import { LIVE_STATES, RUN_STATES, type RunState } from "../../src/run/run.ts";
import { STOP_REASONS, type StopReason } from "../../src/run/stop-reason.ts";
import { type RunTransitionEvent, TRANSITION_EVENT_TYPES, transition } from "../../src/run/transition.ts";

/** The wanted next state of every state and event; null where the event does not belong to the state. */
const TABLE: Readonly<Record<RunState, Readonly<Record<RunTransitionEvent["type"], RunState | null>>>> = {
  queued: { claim: "running", stop_request: "stopped", begin_stop: null, stop: "stopped", resume: null, redo: null },
  running: { claim: null, stop_request: "stopping", begin_stop: "stopping", stop: "stopped", resume: null, redo: null },
  stopping: { claim: null, stop_request: null, begin_stop: "stopping", stop: "stopped", resume: null, redo: null },
  stopped: { claim: null, stop_request: null, begin_stop: null, stop: null, resume: "queued", redo: "queued" },
  done: { claim: null, stop_request: null, begin_stop: null, stop: null, resume: null, redo: "queued" },
};

function eventOf(type: RunTransitionEvent["type"], reason: StopReason): RunTransitionEvent {
  switch (type) {
    case "stop_request":
      return { type, mode: "now" };
    case "stop":
      return { type, reason };
    default:
      return { type };
  }
}

describe("transition", () => {
  for (const state of RUN_STATES) {
    for (const type of TRANSITION_EVENT_TYPES) {
      test(`${type} in ${state} gives ${TABLE[state][type] ?? "nothing"}`, () => {
        const before: StopReason | null = state === "stopped" ? "failed" : state === "done" ? "done" : null;
        expect(transition(state, before, eventOf(type, "failed"))?.state ?? null).toBe(TABLE[state][type]);
      });
    }
  }

  test("a stop leads to done for the reason done alone, and always names its reason and frees the tree", () => {
    for (const reason of STOP_REASONS) {
      const next = transition("running", null, { type: "stop", reason });
      expect(next).toEqual({ state: reason === "done" ? "done" : "stopped", stop_reason: reason, actions: ["release_tree"] });
    }
  });

  test("a stop after the iteration leaves the run running", () => {
    expect(transition("running", null, { type: "stop_request", mode: "after_iteration" })).toMatchObject({
      state: "running",
      actions: [],
    });
  });

  test("a queued run that is stopped is cancelled, since nothing of it is going on", () => {
    expect(transition("queued", null, { type: "stop_request", mode: "after_iteration" })).toMatchObject({
      state: "stopped",
      stop_reason: "cancelled",
    });
  });

  test("a live state never carries a stop reason", () => {
    for (const state of RUN_STATES) {
      for (const type of TRANSITION_EVENT_TYPES) {
        const next = transition(state, state === "stopped" ? "failed" : null, eventOf(type, "budget"));
        if (next !== null && LIVE_STATES.some((live) => live === next.state)) expect(next.stop_reason).toBeNull();
      }
    }
  });
});
