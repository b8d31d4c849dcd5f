import type { RunView } from "../../../src/tools/schemas.ts";
import { type BudgetDraft, budgetIn } from "./budget-draft.ts";
import { iterationsIn } from "./number.ts";

/** What a person wants of a reset or a redo. */
export interface RestoreDraft {
  readonly step: string;
  /** Null: the very start. */
  readonly to: string | null;
  readonly restart: boolean;
  /** Exact paths that others changed since and that may be overwritten. */
  readonly overwrite: readonly string[];
  readonly instructions: string;
  readonly add_iterations: string;
  readonly budget: BudgetDraft;
}

/** The arguments of the preview; its token carries them into the confirming call. */
export function wishOf(draft: RestoreDraft, redo: boolean): Readonly<Record<string, unknown>> {
  const add = iterationsIn(draft.add_iterations);
  const budget = budgetIn(draft.budget);
  const own = redo
    ? { step: draft.step, ...(add === null ? {} : { add_iterations: add }), ...(budget === null ? {} : { budget }) }
    : { ...(draft.to === null ? {} : { to: draft.to }), ...(draft.restart ? { restart: true } : {}) };
  return { ...own, ...(draft.overwrite.length === 0 ? {} : { overwrite: draft.overwrite }) };
}

/** The deed by its name: what the button says is what happens. */
export function deedName(draft: RestoreDraft, run: RunView, redo: boolean): string {
  if (redo) return run.steps.length > 1 ? `Redo step ${draft.step}` : "Redo from the start";
  if (draft.to !== null) return "Go back to the checkpoint";
  return draft.restart ? "Reset and start anew" : "Reset to the start";
}
