import { msOf } from "../run/clock.ts";
import type { AttemptRecord, CheckpointRecord, InstructionRecord, RunRecord, RunSettings, StepRecord } from "../run/run.ts";
import { transition } from "../run/transition.ts";
import type { RunChange, Store } from "../store/store.ts";
import { pendingAgain, shareUsedUp } from "./reopen.ts";

/** Taking a step up again from its entry, and what that means for the steps after it. */

export interface EntryPoint {
  readonly step: StepRecord;
  /** The tree as it was when the step's latest attempt began from it. */
  readonly entry: CheckpointRecord;
  /** Steps that began after it, in order: they share the tree, so their work is undone with it. */
  readonly began_after: readonly StepRecord[];
  /** Steps that need one of these, directly or not. */
  readonly dependents: readonly StepRecord[];
}

/** Where a step's entry is and whom going back to it concerns; null when the step never began. */
export async function entryPoint(
  store: Pick<Store, "checkpoint">,
  facts: { readonly run: RunRecord; readonly steps: readonly StepRecord[]; readonly attempts: readonly AttemptRecord[] },
  step: StepRecord,
): Promise<EntryPoint | null> {
  const entry = await entryOf(store, facts, step.step);
  if (entry === null) return null;
  const after: StepRecord[] = [];
  for (const other of facts.steps) {
    if (other.step === step.step || other.attempt === 0) continue;
    const began = (await entryOf(store, facts, other.step))?.at ?? null;
    if (began !== null && msOf(began) >= msOf(entry.at)) after.push(other);
  }
  const undone = new Set([step.step, ...after.map((other) => other.step)]);
  const dependents = needing(facts.steps, undone).filter((other) => !undone.has(other.step));
  return { step, entry, began_after: after.toSorted((a, b) => a.position - b.position), dependents };
}

async function entryOf(
  store: Pick<Store, "checkpoint">,
  facts: { readonly run: RunRecord; readonly attempts: readonly AttemptRecord[] },
  step: string,
): Promise<CheckpointRecord | null> {
  const id = facts.attempts.findLast((attempt) => attempt.step === step && attempt.entry_checkpoint !== null)?.entry_checkpoint;
  return id == null ? null : store.checkpoint(facts.run.run_id, id);
}

function needing(steps: readonly StepRecord[], of: ReadonlySet<string>): readonly StepRecord[] {
  const found = new Set(of);
  for (let grew = true; grew; ) {
    grew = false;
    for (const step of steps) {
      if (found.has(step.step) || !step.needs.some((need) => found.has(need))) continue;
      found.add(step.step);
      grew = true;
    }
  }
  return steps.filter((step) => found.has(step.step) && !of.has(step.step));
}

/** The one change that takes a step up again and carries the whole run on past it. Null when the run's state does not allow it. */
export function redoChange(
  facts: { readonly run: RunRecord; readonly steps: readonly StepRecord[]; readonly attempts: readonly AttemptRecord[] },
  point: EntryPoint,
  input: {
    readonly at: string;
    readonly add_iterations: number;
    readonly instructions: readonly InstructionRecord[];
    readonly settings: RunSettings;
    readonly data: Readonly<Record<string, unknown>>;
  },
): Omit<RunChange, "run_id" | "at"> | null {
  const { run, attempts } = facts;
  const next = transition(run.state, run.stop_reason, { type: "redo" });
  if (next === null) return null;
  const undone = [point.step, ...point.began_after];
  // What the stop ended goes on as well: a redo carries the whole run on, not the one step.
  const stopped = facts.steps.filter(
    (step) => (step.state === "stopped" || (step.state === "pending" && step.attempt > 0)) && !undone.includes(step),
  );
  const waiting = point.dependents.filter((step) => !stopped.includes(step));
  const reopened = [...undone, ...stopped, ...waiting];
  return pendingAgain(run, attempts, {
    next,
    settings: input.settings,
    at: input.at,
    reopened: reopened.map((step) => ({
      step,
      from: undone.includes(step) ? "entry" : "stop",
      share: step.max_iterations !== null && shareUsedUp(step) ? step.max_iterations + input.add_iterations : step.max_iterations,
    })),
    add_iterations: input.add_iterations,
    instructions: input.instructions,
    verify: null,
    event: {
      type: "step_redone",
      at: input.at,
      data: { step: point.step.step, reopened: reopened.map((step) => step.step), entry: point.entry.id, ...input.data },
    },
  });
}
