import { z } from "zod";
import { refusalOf } from "../resume/refusals.ts";
import { now } from "../run/clock.ts";
import type { RunRecord, StopRecord } from "../run/run.ts";
import { transition } from "../run/transition.ts";
import type { RunChange } from "../store/store.ts";
import { defineTool } from "./define-tool.ts";
import { checkRevision, onceSettled, refuseIf } from "./guards.ts";
import { common, findRun } from "./present.ts";
import { commonShape, expectedRevisionArgument, requestIdArgument, runIdArgument } from "./schemas.ts";
import { renderAnswer } from "./text.ts";

export const runStop = defineTool({
  name: "run_stop",
  title: "Stop a run",
  description:
    "Stop a live run, or cancel the pending auto_resume of a stopped one. mode: now (default) ends the agent's turn and all its processes; after_iteration lets the present iteration end. Work, context and diff are saved and the run can be resumed. Answers at once, possibly with state stopping: then run_wait. Undoes nothing; for that use run_reset.",
  effect: "write",
  idempotent: true,
  openWorld: false,
  input: z.strictObject({
    run_id: runIdArgument,
    mode: z
      .enum(["now", "after_iteration"])
      .optional()
      .describe("now (default) ends the turn; after_iteration lets the present iteration end first."),
    why: z.string().min(1).max(2_000).optional().describe("Your reason, kept in the record."),
    request_id: requestIdArgument,
    expected_revision: expectedRevisionArgument,
  }),
  output: z.object(commonShape),
  handle: async (args, { ctx, request }) => {
    const stopped = await onceSettled(args.expected_revision, async () => {
      const run = await findRun(ctx, args.run_id);
      checkRevision(run, args.expected_revision);
      refuseIf(refusalOf("stop", run));
      const change = stopChange(run, { mode: args.mode ?? "now", why: args.why ?? null });
      return ctx.store.apply({ ...change, ...(request === null ? {} : { request: request.record(run.run_id, {}) }) });
    });
    return common(ctx, stopped);
  },
  render: (answer) => renderAnswer(answer),
});

/** The change that a stop means for the state the run is in. A queued run is stopped at once; nothing of it is going on. */
function stopChange(run: RunRecord, asked: { readonly mode: "now" | "after_iteration"; readonly why: string | null }): RunChange {
  const at = now();
  const base = { run_id: run.run_id, at, expected_revision: run.revision, bump_revision: true } as const;
  if (run.state === "stopped")
    return { ...base, run: { waiting_until: null }, events: [{ type: "schedule_cancelled", at, data: { why: asked.why } }] };
  const requested = { type: "stop_requested", at, data: { mode: asked.mode, why: asked.why } } as const;
  const request = { mode: asked.mode, why: asked.why, at };
  // It is stopping for a reason of its own already; the request keeps it from going on by itself afterwards.
  if (run.state === "stopping") return { ...base, run: { stop_request: run.stop_request ?? request }, events: [requested] };
  const next = transition(run.state, run.stop_reason, { type: "stop_request", mode: asked.mode });
  if (next === null) throw new Error(`no stop_request in state ${run.state}`);
  if (next.state === "stopped") {
    return {
      ...base,
      run: {
        state: "stopped",
        stop_reason: "cancelled",
        stop: cancelled(run, at, asked.why),
        stopped_at: at,
        stop_request: null,
      },
      events: [requested, { type: "run_stopped", at, data: { reason: "cancelled", source: "owner", iteration: run.iteration } }],
      tree_hold: null,
    };
  }
  return { ...base, run: { state: next.state, stop_request: request }, events: [requested] };
}

function cancelled(run: RunRecord, at: string, why: string | null): StopRecord {
  return {
    reason: "cancelled",
    source: "owner",
    evidence: why ?? "the owner called run_stop before the run was begun",
    step: null,
    iteration: run.iteration,
    at,
    resets_at: null,
    resets_at_source: null,
    resets_at_zone: null,
    resets_at_confidence: null,
    question: null,
    same_stop_in_a_row: run.stop?.reason === "cancelled" ? run.stop.same_stop_in_a_row + 1 : 1,
    ceiling: null,
    // A run that was resumed and stopped again before it began left its tree as it was.
    uncommitted: run.stop?.uncommitted ?? null,
    open_tool_calls: [],
    background: run.stop?.background ?? [],
    alive_until: null,
    gaps: [],
    failed_steps: [],
    unreachable_steps: [],
  };
}
