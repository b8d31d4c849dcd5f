import type { ClassifiedStop } from "../engine/engine.ts";
import { spentBudget } from "../run/budget.ts";
import { iterationsLeft } from "../run/grant.ts";
import type { RunRecord, StepRecord, VerifyRecord } from "../run/run.ts";
import type { Attempt } from "./attempt.ts";
import { type Drive, loopStop } from "./drive.ts";
import { noProgress } from "./progress.ts";

/** What follows from a finished iteration. */
export type Decision =
  | { readonly kind: "go_on" }
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly stop: ClassifiedStop }
  | { readonly kind: "stop"; readonly stop: ClassifiedStop; readonly ceiling: "run" | "step" | null };

/** The order matters: a verdict stands over every ceiling, so that work finished in the last iteration is `done`. */
export function decide(drive: Drive, step: StepRecord, attempt: Attempt, verify: readonly VerifyRecord[]): Decision {
  const { report } = attempt.turn;
  const passing = verify.length === step.verify.length && verify.every((result) => result.exit_code === 0);
  if (report?.verdict === "blocked")
    return {
      kind: "failed",
      stop: loopStop(
        "failed",
        `the engine reported that it is blocked: ${report.summary ?? report.midway ?? report.question ?? "no reason given"}`,
      ),
    };
  if (report?.verdict === "needs_human") {
    const text = report.question ?? report.summary ?? "The engine asked for a person without saying what for.";
    return {
      kind: "stop",
      ceiling: null,
      stop: loopStop("escalated", text, { question: { kind: "question", text, command: null } }),
    };
  }
  if (report?.verdict === "done" && passing) return { kind: "succeeded" };
  if (
    !attempt.engine.canReport() &&
    attempt.turn.report === null &&
    verify.length > 0 &&
    passing &&
    planClosed(attempt, drive.run)
  )
    return { kind: "succeeded" };
  const unrunnable = unrunnableTwice(attempt, verify);
  if (unrunnable !== null) {
    const text = `The check cannot be run (exit code ${unrunnable.exit_code ?? "none"}, twice in a row): ${unrunnable.command}`;
    return {
      kind: "stop",
      ceiling: null,
      stop: loopStop("escalated", text, { question: { kind: "question", text, command: unrunnable.command } }),
    };
  }
  return ceilings(drive.run, step, attempt);
}

/** What must stop the run before another iteration is begun; null when one may be. */
export function ceilings(run: RunRecord, step: StepRecord, attempt: Pick<Attempt, "entry_key" | "keys">): Decision {
  const spent = spentBudget(run.settings.budget, run.usage);
  if (spent !== null) return { kind: "stop", ceiling: null, stop: loopStop("budget", spent) };
  if (noProgress(attempt.entry_key, attempt.keys)) {
    return {
      kind: "stop",
      ceiling: null,
      stop: loopStop("no_progress", "three iterations in a row left the same tree, acts, plan and check results"),
    };
  }
  if (iterationsLeft(run) === 0)
    return {
      kind: "stop",
      ceiling: "run",
      stop: loopStop("max_iterations", `${run.iteration} of ${run.max_iterations} iterations used`),
    };
  if (step.max_iterations !== null && step.iteration >= step.max_iterations) {
    return {
      kind: "stop",
      ceiling: "step",
      stop: loopStop("max_iterations", `step ${step.step} used its ${step.max_iterations} iterations`),
    };
  }
  return { kind: "go_on" };
}

function planClosed(attempt: Attempt, run: RunRecord): boolean {
  return (attempt.turn.plan ?? run.plan).every((entry) => entry.status === "completed");
}

/** A check that exits 126 or 127 cannot be run at all: feeding that to the engine again and again only burns iterations. */
function unrunnableTwice(attempt: Attempt, verify: readonly VerifyRecord[]): VerifyRecord | null {
  const failed = new Map(
    verify.filter((result) => result.exit_code === 126 || result.exit_code === 127).map((result) => [result.command, result]),
  );
  const again = [...failed.values()].find((result) => attempt.unrunnable.has(result.command)) ?? null;
  attempt.unrunnable = new Set(failed.keys());
  return again;
}
