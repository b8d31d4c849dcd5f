import { driftSinceStop } from "../resume/drift-since.ts";
import { refusalOf } from "../resume/refusals.ts";
import { reopenChange } from "../resume/reopen.ts";
import { spentBudget } from "../run/budget.ts";
import { isoOf, msOf, now } from "../run/clock.ts";
import { LoopkeeperError, messageOf } from "../run/errors.ts";
import { iterationsLeft } from "../run/grant.ts";
import type { RunRecord, StopRecord } from "../run/run.ts";
import type { RunChange } from "../store/store.ts";
import type { LoopContext } from "./context.ts";

/** Resumes that nobody has to be there for: `at: "reset"` of run_resume, and auto_resume. */

const BACK_OFF_MINUTES = [1, 5, 15, 60] as const;

/** When a run that just stopped is to go on by itself; null when its owner did not ask for that, or it has used it up. */
export function autoResumeAt(run: RunRecord, stop: StopRecord, nowMs: number): string | null {
  const auto = run.settings.auto_resume;
  if (auto === null || auto.used >= auto.times || !auto.reasons.includes(stop.reason)) return null;
  if (iterationsLeft(run) === 0 || spentBudget(run.settings.budget, run.usage) !== null) return null;
  const marginMs = 30_000 + Math.floor(Math.random() * 60_000);
  const resetMs = stop.resets_at === null ? null : msOf(stop.resets_at) + marginMs;
  // A reset that is past already, or was waited for and refused again, tells nothing about when.
  if (resetMs !== null && resetMs > nowMs) return isoOf(resetMs);
  const minutes = BACK_OFF_MINUTES[Math.min(auto.used, BACK_OFF_MINUTES.length - 1)] ?? 60;
  return isoOf(nowMs + minutes * 60_000);
}

/** Continues the stopped runs among these whose time has come by the store's clock. */
export async function resumeDue(ctx: LoopContext, runs: readonly RunRecord[]): Promise<void> {
  const waiting = runs.filter((run) => run.state === "stopped" && run.waiting_until !== null);
  if (waiting.length === 0) return;
  const nowMs = msOf(await ctx.store.clock());
  for (const run of waiting) if (run.waiting_until !== null && msOf(run.waiting_until) <= nowMs) await resumeScheduled(ctx, run);
}

/** Somebody who was quicker wins. */
async function resumeScheduled(ctx: LoopContext, run: RunRecord): Promise<void> {
  const refused = await whyNot(ctx, run);
  if (refused !== null) {
    const at = now();
    const events = [{ type: "schedule_cancelled", at, data: { why: refused } }] as const;
    await attempt(ctx, run, { expected_revision: run.revision, bump_revision: true, run: { waiting_until: null }, events });
    return;
  }
  const change = await continuation(ctx, run);
  if (change === null || (await attempt(ctx, run, change))) return;
  // Its working tree may be in use: look again in a minute, not at once and for ever.
  const until = isoOf(msOf(await ctx.store.clock()) + 60_000);
  const events = [{ type: "schedule_moved", at: now(), data: { until } }] as const;
  await attempt(ctx, run, { expected_revision: run.revision, bump_revision: false, run: { waiting_until: until }, events });
}

/** What only the owner can decide is not decided by a clock. */
async function whyNot(ctx: LoopContext, run: RunRecord): Promise<string | null> {
  const refused = refusalOf("resume", run);
  if (refused !== null) return refused.message.agent;
  if (run.stop === null) return null;
  const drift = await driftSinceStop(ctx, run, run.stop, ctx.settings.fetch_remote).catch(() => null);
  if (drift?.branch.merged != null) return `its branch was merged into ${drift.branch.merged.into}`;
  return drift?.branch.remote?.deleted === true ? "its branch was deleted at the remote" : null;
}

async function continuation(ctx: LoopContext, run: RunRecord): Promise<Omit<RunChange, "run_id" | "at"> | null> {
  const { store } = ctx;
  const [steps, attempts] = await Promise.all([store.steps(run.run_id), store.attempts(run.run_id)]);
  const auto = run.settings.auto_resume;
  const byOwner = await scheduledByOwner(ctx, run);
  const used = auto === null || byOwner ? auto : { ...auto, used: Math.min(auto.times, auto.used + 1) };
  return reopenChange(
    { run, steps, attempts },
    {
      at: now(),
      from: "stop",
      by: byOwner ? "owner" : "auto_resume",
      add_iterations: 0,
      instructions: [],
      settings: { ...run.settings, auto_resume: used },
      model: run.model,
      verify: null,
      also: [],
      data: { waited_until: run.waiting_until },
    },
  );
}

/** A resume that the owner ordered for the reset counts none of the times that auto_resume has. */
async function scheduledByOwner(ctx: LoopContext, run: RunRecord): Promise<boolean> {
  const [scheduled] = await ctx.store.events(run.run_id, { types: ["run_scheduled"], limit: 1 });
  return scheduled?.data["by"] === "owner";
}

/** False when it was refused: the run moved, or its tree is held. */
async function attempt(ctx: LoopContext, run: RunRecord, change: Omit<RunChange, "run_id" | "at">): Promise<boolean> {
  try {
    await ctx.store.apply({ ...change, run_id: run.run_id, at: now() });
    return true;
  } catch (error) {
    if (!(error instanceof LoopkeeperError)) throw error;
    ctx.log("info", "a scheduled resume was not made", { run_id: run.run_id, why: messageOf(error) });
    return error.code === "revision_conflict";
  }
}
