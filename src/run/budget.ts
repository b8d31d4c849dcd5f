import type { Budget, Usage } from "./run.ts";

/** Which of the owner's caps is used up, in words; null while all of them leave room. */
export function spentBudget(budget: Budget | null, usage: Usage): string | null {
  if (budget === null) return null;
  if (budget.cost_usd !== undefined && (usage.cost_usd ?? 0) >= budget.cost_usd)
    return `cost ${(usage.cost_usd ?? 0).toFixed(4)} USD of ${budget.cost_usd} USD used`;
  if (budget.minutes !== undefined && usage.active_ms >= budget.minutes * 60_000)
    return `${(usage.active_ms / 60_000).toFixed(1)} of ${budget.minutes} minutes used`;
  if (budget.tokens !== undefined && usage.input_tokens + usage.output_tokens >= budget.tokens)
    return `${usage.input_tokens + usage.output_tokens} of ${budget.tokens} tokens used`;
  return null;
}

/** New totals: a cap that is not named again stays, so that raising one never takes another away. */
export function withTotals(budget: Budget | null, totals: Budget | undefined): Budget | null {
  return totals === undefined ? budget : { ...budget, ...totals };
}
