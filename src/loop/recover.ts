import { now } from "../run/clock.ts";
import { messageOf } from "../run/errors.ts";
import type { RunRecord } from "../run/run.ts";
import type { LoopContext } from "./context.ts";
import { cutIteration } from "./cut-iteration.ts";
import { Drive, loopStop } from "./drive.ts";
import { stopRun } from "./stop.ts";

/**
 * Ends a run whose driver died: what is left of its processes is killed, the tree is saved as it is, and the run becomes
 * `interrupted` (or `cancelled`, when its owner had asked for the stop). The engine is not woken.
 */
export async function recoverRun(
  ctx: LoopContext,
  taken: { readonly run: RunRecord; readonly fence: number },
  evidence: string,
): Promise<void> {
  const { run, fence } = taken;
  if (run.state === "queued") {
    // It was claimed and never begun: nothing is lost, the next free driver takes it.
    await ctx.store.releaseLease(run.run_id, fence);
    return;
  }
  await ctx.engines.killMarked(run.run_id);
  const drive = new Drive(ctx, run, fence, await ctx.store.steps(run.run_id));
  try {
    await drive.apply({ bump_revision: false, events: [{ type: "driver_lost", at: now(), data: { evidence } }] });
    drive.workspace = await discoverOrNull(ctx, run);
    const asked = drive.run.stop_request;
    const stop =
      asked === null
        ? loopStop("interrupted", evidence, { source: "recovery" })
        : loopStop("cancelled", `${asked.why ?? "the owner called run_stop"}; ${evidence}`, { source: "owner" });
    const step = drive.steps.find((candidate) => candidate.state === "running") ?? null;
    const cut = await cutIteration(drive, evidence);
    await stopRun(drive, { stop, ceiling: null, step, attempt: null, cut, alive_until: run.alive_at });
  } finally {
    await drive.close();
    await ctx.store.releaseLease(run.run_id, fence);
  }
}

async function discoverOrNull(ctx: LoopContext, run: RunRecord): Promise<Drive["workspace"]> {
  try {
    if (run.workspace_kind === "worktree") {
      const state = await ctx.checkpoints.worktreeState(run.workspace_path, run.repo_common_dir);
      // An agent may have removed its index; what it worked on is there, unless the run never began.
      if (state !== "present" && !(state === "unfinished" && run.iteration > 0)) return null;
    }
    return await ctx.checkpoints.discover(run.workspace_path);
  } catch (error) {
    ctx.log("warn", "the workspace of a recovered run could not be opened", { run_id: run.run_id, error: messageOf(error) });
    return null;
  }
}
