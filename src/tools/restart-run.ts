import { join } from "node:path";
import { now } from "../run/clock.ts";
import type { RunRecord } from "../run/run.ts";
import type { ToolContext } from "./context.ts";

/** Starts a new run with the settings of one that was reset to its start, without a note: it is to begin as if nothing had been. */
export async function restartRun(ctx: ToolContext, from: RunRecord, runId: string, short: string): Promise<void> {
  const at = now();
  const worktree = from.workspace_kind === "worktree";
  const steps = await ctx.store.steps(from.run_id);
  const path = worktree ? join(ctx.settings.workspaces, short) : from.workspace_path;
  await ctx.store.createRun({
    run: {
      ...from,
      run_id: runId,
      branch: worktree ? `loopkeeper/${short}` : from.branch,
      workspace_path: path,
      settings: {
        ...from.settings,
        allowed_commands: [],
        auto_resume: from.settings.auto_resume === null ? null : { ...from.settings.auto_resume, used: 0 },
      },
      state: "queued",
      stop_reason: null,
      stop: null,
      stop_request: null,
      iteration: 0,
      max_iterations: from.first_cap,
      usage: { input_tokens: 0, output_tokens: 0, cost_usd: null, active_ms: 0 },
      plan: [],
      report: null,
      last_words: null,
      resume_note: null,
      predecessor_run_id: null,
      was_reset: null,
      revision: 1,
      fence: 0,
      created_at: at,
      started_at: null,
      alive_at: null,
      progress_at: null,
      waiting_until: null,
      stopped_at: null,
      archived_at: null,
      reclaimed_at: null,
      changed_at: at,
    },
    steps: steps.map((step) => ({ ...step, state: "pending", attempt: 0, iteration: 0 })),
    attempts: [],
    events: [{ type: "run_created", at, data: { restarted_from: from.run_id } }],
    instructions: [],
    request: null,
    tree_hold: path,
  });
  await ctx.wakeWorker();
}
