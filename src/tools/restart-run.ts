import { join } from "node:path";
import { now } from "../run/clock.ts";
import { shortId } from "../run/id.ts";
import { freshRun, type RunRecord } from "../run/run.ts";
import type { NewRun } from "../store/store.ts";
import type { ToolContext } from "./context.ts";

/** A new run with the settings of one that is reset to its start, without a note: it is to begin as if nothing had been. */
export async function restartedRun(ctx: ToolContext, from: RunRecord, runId: string): Promise<NewRun> {
  const at = now();
  const short = shortId(runId);
  const worktree = from.workspace_kind === "worktree";
  const steps = await ctx.store.steps(from.run_id);
  const path = worktree ? join(ctx.settings.workspaces, short) : from.workspace_path;
  return {
    run: {
      ...from,
      run_id: runId,
      branch: worktree ? `loopkeeper/${short}` : from.branch,
      workspace_path: path,
      settings: {
        ...from.settings,
        host: ctx.settings.host,
        allowed_commands: [],
        auto_resume: from.settings.auto_resume === null ? null : { ...from.settings.auto_resume, used: 0 },
      },
      resume_note: null,
      predecessor_run_id: null,
      ...freshRun(at, from.first_cap),
    },
    steps: steps.map((step) => ({ ...step, state: "pending", attempt: 0, iteration: 0 })),
    attempts: [],
    events: [{ type: "run_created", at, data: { restarted_from: from.run_id } }],
    instructions: [],
    request: null,
    tree_hold: path,
  };
}
