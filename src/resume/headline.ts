import type { RunRecord, StopRecord } from "../run/run.ts";
import { stopSentence } from "../run/stop-reason.ts";

/** The true cause of a stop in one line; the same words in answers, explanation, note and console. */
export function headline(run: Pick<RunRecord, "iteration" | "max_iterations">, stop: StopRecord): string {
  const counts = { iteration: run.iteration, max_iterations: run.max_iterations };
  switch (stop.reason) {
    case "max_iterations":
      if (stop.ceiling === "step")
        return `Step ${stop.step ?? "?"} used its share of the iterations before reaching a verdict (${run.iteration} of ${run.max_iterations} used by the run).`;
      return `It used all ${stop.iteration} iterations before reaching a verdict.`;
    case "engine_limit":
      return `${stopSentence("engine_limit", counts)} ${stop.resets_at === null ? "When it resets is not known." : `It resets at ${stop.resets_at}.`}`;
    case "escalated":
      return stop.question?.kind === "permission"
        ? `${stopSentence("escalated", counts)} It wants a permission.`
        : `${stopSentence("escalated", counts)} It has a question.`;
    case "failed":
    case "relay_timeout":
    case "interrupted":
    case "provider_credit":
    case "engine_auth":
    case "storage":
    case "budget":
    case "context_overflow":
      return `${stopSentence(stop.reason, counts)} Evidence: ${oneLine(stop.evidence, 160)}`;
    case "cancelled":
    case "no_progress":
    case "done":
      return stopSentence(stop.reason, counts);
  }
}

/** Text on one line, cut to `length` characters with an ellipsis. */
export function oneLine(text: string, length: number): string {
  const flat = text.replaceAll(/\s+/gu, " ").trim();
  return flat.length <= length ? flat : `${flat.slice(0, length - 1)}…`;
}
