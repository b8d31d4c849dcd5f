import { z } from "zod";
import { MAX_ITERATIONS_PER_CALL } from "../run/grant.ts";
import { budgetSchema, PERMISSION_LEVELS, RUN_STATES, STEP_STATES, WORKSPACE_KINDS } from "../run/run.ts";
import { STOP_REASONS } from "../run/stop-reason.ts";

/** Schemas that several tools share. Texts of arguments are what a model reads: short, with the unit and the default. */

export const stopReasonSchema = z.enum(STOP_REASONS);
export const stateSchema = z.enum(RUN_STATES);

export const runIdArgument = z.string().min(1).describe("The run, e.g. run_4k2f…; from coding_loop_start or run_list.");
export const requestIdArgument = z
  .string()
  .min(1)
  .max(200)
  .optional()
  .describe("Your own id for this call: repeated with the same id it has its effect once and gets the same answer.");
export const expectedRevisionArgument = z
  .number()
  .int()
  .min(0)
  .optional()
  .describe("The revision you looked at; the call is refused when the run moved since.");
/** Words for an agent or a person; blanks alone say nothing. */
export const wordsArgument = z.string().min(1).max(100_000).regex(/\S/u, "words; blanks alone say nothing");
export const budgetArgument = budgetSchema.refine(
  (budget) => Object.values(budget).some((total) => total !== undefined),
  "at least one of cost_usd, minutes, tokens",
);
export const iterationsArgument = z.number().int().min(1).max(MAX_ITERATIONS_PER_CALL);

/** One side of a comparison of two states of a run's files. */
export const diffEndArgument = (what: string) =>
  z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(`${what} A checkpoint id, base (where the run began), stop, or now (the working tree as it is).`);

export const diffEndSchema = z.object({
  what: z.enum(["base", "stop", "now", "checkpoint"]),
  checkpoint: z.string().nullable(),
  object: z.string(),
});

export const diffFileSchema = z.object({
  path: z.string(),
  from_path: z.string().nullable(),
  status: z.enum(["added", "modified", "deleted", "renamed", "type_changed"]),
  added: z.number().int().nullable(),
  removed: z.number().int().nullable(),
  binary: z.boolean(),
  mode: z.string().nullable(),
});

const instant = z.string().nullable();

export const stopViewSchema = z.object({
  headline: z.string(),
  class: z.enum(["cut_off", "verdict", "owner"]),
  step: z.string().nullable(),
  resets_at: instant,
  needs: z.array(z.string()),
  person_must: z.string().nullable(),
  question: z.object({ kind: z.enum(["question", "permission"]), text: z.string(), command: z.string().nullable() }).nullable(),
  same_stop_in_a_row: z.number().int(),
});

export const planSchema = z.array(z.object({ content: z.string(), status: z.enum(["pending", "in_progress", "completed"]) }));

export const verifySchema = z.object({
  step: z.string(),
  command: z.string(),
  exit_code: z.number().int().nullable(),
  iteration: z.number().int(),
  at: z.string(),
  tail: z.string(),
});

const autoResumeSchema = z.object({ reasons: z.array(stopReasonSchema), times: z.number().int(), used: z.number().int() });

export const runViewSchema = z.object({
  run_id: z.string(),
  state: stateSchema,
  stop_reason: stopReasonSchema.nullable(),
  resumable: z.boolean(),
  objective: z.string(),
  repository: z.object({
    path: z.string(),
    remote: z.string().nullable(),
    branch: z.string().nullable(),
    base_commit: z.string().nullable(),
  }),
  workspace: z.object({ kind: z.enum(WORKSPACE_KINDS), path: z.string() }),
  stop: stopViewSchema.nullable(),
  agent: z.object({ name: z.string(), model: z.string().nullable(), mode: z.string().nullable() }),
  permissions: z.enum(PERMISSION_LEVELS),
  iteration: z.number().int(),
  max_iterations: z.number().int(),
  steps: z.array(
    z.object({
      step: z.string(),
      title: z.string().nullable(),
      state: z.enum(STEP_STATES),
      attempt: z.number().int(),
      iteration: z.number().int(),
      max_iterations: z.number().int().nullable(),
    }),
  ),
  usage: z.object({ input_tokens: z.number(), output_tokens: z.number(), cost_usd: z.number().nullable(), minutes: z.number() }),
  budget: z.object({ cost_usd: z.number().optional(), minutes: z.number().optional(), tokens: z.number().optional() }).nullable(),
  auto_resume: autoResumeSchema.nullable(),
  now: z.string(),
  idle_s: z.number().nullable(),
  queued_because: z.string().nullable(),
  revision: z.number().int(),
  created_at: z.string(),
  started_at: instant,
  alive_at: instant,
  progress_at: instant,
  waiting_until: instant,
  stopped_at: instant,
  archived_at: instant,
  reclaimed_at: instant,
  uris: z.object({ transcript: z.string(), diff: z.string(), plan: z.string(), note: z.string(), report: z.string() }),
});
export type RunView = z.infer<typeof runViewSchema>;

const nextActionSchema = z.object({
  tool: z.string(),
  args: z.record(z.string(), z.unknown()),
  needs: z.array(z.string()),
  why: z.string(),
});
const replayedSchema = z.object({ first_at: z.string() }).nullable();

/** The common part of every answer about one run. */
export const commonShape = {
  summary: z.string(),
  run: runViewSchema,
  replayed: replayedSchema,
  next_actions: z.array(nextActionSchema),
};

/** The common part where a dry run answers without a run. */
export const commonOrDryShape = {
  summary: z.string(),
  run: runViewSchema.optional(),
  replayed: replayedSchema.optional(),
  next_actions: z.array(nextActionSchema).optional(),
};

export const choiceSchema = z.object({
  action: z.enum(["resume", "grant", "reset", "redo", "start_new"]),
  label: z.string(),
  tool: z.string(),
  args: z.record(z.string(), z.unknown()),
  needs: z.array(z.string()),
  allowed: z.boolean(),
  recommended: z.boolean(),
  destructive: z.boolean(),
  why: z.string(),
});

export const consequencesSchema = z.object({
  happens: z.array(z.string()),
  undoes: z.array(z.string()),
  cannot_undo: z.array(z.string()),
  conflicts: z.array(z.object({ path: z.string(), changed_by: z.string() })),
});
