import type { RunRecord, StopRecord } from "../run/run.ts";
import { stopSentence } from "../run/stop-reason.ts";
import { quoted } from "./shown.ts";

type Counted = Pick<RunRecord, "iteration" | "max_iterations">;

/** The true cause of a stop in one line; the same words in answers, explanation and console. Words of others are quoted. */
export function headline(run: Counted, stop: StopRecord): string {
  const cause = causeSentence(run, stop);
  return NEEDS_EVIDENCE.has(stop.reason) ? `${cause} Evidence: ${quoted(stop.evidence, 160)}` : cause;
}

const NEEDS_EVIDENCE: ReadonlySet<StopRecord["reason"]> = new Set([
  "failed",
  "relay_timeout",
  "interrupted",
  "provider_credit",
  "engine_auth",
  "storage",
  "budget",
  "context_overflow",
]);

/** Names in a sentence at most; a run may have many more steps. */
const NAMED = 12;

function stepsLost({ failed_steps: failed, unreachable_steps: unreachable }: StopRecord): string {
  if (failed.length === 0) return "";
  const names = (steps: readonly string[]): string =>
    `${steps.slice(0, NAMED).join(", ")}${steps.length > NAMED ? ` and ${steps.length - NAMED} more` : ""}`;
  const without =
    unreachable.length === 0 ? "" : `; unreachable without ${failed.length === 1 ? "it" : "them"}: ${names(unreachable)}`;
  return ` Failed ${failed.length === 1 ? "step" : "steps"}: ${names(failed)}${without}.`;
}

/** The cause in our own words alone: no engine, provider or repository can write into it. */
export function causeSentence(run: Counted, stop: StopRecord): string {
  const counts = { iteration: run.iteration, max_iterations: run.max_iterations };
  const sentence = stopSentence(stop.reason, counts);
  switch (stop.reason) {
    case "max_iterations":
      if (stop.ceiling === "step")
        return `Step ${stop.step ?? "?"} used its share of the iterations before reaching a verdict (${run.iteration} of ${run.max_iterations} used by the run).`;
      return stop.iteration === 1
        ? "It used its one iteration before reaching a verdict."
        : `It used all ${stop.iteration} iterations before reaching a verdict.`;
    case "failed":
      return `${sentence}${stepsLost(stop)}`;
    case "engine_limit":
      return `${sentence} ${stop.resets_at === null ? "When it resets is not known." : `It resets at ${stop.resets_at}.`}`;
    case "escalated":
      return stop.question?.kind === "permission" ? `${sentence} It wants a permission.` : `${sentence} It has a question.`;
    case "interrupted":
      return stop.alive_until === null
        ? sentence
        : `It was interrupted by a crash or a reboot after ${run.iteration} of ${run.max_iterations} iterations; the last sign of life was at ${stop.alive_until}.`;
    default:
      return sentence;
  }
}
