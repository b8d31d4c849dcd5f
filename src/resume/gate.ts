import { msOf } from "../run/clock.ts";
import { iterationsLeft } from "../run/grant.ts";
import { type InstructionRecord, isLive, type RunRecord, type StepRecord } from "../run/run.ts";
import { type ResumeNeed, stopReasonRow } from "../run/stop-reason.ts";

/** What may be done with a run now. One place: answers, refusals, choices and descriptions all come from here. */

export interface GateFacts {
  readonly run: RunRecord;
  readonly steps: readonly StepRecord[];
  readonly undelivered: readonly InstructionRecord[];
}

/** Why something is not allowed: a fixed first word, then what to do instead. */
export interface Refusal {
  readonly code: "not_allowed" | "already_running";
  readonly word: string;
  readonly message: string;
}

const refusal = (word: string, message: string): Refusal => ({ code: "not_allowed", word, message });

/** Why this run cannot be resumed whatever the arguments; null when it can. */
export function resumeRefusal(run: RunRecord): Refusal | null {
  if (isLive(run.state)) {
    const since = run.started_at ?? run.created_at;
    const by = run.state === "queued" ? "it is queued" : "a worker drives it";
    return {
      code: "already_running",
      word: "already_running",
      message: `run ${run.run_id} is ${run.state} since ${since} (${by}, iteration ${run.iteration} of ${run.max_iterations}). Call run_wait to wait for it.`,
    };
  }
  const put = putAway(run);
  if (put !== null) return put;
  if (run.state === "done" || run.stop_reason === "done")
    return refusal("done", "a done run is never resumed; start a new run with coding_loop_start.");
  if (run.was_reset !== null) {
    return refusal(
      "was_reset",
      `the run was reset to its start; call run_reset with to: "${run.was_reset}" (its safety checkpoint) to bring the work back, or start a new run with coding_loop_start.`,
    );
  }
  return null;
}

function putAway(run: RunRecord): Refusal | null {
  if (run.reclaimed_at !== null)
    return refusal("reclaimed", `the run's workspace was freed at ${run.reclaimed_at}; start a new run with coding_loop_start.`);
  if (run.archived_at !== null)
    return refusal(
      "archived",
      `the run was archived at ${run.archived_at}; bring it back first (run_archive with archived: false).`,
    );
  return null;
}

/** Why iterations cannot be granted; null when they can. */
export function grantRefusal(run: RunRecord): Refusal | null {
  const put = putAway(run);
  if (put !== null) return put;
  if (run.state === "done")
    return refusal("done", "a done run takes no more iterations; start a new run with coding_loop_start.");
  if (run.state === "stopping") return refusal("stopping", "the run is stopping; call run_wait, then grant.");
  if (run.was_reset !== null) return resumeRefusal(run);
  return null;
}

/** Why the run cannot be reset; null when it can. */
export function resetRefusal(run: RunRecord): Refusal | null {
  if (isLive(run.state)) return refusal("live", `the run is ${run.state}; stop it first with run_stop, then wait with run_wait.`);
  return run.reclaimed_at !== null || run.archived_at !== null ? putAway(run) : null;
}

/** Why the run cannot be stopped; null when it can. */
export function stopRefusal(run: RunRecord): Refusal | null {
  if (run.state === "done") return refusal("done", "the run is already done; there is nothing to stop.");
  if (run.state === "stopped" && run.waiting_until === null)
    return refusal("stopped", `the run is already stopped (${run.stop_reason ?? "unknown"}); see run_explain_stop.`);
  return null;
}

export function isResumable(run: RunRecord): boolean {
  return resumeRefusal(run) === null;
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
  return [...needs];
}

/** Whether the run, and the step that its own share stopped, may begin another iteration. */
function hasIterations(facts: GateFacts): boolean {
  if (iterationsLeft(facts.run) === 0) return false;
  if (facts.run.stop?.ceiling !== "step") return true;
  const step = facts.steps.find((candidate) => candidate.step === facts.run.stop?.step);
  return step?.max_iterations == null || step.iteration < step.max_iterations;
}

/** True while an engine's usage window is known to be spent: run_resume then wants `at`. */
export function beforeReset(run: RunRecord, nowMs: number): boolean {
  return run.stop_reason === "engine_limit" && run.stop?.resets_at != null && msOf(run.stop.resets_at) > nowMs;
}
