import { z } from "zod";
import {
  budgetSchema,
  PERMISSION_LEVELS,
  RESET_CONFIDENCES,
  RUN_STATES,
  type RunRecord,
  STOP_SOURCES,
  type StopRecord,
  WORKSPACE_KINDS,
} from "../run/run.ts";
import { STOP_REASONS } from "../run/stop-reason.ts";
import { jsonColumn, jsonOrNull, plain } from "./json.ts";
import { listClassOf } from "./list-class.ts";
import type { RunHeadsTable, RunsTable } from "./schema.ts";
import type { RunPatch } from "./store.ts";

export const instant = z.string();
export const textOrNull = z.string().nullable();
const reason = z.enum(STOP_REASONS);

const settingsSchema = z.object({
  permissions: z.enum(PERMISSION_LEVELS),
  allow: z.array(z.string()),
  allowed_commands: z.array(z.string()),
  setup: z.array(z.string()),
  copy_ignored: z.array(z.string()),
  on_done: z.enum(["leave", "commit"]),
  budget: budgetSchema.nullable(),
  auto_resume: z.object({ reasons: z.array(reason), times: z.number(), used: z.number() }).nullable(),
  brief: z.enum(["auto", "none"]),
  silence_s: z.number(),
  tool_silence_s: z.number(),
  command_timeout_s: z.number(),
  base_run: z.string().nullable(),
  config_path: z.string().nullable(),
  host: z.string().nullable().default(null),
});

const uncommittedSchema = z.object({
  total_files: z.number(),
  added: z.number(),
  removed: z.number(),
  truncated: z.boolean(),
  checkpoint: textOrNull,
  files: z.array(
    z.object({
      path: z.string(),
      status: z.string(),
      added: z.number().nullable(),
      removed: z.number().nullable(),
      binary: z.boolean(),
      owner: z.enum(["this_run", "other_run", "unattributed"]),
    }),
  ),
});

const stopSchema = z.object({
  reason,
  source: z.enum(STOP_SOURCES),
  evidence: z.string(),
  step: textOrNull,
  iteration: z.number(),
  at: instant,
  resets_at: textOrNull,
  resets_at_source: textOrNull,
  resets_at_zone: textOrNull.default(null),
  resets_at_confidence: z.enum(RESET_CONFIDENCES).nullable().default(null),
  question: z.object({ kind: z.enum(["question", "permission"]), text: z.string(), command: textOrNull }).nullable(),
  same_stop_in_a_row: z.number(),
  ceiling: z.enum(["run", "step"]).nullable(),
  uncommitted: uncommittedSchema.nullable(),
  open_tool_calls: z.array(z.string()),
  background: z.array(z.string()).default([]),
  alive_until: textOrNull.default(null),
  gaps: z.array(z.string()),
  failed_steps: z.array(z.string()).default([]),
  unreachable_steps: z.array(z.string()).default([]),
}) satisfies z.ZodType<StopRecord>;

const reportSchema = z.object({
  completed: z.array(z.string()),
  midway: textOrNull,
  intended: z.array(z.string()),
  verdict: z.enum(["done", "blocked", "needs_human"]).nullable(),
  question: textOrNull,
  summary: textOrNull,
});

const requestSchema = z.object({ mode: z.enum(["now", "after_iteration"]), why: textOrNull, at: instant });
const usageSchema = z.object({
  input_tokens: z.number(),
  output_tokens: z.number(),
  cost_usd: z.number().nullable(),
  active_ms: z.number(),
});
const planSchema = z.array(z.object({ content: z.string(), status: z.enum(["pending", "in_progress", "completed"]) }));

const runShape = {
  run_id: z.string(),
  owner: z.string(),
  objective: z.string(),
  repo_path: z.string(),
  repo_common_dir: z.string(),
  repo_remote: textOrNull,
  root_commit: textOrNull,
  base_commit: textOrNull,
  branch: textOrNull,
  workspace_kind: z.enum(WORKSPACE_KINDS),
  workspace_path: z.string(),
  agent: z.string(),
  model: textOrNull,
  mode: textOrNull,
  settings: settingsSchema,
  state: z.enum(RUN_STATES),
  stop_reason: reason.nullable(),
  stop: stopSchema.nullable(),
  stop_request: requestSchema.nullable(),
  iteration: z.number(),
  first_cap: z.number(),
  max_iterations: z.number(),
  usage: usageSchema,
  plan: planSchema,
  report: reportSchema.nullable(),
  last_words: textOrNull,
  resume_note: textOrNull,
  predecessor_run_id: textOrNull,
  was_reset: textOrNull,
  revision: z.number(),
  fence: z.number(),
  created_at: instant,
  started_at: instant.nullable(),
  alive_at: instant.nullable(),
  progress_at: instant.nullable(),
  waiting_until: instant.nullable(),
  stopped_at: instant.nullable(),
  archived_at: instant.nullable(),
  reclaimed_at: instant.nullable(),
  changed_at: instant,
};

export const runSchema = z.object({
  ...runShape,
  settings: jsonColumn(settingsSchema),
  stop: jsonColumn(stopSchema).nullable(),
  stop_request: jsonColumn(requestSchema).nullable(),
  usage: jsonColumn(usageSchema),
  plan: jsonColumn(planSchema),
  report: jsonColumn(reportSchema).nullable(),
}) satisfies z.ZodType<RunRecord>;

/** A run as its events tell it: without what only says whether somebody is at work on it. */
export const runRecord = z.object(runShape).omit({ fence: true, alive_at: true, progress_at: true });

export function runRow(run: RunRecord, position: number): RunsTable {
  const { fence, alive_at, progress_at, ...row } = run;
  return {
    ...row,
    objective: plain(run.objective),
    settings: JSON.stringify(run.settings),
    stop: jsonOrNull(run.stop),
    stop_request: jsonOrNull(run.stop_request),
    usage: JSON.stringify(run.usage),
    plan: JSON.stringify(run.plan),
    report: jsonOrNull(run.report),
    last_words: plain(run.last_words),
    resume_note: plain(run.resume_note),
    position,
    list_class: listClassOf(run),
  };
}

export function headRow(run: RunRecord): RunHeadsTable {
  return {
    run_id: run.run_id,
    fence: run.fence,
    event_seq: 0,
    journal_n: 0,
    alive_at: run.alive_at,
    progress_at: run.progress_at,
  };
}

/** The columns of `runs` that a patch sets. */
export function runPatchRow(patch: RunPatch): Partial<RunsTable> {
  const { alive_at, progress_at, settings, stop, stop_request, usage, plan, report, last_words, resume_note, ...row } = patch;
  return {
    ...row,
    ...(settings === undefined ? {} : { settings: JSON.stringify(settings) }),
    ...(stop === undefined ? {} : { stop: jsonOrNull(stop) }),
    ...(stop_request === undefined ? {} : { stop_request: jsonOrNull(stop_request) }),
    ...(usage === undefined ? {} : { usage: JSON.stringify(usage) }),
    ...(plan === undefined ? {} : { plan: JSON.stringify(plan) }),
    ...(report === undefined ? {} : { report: jsonOrNull(report) }),
    ...(last_words === undefined ? {} : { last_words: plain(last_words) }),
    ...(resume_note === undefined ? {} : { resume_note: plain(resume_note) }),
  };
}
