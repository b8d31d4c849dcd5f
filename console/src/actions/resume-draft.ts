import type { RunView } from "../../../src/tools/schemas.ts";
import { type BudgetDraft, budgetIn, NO_BUDGET } from "./budget-draft.ts";
import { iterationsIn } from "./number.ts";
import type { Wanted } from "./want.ts";

/** What a person typed into the resume dialog, as typed. */
export interface Draft {
  readonly instructions: string;
  readonly updates: string;
  readonly permission: "allow_once" | "allow_for_run" | "deny" | null;
  readonly add_iterations: string;
  readonly from: "stop" | "entry" | null;
  readonly on_drift: "keep" | "restore" | "refuse" | null;
  readonly at: "now" | "reset" | null;
  readonly model: string;
  readonly budget: BudgetDraft;
}

export function emptyDraft({ from, at }: Wanted, run: RunView): Draft {
  return {
    instructions: "",
    updates: "",
    permission: null,
    add_iterations: run.stop?.needs.includes("add_iterations") === true ? "10" : "",
    from: from ?? null,
    on_drift: null,
    at: at ?? null,
    model: "",
    budget: NO_BUDGET,
  };
}

/** Names of what this stop asks for and is not there yet; a start from the entry asks for no instructions after `failed`. */
export function missingOf(
  draft: Draft,
  run: RunView,
  { needsDrift }: { readonly beforeReset: boolean; readonly needsDrift: boolean },
): readonly string[] {
  const missing = (run.stop?.needs ?? []).filter((need) => !isGiven(need, draft));
  const failedFromStop = run.stop_reason === "failed" && draft.from === "stop" && draft.instructions.trim() === "";
  const wrongNumber = draft.add_iterations.trim() !== "" && iterationsIn(draft.add_iterations) === null;
  return [
    ...missing,
    ...(failedFromStop ? ["instructions"] : []),
    ...(wrongNumber ? ["add_iterations"] : []),
    ...(needsDrift && draft.on_drift === null ? ["on_drift"] : []),
  ];
}

function isGiven(need: string, draft: Draft): boolean {
  if (need === "instructions") return draft.instructions.trim() !== "";
  if (need === "permission") return draft.permission !== null;
  if (need === "add_iterations") return iterationsIn(draft.add_iterations) !== null;
  if (need === "budget") return budgetIn(draft.budget) !== null;
  return true;
}

/** The call's arguments: what was left empty is left out, so that the run keeps its own. */
export function argumentsOf(draft: Draft, beforeReset: boolean): Readonly<Record<string, unknown>> {
  const add = iterationsIn(draft.add_iterations);
  const budget = budgetIn(draft.budget);
  return {
    ...(draft.instructions.trim() === "" ? {} : { instructions: draft.instructions }),
    ...(draft.updates.trim() === "" ? {} : { updates: draft.updates }),
    ...(draft.permission === null ? {} : { permission: draft.permission }),
    ...(add === null ? {} : { add_iterations: add }),
    ...(draft.from === null ? {} : { from: draft.from }),
    ...(draft.on_drift === null ? {} : { on_drift: draft.on_drift }),
    ...(beforeReset ? { at: draft.at ?? "reset" } : {}),
    ...(draft.model.trim() === "" ? {} : { model: draft.model.trim() }),
    ...(budget === null ? {} : { budget }),
  };
}
