import { positive } from "./number.ts";

export const CAPS = ["cost_usd", "minutes", "tokens"] as const;

/** New totals as they were typed. */
export type BudgetDraft = Readonly<Record<(typeof CAPS)[number], string>>;

export const NO_BUDGET: BudgetDraft = { cost_usd: "", minutes: "", tokens: "" };

/** What was typed, or null where nothing was; a cap that is left out stays as it is. */
export function budgetIn(draft: BudgetDraft): Readonly<Record<string, number>> | null {
  const typed = CAPS.flatMap((cap) => {
    const number = positive(draft[cap]);
    return number === null ? [] : [[cap, cap === "tokens" ? Math.ceil(number) : number] as const];
  });
  return typed.length === 0 ? null : Object.fromEntries(typed);
}
