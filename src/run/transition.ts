import type { RunState } from "./run.ts";
import type { StopReason } from "./stop-reason.ts";

/** What can happen to a run's state. Marks (archived, reclaimed) and counters are not states and are not here. */
export type RunTransitionEvent =
  | { readonly type: "claim" }
  | { readonly type: "stop_request"; readonly mode: "now" | "after_iteration" }
  /** The driver saw by itself that the run must stop: the engine is ended next. */
  | { readonly type: "begin_stop" }
  | { readonly type: "stop"; readonly reason: StopReason }
  | { readonly type: "resume" }
  | { readonly type: "redo" };

export const TRANSITION_EVENT_TYPES = [
  "claim",
  "stop_request",
  "stop",
  "resume",
  "redo",
] as const satisfies readonly RunTransitionEvent["type"][];

/** What whoever applies the transition has to do. */
export type RunAction = "hold_tree" | "release_tree" | "wake_worker" | "end_engine" | "open_attempt";

export interface Transition {
  readonly state: RunState;
  readonly stop_reason: StopReason | null;
  readonly actions: readonly RunAction[];
}

/** The next state, or null when the event does not belong to the present one. The only code that decides a run's state. */
export function transition(state: RunState, stopReason: StopReason | null, event: RunTransitionEvent): Transition | null {
  switch (event.type) {
    case "claim":
      return state === "queued" ? { state: "running", stop_reason: null, actions: [] } : null;
    case "stop_request":
      if (state === "queued") return stopped("cancelled");
      if (state !== "running") return null;
      if (event.mode === "after_iteration") return { state: "running", stop_reason: null, actions: [] };
      return { state: "stopping", stop_reason: null, actions: ["end_engine"] };
    case "begin_stop":
      return state === "running" || state === "stopping"
        ? { state: "stopping", stop_reason: null, actions: ["end_engine"] }
        : null;
    case "stop":
      return state === "queued" || state === "running" || state === "stopping" ? stopped(event.reason) : null;
    case "resume":
      return state === "stopped" ? reopened() : null;
    case "redo":
      return state === "done" || (state === "stopped" && stopReason !== null) ? reopened() : null;
  }
}

function stopped(reason: StopReason): Transition {
  return { state: reason === "done" ? "done" : "stopped", stop_reason: reason, actions: ["release_tree"] };
}

function reopened(): Transition {
  return { state: "queued", stop_reason: null, actions: ["hold_tree", "open_attempt", "wake_worker"] };
}
