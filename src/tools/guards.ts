import type { Refusal } from "../resume/refusals.ts";
import { spentBudget, withTotals } from "../run/budget.ts";
import { LoopkeeperError, refused } from "../run/errors.ts";
import { argument, tool } from "../run/names.ts";
import type { Budget, RunRecord } from "../run/run.ts";
import { said, toCallers } from "../run/said.ts";
import { HIGHER_BUDGET, NEEDS } from "../run/stop-reason.ts";

/** Checks that several writing tools make before they change anything. */

export function refuseIf(refusal: Refusal | null): void {
  if (refusal === null) return;
  const { code, word, message } = refusal;
  throw code === "already_running" ? new LoopkeeperError(code, message) : refused(word, message);
}

export function checkRevision(run: RunRecord, expected: number | undefined): void {
  if (expected === undefined || expected === run.revision) return;
  throw new LoopkeeperError(
    "revision_conflict",
    said`run ${run.run_id} is at revision ${run.revision}, not ${expected}: it moved since you looked.${toCallers(said` Look at ${tool("run_status")}, then call again with ${argument("expected_revision", "")} ${run.revision} if you still want it.`)}`,
  );
}

/** An engine that is started on a spent budget is only stopped again. */
export function checkBudget(run: RunRecord, totals: Budget | undefined): void {
  const spent = spentBudget(withTotals(run.settings.budget, totals), run.usage);
  if (spent === null) return;
  throw refused(
    NEEDS.budget.word,
    said`the budget of run ${run.run_id} is used up (${spent}): ${HIGHER_BUDGET} (new totals over the run's whole life; what you leave out stays).`,
  );
}

const TRIES = 6;

/**
 * Looks and changes again when the run moved in between: a live run moves by itself, and only a caller who named a revision
 * wants to hear of it.
 */
export async function onceSettled<T>(expected: number | undefined, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const moved = error instanceof LoopkeeperError && error.code === "revision_conflict" && expected === undefined;
      if (!moved || tries >= TRIES) throw error;
    }
  }
}
