import { spentBudget } from "../run/budget.ts";
import { msOf } from "../run/clock.ts";
import { iterationsLeft } from "../run/grant.ts";
import { tool } from "../run/names.ts";
import type { AttemptRecord, InstructionRecord, RunRecord, StepRecord } from "../run/run.ts";
import { said } from "../run/said.ts";
import { type ResumeNeed, stopReasonRow } from "../run/stop-reason.ts";
import { type Refusal, refusalOf } from "./refusals.ts";
import { lastAttempt, shareUsedUp, stepToContinue } from "./reopen.ts";

/** What a resume needs and where it starts. What a run's state refuses altogether is the table of refusals.ts. */

export interface GateFacts {
  readonly run: RunRecord;
  readonly steps: readonly StepRecord[];
  /** Oldest first. */
  readonly attempts: readonly Pick<AttemptRecord, "step" | "attempt" | "entry_checkpoint">[];
  readonly undelivered: readonly InstructionRecord[];
}

/** The run's very start: the checkpoint that a reset goes back to by default; null when it was stopped before it began. */
export function startCheckpoint(attempts: GateFacts["attempts"]): string | null {
  return attempts[0]?.entry_checkpoint ?? null;
}

/** Why this run cannot be taken back to its start; null when it can. Again is allowed: conflicts may have been left alone. */
export function resetToStartRefusal(facts: Pick<GateFacts, "run" | "attempts">): Refusal | null {
  const { run } = facts;
  const refused = refusalOf("reset", run);
  if (refused !== null) return refused;
  if (startCheckpoint(facts.attempts) !== null) return null;
  return {
    code: "not_allowed",
    word: "nothing_to_undo",
    message: said`run ${run.run_id} never began, so there is nothing to reset. ${tool("run_resume")} begins it.`,
  };
}

export function isResumable(run: RunRecord): boolean {
  return refusalOf("resume", run) === null;
}

/** Where run_resume starts when the caller does not say: after `failed` at the entry, unless a later step succeeded meanwhile. */
export function defaultFrom(facts: GateFacts): "stop" | "entry" {
  const { run, steps } = facts;
  if (run.stop_reason === null || stopReasonRow(run.stop_reason).resumesFrom === "stop") return "stop";
  const reopened = steps.filter((step) => step.state === "failed" || step.state === "stopped");
  const first = Math.min(...reopened.map((step) => step.position));
  return steps.some((step) => step.state === "succeeded" && step.position > first) ? "stop" : "entry";
}

/** The arguments that run_resume must be given, for a start at `from`. Instructions already stored count. */
export function resumeNeeds(facts: GateFacts, from: "stop" | "entry"): readonly ResumeNeed[] {
  const { run } = facts;
  if (run.stop_reason === null) return [];
  const needs = new Set<ResumeNeed>(stopReasonRow(run.stop_reason).needs);
  if (run.stop_reason === "escalated" && run.stop?.question?.kind === "permission") {
    needs.delete("instructions");
    needs.add("permission");
  }
  if (run.stop_reason === "failed" && from === "stop") needs.add("instructions");
  if (facts.undelivered.some((instruction) => instruction.kind === "instructions")) needs.delete("instructions");
  if (hasIterations(facts)) needs.delete("add_iterations");
  else needs.add("add_iterations");
  // Whatever stopped it: an engine that is started on a spent budget is only stopped again.
  if (isSpent(run)) needs.add("budget");
  return [...needs];
}

/** Whether the run, and the step that goes on, may begin another iteration. */
function hasIterations(facts: GateFacts): boolean {
  if (iterationsLeft(facts.run) === 0) return false;
  const step = stepToContinue(facts.run, facts.steps);
  return step === null || !shareUsedUp(step);
}

/** Steps that can be done again: those that began and were not taken back since. */
export function redoable(facts: GateFacts): readonly StepRecord[] {
  return facts.steps.filter((step) => lastAttempt(facts.attempts, step.step)?.entry_checkpoint != null);
}

function isSpent(run: RunRecord): boolean {
  return spentBudget(run.settings.budget, run.usage) !== null;
}

/** What run_redo must be given for a step: iterations for it and for what runs again after it, and room in the budget. */
export function redoNeeds(facts: GateFacts, step: StepRecord): readonly ResumeNeed[] {
  const again = redoable(facts).filter((other) => other.position >= step.position);
  const iterations = iterationsLeft(facts.run) === 0 || again.some(shareUsedUp);
  return [...(iterations ? (["add_iterations"] as const) : []), ...(isSpent(facts.run) ? (["budget"] as const) : [])];
}

/** True while an engine's usage window is known to be spent: run_resume then wants `at`. */
export function beforeReset(run: RunRecord, nowMs: number): boolean {
  return run.stop_reason === "engine_limit" && run.stop?.resets_at != null && msOf(run.stop.resets_at) > nowMs;
}
