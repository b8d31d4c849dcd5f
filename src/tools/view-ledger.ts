import { basename } from "node:path";
import { z } from "zod";
import { type GateFacts, isResumable } from "../resume/gate.ts";
import { oneLine } from "../resume/shown.ts";
import { ACT_KINDS } from "../run/act.ts";
import { now } from "../run/clock.ts";
import { groupOfRun, RUN_GROUPS } from "../run/group.ts";
import { isLive, type RunRecord } from "../run/run.ts";
import type { RunFilter, RunSides } from "../store/store.ts";
import type { ToolContext } from "./context.ts";
import { defineView } from "./define-view.ts";
import { offerSchema, offersOf } from "./offer.ts";
import { stopView } from "./present.ts";
import { stateSchema, stopReasonSchema, stopViewSchema } from "./schemas.ts";

const instant = z.string().nullable();

const rowSchema = z.object({
  run_id: z.string(),
  objective: z.string(),
  group: z.enum(RUN_GROUPS),
  state: stateSchema,
  stop_reason: stopReasonSchema.nullable(),
  resumable: z.boolean(),
  stop: stopViewSchema.nullable(),
  repo: z.object({ name: z.string(), key: z.string() }),
  branch: z.string().nullable(),
  agent: z.string(),
  model: z.string().nullable(),
  iteration: z.number().int(),
  max_iterations: z.number().int(),
  /** The step that goes on or stopped; null for a run without steps. */
  step: z.object({ step: z.string(), title: z.string().nullable(), number: z.number().int(), of: z.number().int() }).nullable(),
  at_stake: z.object({
    landed: z.array(z.object({ kind: z.enum(ACT_KINDS), count: z.number().int() })),
    unobserved: z.number().int(),
    /** Null when the tree could not be looked at, or the run is live. */
    uncommitted_files: z.number().int().nullable(),
    midway: z.string().nullable(),
  }),
  /** What a running one does now. */
  doing: z.string().nullable(),
  cost_usd: z.number().nullable(),
  created_at: z.string(),
  started_at: instant,
  progress_at: instant,
  stopped_at: instant,
  waiting_until: instant,
  changed_at: z.string(),
  archived_at: instant,
  reclaimed_at: instant,
  revision: z.number().int(),
  actions: z.array(offerSchema),
});
export type LedgerRow = z.infer<typeof rowSchema>;

const output = z.object({
  rows: z.array(rowSchema),
  now: z.string(),
  total: z.number().int(),
  by_group: z.record(z.enum(RUN_GROUPS), z.number().int()),
  next_cursor: z.string().nullable(),
  /** What the filters can be set to, with how many runs each. */
  facets: z.object({
    repositories: z.array(z.object({ key: z.string(), name: z.string(), runs: z.number().int() })),
    stop_reasons: z.partialRecord(stopReasonSchema, z.number().int()),
  }),
});
export type Ledger = z.infer<typeof output>;

const input = z.strictObject({
  group: z.enum(RUN_GROUPS).optional().describe("Only runs that stand so for their owner."),
  repo: z.string().min(1).optional().describe("Only runs of this repository: a key of facets.repositories."),
  state: stateSchema.optional(),
  reason: stopReasonSchema.optional().describe("Only runs that stopped for this reason."),
  resumable: z.boolean().optional(),
  archived: z.boolean().optional().describe("Archived runs instead; default false."),
  search: z.string().min(1).max(200).optional().describe("Text in the objective, or the beginning of a run_id."),
  limit: z.number().int().min(1).max(200).optional().describe("Rows at most; default 50."),
  cursor: z.string().min(1).optional(),
});

export const ledgerView = defineView({
  name: "ledger",
  title: "The ledger of runs",
  description:
    "Rows of runs, newest change first: how each stands, why it stopped, what is at stake, what it does now, and what may be done with it.",
  input,
  output,
  read: async (args, ctx) => {
    const archived = args.archived ?? false;
    const [page, facets] = await Promise.all([
      ctx.store.runs(filterOf(args, ctx)),
      ctx.store.facets({ owner: ctx.owner, archived }),
    ]);
    const sides = await ctx.store.runSides(page.runs.map((run) => run.run_id));
    const rows = await Promise.all(page.runs.map((run) => row(ctx, run, sides.get(run.run_id) ?? NO_SIDES)));
    return {
      rows,
      now: now(),
      total: page.total,
      by_group: page.by_group,
      next_cursor: page.next_cursor,
      facets: {
        repositories: facets.repositories.slice(0, FACETS).map(({ common_dir, remote, runs }) => ({
          key: remote ?? common_dir,
          name: repositoryName(remote ?? common_dir),
          runs,
        })),
        stop_reasons: facets.stop_reasons,
      },
    };
  },
});

