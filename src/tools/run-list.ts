import { resolve } from "node:path";
import { z } from "zod";
import { isResumable } from "../resume/gate.ts";
import { oneLine } from "../resume/shown.ts";
import { isoOf, msOf, now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import type { RunRecord } from "../run/run.ts";
import type { RunFilter, RunPage } from "../store/store.ts";
import type { ToolContext } from "./context.ts";
import { defineTool } from "./define-tool.ts";
import { jsonBytes } from "./fit.ts";
import { gateFacts, stopView } from "./present.ts";
import { stateSchema, stopReasonSchema, stopViewSchema } from "./schemas.ts";

export const rowSchema = z.object({
  run_id: z.string(),
  objective: z.string(),
  state: stateSchema,
  stop_reason: stopReasonSchema.nullable(),
  resumable: z.boolean(),
  stop: stopViewSchema.nullable(),
  repo: z.string(),
  branch: z.string().nullable(),
  step: z.string().nullable(),
  iteration: z.number().int(),
  max_iterations: z.number().int(),
  waiting_until: z.string().nullable(),
  revision: z.number().int(),
  cost_usd: z.number().nullable(),
  created_at: z.string(),
  changed_at: z.string(),
});

export type RunRow = z.output<typeof rowSchema>;

const input = z.strictObject({
  repo: z
    .string()
    .min(1)
    .optional()
    .describe("Only runs of this repository: a path (any clone or worktree of it), or its remote."),
  state: stateSchema.optional().describe("Only runs in this state."),
  stop_reason: stopReasonSchema.optional().describe("Only runs that stopped for this reason."),
  resumable: z.boolean().optional().describe("Only runs that run_resume could continue now (true), or could not (false)."),
  needs_attention: z.boolean().optional().describe("Stopped and waiting for a call or a person."),
  changed_since: z.iso
    .datetime({ offset: true })
    .optional()
    .describe("ISO 8601 instant, e.g. the `now` of the last answer: only what changed since."),
  archived: z.boolean().optional().describe("List archived runs instead; default false."),
  limit: z.number().int().min(1).max(50).optional().describe("Rows at most, 1 to 50; default 20."),
  cursor: z.string().min(1).optional().describe("next_cursor of the last answer."),
});

/** The answer, which the command line shows in its own way. */
export const listOutput = z.object({
  summary: z.string(),
  runs: z.array(rowSchema),
  now: z.string(),
  total: z.number().int(),
  by_state: z.record(z.string(), z.number().int()),
  next_cursor: z.string().nullable(),
});

/** Rows are kept small so that a page of 20 stays under 8 KB; a page that would not is cut with the cursor still right. */
const ROW_TEXT = 100;

export const runList = defineTool({
  name: "run_list",
  title: "List runs",
  description:
    "List runs, newest change first, archived ones left out, one short row each: why it stopped, what it needs, when it can go on. Use to find a run_id or to supervise many runs: pass changed_since with the last answer's now to get only what changed. Relaunch unattended only rows with stop.class cut_off, no needs, no person_must, no waiting_until and fewer than 3 of the same stop in a row. For one run use run_status; for the reason in full, run_explain_stop.",
  effect: "read",
  idempotent: true,
  openWorld: false,
  input,
  output: listOutput,
  handle: async (args, { ctx }) => {
    const at = now();
    const filter = await filterOf(args, ctx);
    const { page, runs } = await fittingPage(ctx, filter);
    const states = Object.entries(page.by_state)
      .filter(([, count]) => count > 0)
      .map(([state, count]) => `${count} ${state}`);
    return {
      summary: `${page.total} ${page.total === 1 ? "run" : "runs"}${states.length === 0 ? "" : ` (${states.join(", ")})`}; ${runs.length} shown, newest change first.`,
      runs,
      now: at,
      total: page.total,
      by_state: { ...page.by_state },
      next_cursor: page.next_cursor,
    };
  },
  render: (answer) =>
    [
      answer.summary,
      ...answer.runs.map(
        (run) =>
          `- ${run.run_id} ${run.state}${run.stop_reason === null ? "" : ` ${run.stop_reason}`} ${run.iteration}/${run.max_iterations} rev ${run.revision} "${run.objective}" ${run.repo}${run.branch === null ? "" : ` ${run.branch}`} changed ${run.changed_at}${run.stop === null ? "" : ` needs: ${run.stop.needs.join(", ") || "nothing"}${run.stop.person_must === null ? "" : `; a person must: ${run.stop.person_must}`}`}${run.waiting_until === null ? "" : ` waiting until ${run.waiting_until}`}${run.resumable ? " resumable" : ""}`,
      ),
      answer.next_cursor === null
        ? null
        : `More: run_list ${JSON.stringify({ cursor: answer.next_cursor })} with the same filters`,
      `now: ${answer.now}`,
    ]
      .filter((line) => line !== null)
      .join("\n"),
});

const PAGE_BYTES = 7_000;

/** A page whose rows fit into one reply: asked for anew with fewer rows when they do not, so that its cursor is right. */
async function fittingPage(ctx: ToolContext, filter: RunFilter): Promise<{ readonly page: RunPage; readonly runs: RunRow[] }> {
  const page = await ctx.store.runs(filter);
  const runs = await Promise.all(page.runs.map((run) => listRow(ctx, run)));
  let size = 0;
  const fitting = runs.findIndex((one) => {
    size += jsonBytes(one);
    return size > PAGE_BYTES;
  });
  return fitting > 0 && fitting < filter.limit ? fittingPage(ctx, { ...filter, limit: fitting }) : { page, runs };
}

async function filterOf(args: z.output<typeof input>, ctx: ToolContext): Promise<RunFilter> {
  return {
    owner: ctx.owner,
    archived: args.archived ?? false,
    limit: args.limit ?? 20,
    ...(args.repo === undefined ? {} : await repositoryFilter(args.repo, ctx)),
    ...(args.state === undefined ? {} : { states: [args.state] }),
    ...(args.stop_reason === undefined ? {} : { stop_reasons: [args.stop_reason] }),
    ...(args.resumable === undefined ? {} : { resumable: args.resumable }),
    ...(args.needs_attention === undefined ? {} : { needs_attention: args.needs_attention }),
    ...(args.changed_since === undefined ? {} : { changed_since: isoOf(msOf(args.changed_since)) }),
    ...(args.cursor === undefined ? {} : { cursor: args.cursor }),
  };
}

/** A path that is a repository is matched by its git directory or its remote; anything else must look like a remote. */
async function repositoryFilter(repo: string, ctx: ToolContext): Promise<{ common_dir?: string; remote?: string }> {
  try {
    const found = await ctx.checkpoints.discover(resolve(ctx.cwd, repo));
    return found.remote === null ? { common_dir: found.common_dir } : { common_dir: found.common_dir, remote: found.remote };
  } catch (error) {
    if (!(error instanceof LoopkeeperError)) throw error;
    const remote = ctx.checkpoints.normaliseRemote(repo);
    if (remote === null) throw error;
    return { remote };
  }
}

export async function listRow(ctx: ToolContext, run: RunRecord): Promise<RunRow> {
  const facts = await gateFacts(ctx, run);
  const stop = stopView(facts);
  return {
    run_id: run.run_id,
    objective: oneLine(run.objective, ROW_TEXT),
    state: run.state,
    stop_reason: run.stop_reason,
    resumable: isResumable(run),
    stop:
      stop === null
        ? null
        : {
            ...stop,
            headline: oneLine(stop.headline, ROW_TEXT),
            question: stop.question === null ? null : shortQuestion(stop.question),
          },
    repo: run.repo_remote ?? run.repo_path,
    branch: run.branch?.replace("refs/heads/", "") ?? null,
    step: facts.steps.find((step) => step.state === "running")?.step ?? run.stop?.step ?? null,
    iteration: run.iteration,
    max_iterations: run.max_iterations,
    waiting_until: run.waiting_until,
    revision: run.revision,
    cost_usd: run.usage.cost_usd,
    created_at: run.created_at,
    changed_at: run.changed_at,
  };
}

/** The whole of it is in run_status. */
function shortQuestion({ kind, text, command }: NonNullable<NonNullable<RunRow["stop"]>["question"]>) {
  return { kind, text: oneLine(text, ROW_TEXT), command: command === null ? null : oneLine(command, ROW_TEXT) };
}
