import { expect, it } from "vitest";
import { RUN_EVENT_TYPES, TOLD_EVENT_TYPES } from "../../src/run/event.ts";

/** Names as recorded runs hold them: one is added here with its event, and none is ever changed, reused or taken away. */
const RECORDED = [
  "run_created",
  "run_claimed",
  "workspace_begun",
  "workspace_ready",
  "attempt_opened",
  "engine_started",
  "iteration_started",
  "iteration_finished",
  "iteration_unfinished",
  "verify_finished",
  "step_changed",
  "stop_requested",
  "run_stopping",
  "run_stopped",
  "run_done",
  "run_resumed",
  "run_scheduled",
  "schedule_cancelled",
  "iterations_granted",
  "instructions_given",
  "instructions_delivered",
  "run_reset",
  "step_redone",
  "run_archived",
  "run_unarchived",
  "run_reclaimed",
  "reclaim_begun",
  "reclaim_kept",
  "driver_lost",
  "context_compacted",
  "plan_changed",
  "work_committed",
  "checkpoint_taken",
  "checkpoints_brought",
  "schedule_moved",
  "run_held",
  "run_let_go",
  "archive_confirmed",
  "run_recorded",
];

it("every event has the name that it was recorded with, and each name is pinned here", () => {
  expect(RUN_EVENT_TYPES.toSorted()).toEqual(RECORDED.toSorted());
});

it("what only keeps the books is not told to people", () => {
  const quiet = [
    "checkpoint_taken",
    "checkpoints_brought",
    "schedule_moved",
    "run_held",
    "run_let_go",
    "archive_confirmed",
    "run_recorded",
  ];
  expect(RECORDED.filter((name) => !TOLD_EVENT_TYPES.some((told) => told === name))).toEqual(quiet);
});
