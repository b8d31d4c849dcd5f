import { z } from "zod";
import {
  budgetArgument,
  expectedRevisionArgument,
  iterationsArgument,
  requestIdArgument,
  runIdArgument,
  wordsArgument,
} from "./schemas.ts";
import { autoResumeArgument } from "./start-arguments.ts";

export const resumeInput = z.strictObject({
  run_id: runIdArgument,
  instructions: wordsArgument.optional().describe("Your orders, or the answer to its question."),
  updates: wordsArgument.optional().describe("Facts such as ticket text; given to the agent as data, not as orders."),
  permission: z
    .enum(["allow_once", "allow_for_run", "deny"])
    .optional()
    .describe("The answer to a permission question; covers exactly the command shown."),
  add_iterations: iterationsArgument.optional().describe("Iterations added to the ceiling (not a new total)."),
  from: z
    .enum(["stop", "entry"])
    .optional()
    .describe("stop: go on where it stopped. entry: take the step's files back to its start first (default after failed)."),
  on_drift: z
    .enum(["keep", "restore", "refuse"])
    .optional()
    .describe(
      "When others changed things since: keep (default) goes on with them and tells the agent; restore puts the stop's files, and in a worktree its HEAD, back after a safety checkpoint and sets a dead git's lock file aside; refuse stops. A merged or remotely deleted branch wants an explicit keep, a dead git's lock keep or restore.",
    ),
  at: z.enum(["now", "reset"]).optional().describe("After engine_limit: now, or when the usage window resets."),
  auto_resume: autoResumeArgument.optional().describe("Continue by itself after these stops, so many times."),
  verify: z.array(z.string().min(1)).max(50).optional().describe("Replaces the checks of the stopped steps."),
  model: z.string().min(1).optional().describe("Another model of the same agent; default: the run's."),
  budget: budgetArgument.optional().describe("New totals over the run's whole life."),
  repo: z.string().min(1).optional().describe("Where the repository is on this machine, if it moved."),
  dry_run: z.boolean().optional().describe("Checks everything and changes nothing."),
  request_id: requestIdArgument,
  expected_revision: expectedRevisionArgument,
});
export type ResumeArgs = z.output<typeof resumeInput>;
