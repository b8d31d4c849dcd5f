import { z } from "zod";
import { type AttemptRecord, type CheckpointRecord, type RunRecord, STEP_STATES, type StepRecord } from "../run/run.ts";
import type { RunChange, Store } from "../store/store.ts";
import { lastAttempt, waitsToBegin } from "./reopen.ts";
import { sinceCheckpoint } from "./timeline.ts";

/** What going back to a checkpoint means for the steps of a run that can go on from there. */

const beforeSchema = z.array(
  z.object({ step: z.string(), state: z.enum(STEP_STATES), attempt: z.number(), entry: z.string().nullable() }),
);
/** The steps as they were before a rewind; kept in its event, so that going to its safety checkpoint brings them back too. */
type Before = z.infer<typeof beforeSchema>;

export interface Rewind {
  readonly before: Before;
  readonly steps: NonNullable<RunChange["steps"]>;
  readonly attempts: NonNullable<RunChange["attempts"]>;
}

interface StepFacts {
  readonly run: RunRecord;
  readonly steps: readonly StepRecord[];
  readonly attempts: readonly AttemptRecord[];
}

/** Those that ever began. */
export function stepsNow({ steps, attempts }: Omit<StepFacts, "run">): Before {
  return steps
    .filter((step) => step.attempt > 0)
    .map(({ step, state, attempt }) => ({ step, state, attempt, entry: lastAttempt(attempts, step)?.entry_checkpoint ?? null }));
}

/**
 * Steps that began after the checkpoint have yet to begin; one whose work reaches past it goes on from there. Of a run that
 * cannot go on nothing changes: its steps are what they came to.
 */
export async function rewind(
  store: Pick<Store, "checkpoints" | "iterations" | "events">,
  facts: StepFacts,
  target: CheckpointRecord,
): Promise<Rewind> {
  const { run, steps } = facts;
  const before = stepsNow(facts);
  if (run.state !== "stopped" || steps.length < 2) return { before, steps: [], attempts: [] };
  const then = await stepsAt(store, run, target);
  if (then !== null) return broughtBack(before, then);
  const since = await sinceCheckpoint(store, run.run_id, target.id);
  const waiting = before.filter((one) => since.began(one.entry));
  const cut = before.filter((one) => !waiting.includes(one) && since.workedAt(one.step));
  const open = new Set(steps.filter((step) => !waitsToBegin(step)).map((step) => step.step));
  return {
    before,
    steps: [
      ...waiting.map(({ step }) => ({ step, state: "pending" }) as const),
      ...cut.filter(({ step }) => open.has(step)).map(({ step }) => ({ step, state: "stopped" }) as const),
    ],
    attempts: waiting
      .filter((one) => one.entry !== target.id)
      .map(({ step, attempt }) => ({ step, attempt, entry_checkpoint: null })),
  };
}

const eventSchema = z.looseObject({ safety_checkpoint: z.string(), steps_before: beforeSchema });

/** The steps as they were when this safety checkpoint was taken; null for any other checkpoint. */
async function stepsAt(store: Pick<Store, "events">, run: RunRecord, target: CheckpointRecord): Promise<Before | null> {
  if (target.kind !== "reset") return null;
  const events = await store.events(run.run_id, { types: ["run_reset", "step_redone"], limit: 1_000 });
  for (const event of events) {
    const told = eventSchema.safeParse(event.data);
    if (told.success && told.data.safety_checkpoint === target.id) return told.data.steps_before;
  }
  return null;
}

/** Whatever was tried since, the files are as they were then, and so are the steps; their attempts are never counted back. */
function broughtBack(before: Before, then: Before): Rewind {
  const was = (step: string): Before[number] | null => then.find((one) => one.step === step) ?? null;
  return {
    before,
    steps: before.map(({ step }) => ({ step, state: was(step)?.state ?? "pending" })),
    attempts: before.map(({ step, attempt }) => ({ step, attempt, entry_checkpoint: was(step)?.entry ?? null })),
  };
}
