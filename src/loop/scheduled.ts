import { reopenChange } from "../resume/reopen.ts";
import { epochMs, isoOf, msOf, now } from "../run/clock.ts";
import { LoopkeeperError, messageOf } from "../run/errors.ts";
import { iterationsLeft } from "../run/grant.ts";
import type { RunRecord, StopRecord } from "../run/run.ts";
import type { LoopContext } from "./context.ts";

/** Resumes that nobody has to be there for: `at: "reset"` of run_resume, and auto_resume. */

const BACK_OFF_MINUTES = [1, 5, 15, 60] as const;

/** When a run that just stopped is to go on by itself; null when its owner did not ask for that, or it has used it up. */
export function autoResumeAt(run: RunRecord, stop: StopRecord): string | null {
  const auto = run.settings.auto_resume;
  if (auto === null || auto.used >= auto.times || !auto.reasons.includes(stop.reason) || iterationsLeft(run) === 0) return null;
  const jitterMs = 30_000 + Math.floor(Math.random() * 60_000);
  if (stop.resets_at !== null) return isoOf(Math.max(epochMs(), msOf(stop.resets_at)) + jitterMs);
  const minutes = BACK_OFF_MINUTES[Math.min(auto.used, BACK_OFF_MINUTES.length - 1)] ?? 60;
  return isoOf(epochMs() + minutes * 60_000);
}

/** Continues a stopped run whose time has come. Somebody who was quicker wins. */
export async function resumeScheduled(ctx: LoopContext, run: RunRecord): Promise<void> {
  const at = now();
  const [steps, attempts] = await Promise.all([ctx.store.steps(run.run_id), ctx.store.attempts(run.run_id)]);
  const auto = run.settings.auto_resume;
  const settings =
    auto === null ? run.settings : { ...run.settings, auto_resume: { ...auto, used: Math.min(auto.times, auto.used + 1) } };
  const change = reopenChange(
    { run, steps, attempts },
    {
      at,
      from: "stop",
      by: "auto_resume",
      add_iterations: 0,
      instructions: [],
      settings,
      model: run.model,
      verify: null,
      data: { waited_until: run.waiting_until },
    },
  );
  if (change === null) return;
  try {
    await ctx.store.apply({ ...change, run_id: run.run_id, at });
  } catch (error) {
    if (!(error instanceof LoopkeeperError)) throw error;
    ctx.log("info", "a scheduled resume was not made", { run_id: run.run_id, why: messageOf(error) });
  }
}
