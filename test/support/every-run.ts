import type { GateFacts } from "../../src/resume/gate.ts";
import { RUN_STATES, type RunRecord } from "../../src/run/run.ts";
import { STOP_REASONS } from "../../src/run/stop-reason.ts";
import { aRun, aStep, aStop } from "./records.ts";

const AT = "2026-06-01T11:00:00.000Z";

/** Every run that can be met: each state, each reason of a stopped one, with each mark that puts it away. */
export function everyRun(): readonly { readonly name: string; readonly run: RunRecord }[] {
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

export const BEGUN = [{ step: "main", attempt: 1, entry_checkpoint: "cp_entry" }];
export const factsOf = (run: RunRecord): GateFacts => ({
  run,
  steps: [aStep({ attempt: 1, state: "stopped" })],
  attempts: BEGUN,
  undelivered: [],
});
