import { z } from "zod";
import { ACT_KINDS } from "../run/act.ts";
import { msOf, now } from "../run/clock.ts";
import { budgetSchema, type IterationRecord, RUN_STATES, STEP_STATES } from "../run/run.ts";
import { STOP_REASONS } from "../run/stop-reason.ts";
import type { ToolContext } from "./context.ts";
import { defineView } from "./define-view.ts";
import { cutText, findRun } from "./present.ts";
import { runIdArgument } from "./schemas.ts";
import { MARK_KINDS, marksOf } from "./view-timeline-marks.ts";

/** Rows that one answer holds at most; of a longer run the newest. */
const ITERATIONS = 20_000;
const ACTS = 5_000;
const SUMMARY_CHARACTERS = 240;

/** Instants are milliseconds since the epoch: a page computes with thousands of them. */
const ms = z.number();

const iterationSchema = z.object({
  ordinal: z.number().int(),
  /** As callers see it; an unfinished iteration shares its number with the one that came after it. */
  n: z.number().int(),
  /** Place in `steps`. */
  step: z.number().int(),
  attempt: z.number().int(),
  started_ms: ms,
  ended_ms: ms.nullable(),
  outcome: z.string().nullable(),
  finished: z.boolean(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  /** Of this iteration alone; null when the engine told none. */
  cost_usd: z.number().nullable(),
  /** Exit codes of its checks; null for one that was killed. */
  verify: z.array(z.number().nullable()),
  summary: z.string().nullable(),
});
export type TimelineIteration = z.output<typeof iterationSchema>;

const output = z.object({
  run_id: z.string(),
  state: z.enum(RUN_STATES),
  iteration: z.number().int(),
  first_cap: z.number().int(),
  max_iterations: z.number().int(),
  budget: budgetSchema.nullable(),
  usage: z.object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    cost_usd: z.number().nullable(),
    active_ms: z.number(),
  }),
  now_ms: ms,
  created_ms: ms,
  stopped_ms: ms.nullable(),
  steps: z.array(
    z.object({
      step: z.string(),
      title: z.string().nullable(),
      state: z.enum(STEP_STATES),
      max_iterations: z.number().int().nullable(),
    }),
  ),
  attempts: z.array(
    z.object({
      step: z.number().int(),
      attempt: z.number().int(),
      opened_ms: ms,
      ended_ms: ms.nullable(),
      ended_by: z.enum(STOP_REASONS).nullable(),
      started_from: z.enum(["start", "stop", "entry"]),
      context: z.enum(["pending", "new", "native", "handoff"]),
    }),
  ),
  iterations: z.array(iterationSchema),
  acts: z.array(
    z.object({
      kind: z.enum(ACT_KINDS),
      what: z.string(),
      ref: z.string().nullable(),
      n: z.number().int(),
      at_ms: ms,
      status: z.enum(["landed", "unobserved"]),
    }),
  ),
  marks: z.array(z.object({ kind: z.enum(MARK_KINDS), what: z.string(), at_ms: ms })),
});
export type Timeline = z.output<typeof output>;

export const viewTimeline = defineView({
  name: "timeline",
  title: "Timeline of a run",
  description:
    "Every iteration with its time, outcome, checks and usage, and what the owner and the loop did between them. Oldest first.",
  input: z.strictObject({ run_id: runIdArgument }),
  output,
  read: async ({ run_id }, ctx) => {
    const run = await findRun(ctx, run_id);
    const [steps, attempts, iterations, acts, marks, verify] = await Promise.all([
      ctx.store.steps(run_id),
      ctx.store.attempts(run_id),
      ctx.store.iterations(run_id, ITERATIONS),
      ctx.store.acts(run_id, ACTS),
      marksOf(ctx.store, run_id),
      verifyCodes(ctx, run_id),
    ]);
    const places = new Map(steps.map((step, index) => [step.step, index]));
    const oldest = iterations.toReversed();
    const costs = costsOf(oldest);
    return {
      run_id,
      state: run.state,
      iteration: run.iteration,
      first_cap: run.first_cap,
      max_iterations: run.max_iterations,
      budget: run.settings.budget,
      usage: run.usage,
      now_ms: msOf(now()),
      created_ms: msOf(run.created_at),
      stopped_ms: run.state === "stopped" || run.state === "done" ? msOrNull(run.stopped_at) : null,
      steps: steps.map(({ step, title, state, max_iterations }) => ({ step, title, state, max_iterations })),
      attempts: attempts.map((attempt) => ({
        step: places.get(attempt.step) ?? 0,
        attempt: attempt.attempt,
        opened_ms: msOf(attempt.opened_at),
        ended_ms: msOrNull(attempt.ended_at),
        ended_by: attempt.ended_by,
        started_from: attempt.started_from,
        context: attempt.context,
      })),
      iterations: oldest.map((row, index) => ({
        ordinal: row.ordinal,
        n: row.number,
        step: places.get(row.step) ?? 0,
        attempt: row.attempt,
        started_ms: msOf(row.started_at),
        ended_ms: msOrNull(row.ended_at),
        outcome: row.outcome,
        finished: row.finished,
        input_tokens: row.input_tokens,
        output_tokens: row.output_tokens,
        cost_usd: costs[index] ?? null,
        verify: row.finished ? (verify.get(row.number) ?? []) : [],
        summary: row.summary === null ? null : cutText(row.summary, SUMMARY_CHARACTERS),
      })),
      acts: acts.map((act) => ({
        kind: act.kind,
        what: cutText(act.what, SUMMARY_CHARACTERS),
        ref: act.ref,
        n: act.iteration,
        at_ms: msOf(act.at),
        status: act.status,
      })),
      marks,
    };
  },
});

const msOrNull = (at: string | null): number | null => (at === null ? null : msOf(at));

/** An engine tells what its session has cost so far: an iteration's own part is what was added, and all of it in a new session. */
function costsOf(iterations: readonly IterationRecord[]): (number | null)[] {
  const seen = new Map<string, number>();
  return iterations.map(({ step, attempt, cost_usd }) => {
    if (cost_usd === null) return null;
    const session = `${attempt} ${step}`;
    const before = seen.get(session) ?? 0;
    seen.set(session, cost_usd);
    return cost_usd >= before ? cost_usd - before : cost_usd;
  });
}

const finishedSchema = z.looseObject({ iteration: z.number(), verify: z.array(z.number().nullable()) });

async function verifyCodes(ctx: ToolContext, runId: string): Promise<ReadonlyMap<number, (number | null)[]>> {
  const events = await ctx.store.events(runId, { types: ["iteration_finished"], limit: ITERATIONS });
  const codes = new Map<number, (number | null)[]>();
  for (const { data } of events) {
    const told = finishedSchema.safeParse(data);
    if (told.success) codes.set(told.data.iteration, told.data.verify);
  }
  return codes;
}
