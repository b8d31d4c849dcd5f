import type { AttemptRecord, CheckpointRecord, InstructionRecord, RunRecord, RunSettings, StepRecord } from "../run/run.ts";
import { transition } from "../run/transition.ts";
import type { RunChange, Store } from "../store/store.ts";
import { lastAttempt, pendingAgain, shareAfterGrant } from "./reopen.ts";
import { sinceCheckpoint } from "./timeline.ts";

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

interface StepFacts {
  readonly run: RunRecord;
  readonly steps: readonly StepRecord[];
  readonly attempts: readonly AttemptRecord[];
}

/** Where a step's entry is and whom going back to it concerns; null when the step never began, or has yet to begin again. */
export async function entryPoint(
  store: Pick<Store, "checkpoint" | "checkpoints" | "iterations">,
  facts: StepFacts,
  step: StepRecord,
): Promise<EntryPoint | null> {
  const id = lastAttempt(facts.attempts, step.step)?.entry_checkpoint ?? null;
  const entry = id === null ? null : await store.checkpoint(facts.run.run_id, id);
  if (entry === null) return null;
  const since = await sinceCheckpoint(store, facts.run.run_id, entry.id);
  /** Also one that began earlier and was worked at since: what it did since is undone as well. */
  const beganAfter = (other: StepRecord): boolean => {
    const own = lastAttempt(facts.attempts, other.step)?.entry_checkpoint ?? null;
    if (other.step === step.step || own === null) return false;
    return since.began(own) || since.workedAt(other.step);
  };
  const after = facts.steps.filter(beganAfter);
  const undone = new Set([step.step, ...after.map((other) => other.step)]);
  const dependents = needing(facts.steps, undone).filter((other) => !undone.has(other.step));
  return { step, entry, began_after: after.toSorted((a, b) => a.position - b.position), dependents };
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
  facts: StepFacts,
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
  // By name: the point and the facts were read at different moments, and one step is two objects in them.
  const isUndone = (step: StepRecord): boolean => undone.some((one) => one.step === step.step);
  // What the stop ended goes on as well: a redo carries the whole run on, not the one step.
  const stopped = facts.steps.filter(
    (step) => (step.state === "stopped" || (step.state === "pending" && step.attempt > 0)) && !isUndone(step),
  );
  const waiting = point.dependents.filter((step) => !stopped.some((one) => one.step === step.step));
  const reopened = [...undone, ...stopped, ...waiting];
  return pendingAgain(run, attempts, {
    next,
    settings: input.settings,
    at: input.at,
    reopened: reopened.map((step) => ({
      step,
      from: isUndone(step) ? "entry" : "stop",
      at_entry: step.step === point.step.step,
      share: shareAfterGrant({ ...step, state: "pending" }, input.add_iterations),
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
