import { z } from "zod";
import type { Act } from "../run/act.ts";
import type { Grant } from "../run/grant.ts";
import type {
  AttemptRecord,
  CheckpointRecord,
  InstructionRecord,
  IterationRecord,
  RunRecord,
  StepRecord,
  VerifyRecord,
} from "../run/run.ts";

/**
 * The state of a run as its events make it: each event carries what it changed, and folding them from the first one on gives
 * the run's rows. Not part of it is what only says who is at work (fence, signs of life, leases, holds of trees), where a run
 * stands in lists, and what has a log of its own (journal) or is kept by content (artifacts, copies).
 */

/** A record as some version wrote it: members that this version does not know are carried along. */
export type Loose = Readonly<Record<string, unknown>>;
const loose = z.record(z.string(), z.unknown());
const keyed = <K extends z.ZodRawShape>(key: K) => z.array(z.looseObject(key)).optional();

/** What one event changed. What is left out stayed as it was; of a record that is there already, members that are left out do too. */
export const changeSchema = z.object({
  /** All that is known of the run: nothing that came before counts. */
  whole: z.boolean().optional(),
  run: loose.optional(),
  steps: keyed({ step: z.string() }),
  attempts: keyed({ step: z.string(), attempt: z.number() }),
  iterations: keyed({ ordinal: z.number() }),
  /** Added to those before. */
  acts: z.array(loose).optional(),
  /** Added to those before. */
  grants: z.array(loose).optional(),
  checkpoints: keyed({ id: z.string() }),
  verify: keyed({ step: z.string(), command: z.string() }),
  instructions: keyed({ id: z.string() }),
  /** Instructions that an engine took; one that was delivered before stays as it was. */
  delivered: z.object({ ids: z.array(z.string()), iteration: z.number(), at: z.string() }).optional(),
});
export type EventChange = z.infer<typeof changeSchema>;

/** Everything of a run that its events tell, each list in the order in which the store reads it. */
export interface RunRows {
  readonly run: Omit<RunRecord, "fence" | "alive_at" | "progress_at">;
  readonly steps: readonly StepRecord[];
  readonly attempts: readonly AttemptRecord[];
  /** Newest first. */
  readonly iterations: readonly IterationRecord[];
  readonly acts: readonly Act[];
  readonly grants: readonly Grant[];
  /** Newest first. */
  readonly checkpoints: readonly CheckpointRecord[];
  readonly verify: readonly VerifyRecord[];
  readonly instructions: readonly InstructionRecord[];
}

/** A run's rows while its events are folded: records by their key, in the order in which they came. */
export interface Projection {
  run: Loose | null;
  readonly steps: Map<string, Loose>;
  readonly attempts: Map<string, Loose>;
  readonly iterations: Map<number, Loose>;
  readonly acts: Loose[];
  readonly grants: Loose[];
  readonly checkpoints: Map<string, Loose>;
  readonly verify: Map<string, Loose>;
  readonly instructions: Map<string, Loose>;
}

export function emptyProjection(): Projection {
  return {
    run: null,
    steps: new Map(),
    attempts: new Map(),
    iterations: new Map(),
    acts: [],
    grants: [],
    checkpoints: new Map(),
    verify: new Map(),
    instructions: new Map(),
  };
}

/**
 * The rows after one event more. Given the same events it gives the same rows: it looks at nothing else, and the event's type
 * plays no part. `rows` is given up by the caller: of a long run it would be too much to copy at each event.
 */
export function project(rows: Projection, change: EventChange): Projection {
  const next = change.whole === true ? emptyProjection() : rows;
  if (change.run !== undefined) next.run = { ...next.run, ...change.run };
  merge(next.steps, change.steps, (step) => step.step);
  merge(next.attempts, change.attempts, (attempt) => JSON.stringify([attempt.step, attempt.attempt]));
  merge(next.iterations, change.iterations, (iteration) => iteration.ordinal);
  next.acts.push(...(change.acts ?? []));
  next.grants.push(...(change.grants ?? []));
  merge(next.checkpoints, change.checkpoints, (checkpoint) => checkpoint.id);
  merge(next.verify, change.verify, (result) => JSON.stringify([result.step, result.command]));
  merge(next.instructions, change.instructions, (instruction) => instruction.id);
  if (change.delivered !== undefined) deliver(next.instructions, change.delivered);
  return next;
}

function merge<K, R extends Loose>(into: Map<K, Loose>, records: readonly R[] | undefined, keyOf: (record: R) => K): void {
  for (const record of records ?? []) into.set(keyOf(record), { ...into.get(keyOf(record)), ...record });
}

function deliver(instructions: Map<string, Loose>, { ids, iteration, at }: NonNullable<EventChange["delivered"]>): void {
  for (const id of ids) {
    const instruction = instructions.get(id);
    if (instruction === undefined || instruction["delivered_at"] !== null) continue;
    instructions.set(id, { ...instruction, delivered_at: at, delivered_iteration: iteration });
  }
}