/** Repositories that a filter lists; the others are found by search. */
const FACETS = 200;
const NO_SIDES: RunSides = { steps: [], attempts: [], undelivered: [], acts: [] };

function filterOf(args: z.output<typeof input>, ctx: ToolContext): RunFilter {
  const { group, repo, state, reason, resumable, search, cursor } = args;
  return {
    owner: ctx.owner,
    archived: args.archived ?? false,
    limit: args.limit ?? 50,
    ...(group === undefined ? {} : { group }),
    ...(repo === undefined ? {} : { common_dir: repo, remote: repo }),
    ...(state === undefined ? {} : { states: [state] }),
    ...(reason === undefined ? {} : { stop_reasons: [reason] }),
    ...(resumable === undefined ? {} : { resumable }),
    ...(search === undefined ? {} : { search }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

async function row(ctx: ToolContext, run: RunRecord, sides: RunSides): Promise<LedgerRow> {
  const facts: GateFacts = { run, ...sides };
  const live = isLive(run.state);
  const key = run.repo_remote ?? run.repo_common_dir;
  return {
    run_id: run.run_id,
    objective: oneLine(run.objective, 300),
    group: groupOfRun(run),
    state: run.state,
    stop_reason: live ? null : run.stop_reason,
    resumable: isResumable(run),
    stop: stopView(facts),
    repo: { key, name: repositoryName(key) },
    branch: run.branch?.replace("refs/heads/", "") ?? null,
    agent: run.agent,
    model: run.model,
    iteration: run.iteration,
    max_iterations: run.max_iterations,
    step: stepOf(facts),
    at_stake: {
      landed: ACT_KINDS.flatMap((kind) => {
        const count = sides.acts.find((act) => act.kind === kind && act.status === "landed")?.count ?? 0;
        return count === 0 ? [] : [{ kind, count }];
      }),
      unobserved: sides.acts.reduce((sum, act) => sum + (act.status === "unobserved" ? act.count : 0), 0),
      uncommitted_files: live ? null : (run.stop?.uncommitted?.total_files ?? null),
      midway: midwayOf(run),
    },
    doing: run.state === "running" ? await doing(ctx, run) : null,
    cost_usd: run.usage.cost_usd,
    created_at: run.created_at,
    started_at: run.started_at,
    progress_at: run.progress_at,
    stopped_at: live ? null : run.stopped_at,
    waiting_until: run.waiting_until,
    changed_at: run.changed_at,
    archived_at: run.archived_at,
    reclaimed_at: run.reclaimed_at,
    revision: run.revision,
    actions: offersOf(facts, ctx.caller.audience),
  };
}

function stepOf({ run, steps }: GateFacts): LedgerRow["step"] {
  if (steps.length < 2) return null;
  const running = steps.findIndex((step) => step.state === "running");
  const stopped = steps.findIndex((step) => step.step === run.stop?.step);
  const at = running === -1 ? (stopped === -1 ? steps.length - 1 : stopped) : running;
  const step = steps[at];
  return step === undefined ? null : { step: step.step, title: step.title, number: at + 1, of: steps.length };
}

function midwayOf(run: RunRecord): string | null {
  if (isLive(run.state) || run.state === "done") return null;
  const words = run.report?.midway ?? run.stop?.open_tool_calls[0] ?? null;
  return words === null ? null : oneLine(words, 160);
}

/** How far back the last call of a tool is looked for. */
const RECENT = 12;

async function doing(ctx: ToolContext, run: RunRecord): Promise<string | null> {
  const page = await ctx.store.journal(run.run_id, { limit: RECENT });
  const last = page.entries.findLast((entry) => entry.kind === "tool_call" || entry.kind === "tool_result");
  if (last === undefined) return null;
  const title = last.kind === "tool_call" ? last.text : last.data?.["title"];
  return typeof title === "string" ? oneLine(title, 100) : null;
}

/** The last part of a remote or of the folder that holds `.git`. */
function repositoryName(key: string): string {
  const path = key.replace(/\/\.git\/?$/u, "").replace(/\.git\/?$/u, "");
  return basename(path) || key;
}
