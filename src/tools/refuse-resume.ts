import { refusalOf } from "../resume/refusals.ts";
import { LoopkeeperError } from "../run/errors.ts";
import type { RunEventType } from "../run/event.ts";
import { tool } from "../run/names.ts";
import type { RunRecord } from "../run/run.ts";
import { said, toCallers } from "../run/said.ts";
import type { ToolContext } from "./context.ts";
import { refuseIf } from "./guards.ts";

/** What had a run go on, by the event that tells it. */
const BEGUN = ["run_created", "run_resumed", "step_redone"] as const satisfies readonly RunEventType[];

const BY: Readonly<Record<string, string>> = {
  run_created: "started by its owner",
  step_redone: "by a redo of its owner's",
  owner: "resumed by its owner",
  grant: "continued by a grant of its owner's",
  auto_resume: "continued by its auto_resume",
};

/** Throws when the run's state refuses a resume; of a live run it is told since when it is, and by whom. */
export async function refuseResume(ctx: ToolContext, run: RunRecord): Promise<void> {
  const refused = refusalOf("resume", run);
  if (refused?.code !== "already_running") return refuseIf(refused);
  const [begun] = await ctx.store.events(run.run_id, { types: BEGUN, limit: 1 });
  const by = BY[String(begun?.data["by"] ?? begun?.type)] ?? "by its owner";
  const driven = run.state === "queued" ? "it waits for a worker" : "a worker drives it";
  throw new LoopkeeperError(
    "already_running",
    said`run ${run.run_id} is ${run.state}, already since ${begun?.at ?? run.created_at}, ${by} (${driven}, iteration ${run.iteration} of ${run.max_iterations}).${toCallers(said` Call ${tool("run_wait")} to wait for it.`)}`,
  );
}
