import { z } from "zod";
import { type Look, nextActions } from "../resume/choices.ts";
import { defaultFrom, type GateFacts, isResumable, resumeNeeds } from "../resume/gate.ts";
import { headline } from "../resume/headline.ts";
import { oneLine } from "../resume/shown.ts";
import { epochMs, msOf, now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { argument, tool } from "../run/names.ts";
import { isLive, isOfHost, type RunRecord } from "../run/run.ts";
import { asSaid, type Said, said } from "../run/said.ts";
import { needNames, type ResumeNeed, stopReasonRow } from "../run/stop-reason.ts";
import type { RequestRecord } from "../store/store.ts";
import type { ToolContext } from "./context.ts";
import type { RunView } from "./schemas.ts";

/** Makes the common part of an answer about one run out of its present record. */

/** The run of this owner, by its id. Anything else is `run_not_found`, so that ids of others cannot be probed. */
export async function findRun(ctx: ToolContext, runId: string): Promise<RunRecord> {
  const run = await ctx.store.run(runId, ctx.owner);
  if (run === null) throw new LoopkeeperError("run_not_found", said`there is no run "${oneLine(runId, 60)}". ${FIND_IT}`);
  return run;
}

/** How the id of a run is found. */
export const FIND_IT: Said = {
  agent: "Call run_list to find the run_id.",
  page: "The ledger shows the runs there are.",
  shell: "`loopkeeper list` shows the runs there are.",
};

export async function gateFacts(ctx: ToolContext, run: RunRecord): Promise<GateFacts> {
  const [steps, attempts, undelivered] = await Promise.all([
    ctx.store.steps(run.run_id),
    ctx.store.attempts(run.run_id),
    ctx.store.instructions(run.run_id, "undelivered"),
  ]);
  return { run, steps, attempts, undelivered };
}

export interface Common {
  readonly summary: string;
  readonly run: RunView;
  readonly replayed: { readonly first_at: string } | null;
  readonly next_actions: { tool: string; args: Record<string, unknown>; needs: string[]; why: string }[];
}

export async function common(
  ctx: ToolContext,
  run: RunRecord,
  options: { readonly summary?: string; readonly replayed?: string; readonly look?: Look } = {},
): Promise<Common> {
  const facts = await gateFacts(ctx, run);
  const view = await runView(ctx, facts);
  const to = ctx.caller.audience;
  const plain = options.summary ?? summaryOf(facts, view)[to];
  return {
    summary:
      options.replayed === undefined
        ? plain
        : `Nothing was done now: this repeats a call that had its effect at ${options.replayed}. ${summaryOf(facts, view)[to]}`,
    run: view,
    replayed: options.replayed === undefined ? null : { first_at: options.replayed },
    next_actions: nextActions(facts, epochMs(), options.look).map((action) => ({
      tool: action.tool,
      args: { ...action.args },
      needs: [...action.needs],
      why: action.why[to],
    })),
  };
}

const storedSchema = z.record(z.string(), z.unknown());

/** A stored answer again: the run as it is now, the effect as it was then. */
export async function replayAnswer(ctx: ToolContext, stored: RequestRecord): Promise<Record<string, unknown>> {
  const run = await findRun(ctx, stored.run_id);
  const own = storedSchema.parse(JSON.parse(stored.answer));
  return { ...own, ...(await common(ctx, run, { replayed: stored.at })) };
}

export async function runView(ctx: ToolContext, facts: GateFacts): Promise<RunView> {
  const { run, steps } = facts;
  const at = now();
  return {
    run_id: run.run_id,
    state: run.state,
    stop_reason: run.stop_reason,
    resumable: isResumable(run),
    objective: cutText(run.objective, 400),
    repository: {
      path: run.repo_path,
      remote: run.repo_remote,
      branch: run.branch?.replace("refs/heads/", "") ?? null,
      base_commit: run.base_commit,
    },
    workspace: { kind: run.workspace_kind, path: run.workspace_path },
    stop: stopView(facts),
    agent: { name: run.agent, model: run.model, mode: run.mode },
    permissions: run.settings.permissions,
    iteration: run.iteration,
    max_iterations: run.max_iterations,
    steps: steps.slice(0, 30).map((step) => ({
      step: step.step,
      title: step.title,
      state: step.state,
      attempt: step.attempt,
      iteration: step.iteration,
      max_iterations: step.max_iterations,
    })),
    usage: {
      input_tokens: run.usage.input_tokens,
      output_tokens: run.usage.output_tokens,
      cost_usd: run.usage.cost_usd,
      minutes: Math.round(run.usage.active_ms / 6_000) / 10,
    },
    budget: run.settings.budget,
    auto_resume:
      run.settings.auto_resume === null ? null : { ...run.settings.auto_resume, reasons: [...run.settings.auto_resume.reasons] },
    now: at,
    idle_s:
      isLive(run.state) && run.progress_at !== null ? Math.max(0, Math.round((msOf(at) - msOf(run.progress_at)) / 1000)) : null,
    queued_because: await queuedBecause(ctx, run),
    revision: run.revision,
    created_at: run.created_at,
    started_at: run.started_at,
    alive_at: run.alive_at,
    progress_at: run.progress_at,
    waiting_until: run.waiting_until,
    stopped_at: run.state === "stopped" || run.state === "done" ? run.stopped_at : null,
    archived_at: run.archived_at,
    reclaimed_at: run.reclaimed_at,
    uris: urisOf(run.run_id),
  };
}

/** A live run shows no stop, not even the one before its resume. */
export function stopView(facts: GateFacts): RunView["stop"] {
  const { run } = facts;
  if (isLive(run.state) || run.stop === null || run.stop_reason === null) return null;
  const row = stopReasonRow(run.stop_reason);
  return {
    headline: cutText(headline(run, run.stop), 400),
    class: row.class,
    step: run.stop.step,
    resets_at: run.stop.resets_at,
    needs: [...neededBy(facts)],
    person_must: row.personMust,
    question: run.stop.question === null ? null : { ...run.stop.question, text: cutText(run.stop.question.text, 800) },
    same_stop_in_a_row: run.stop.same_stop_in_a_row,
  };
}

function neededBy(facts: GateFacts): readonly ResumeNeed[] {
  return facts.run.state === "done" || facts.run.stop === null ? [] : resumeNeeds(facts, defaultFrom(facts));
}

async function queuedBecause(ctx: ToolContext, run: RunRecord): Promise<string | null> {
  if (run.state !== "queued") return null;
  if (run.waiting_until !== null) return `it waits until ${run.waiting_until}`;
  if (!isOfHost(run, ctx.host)) return `it waits for a worker on ${run.settings.host ?? "another host"}`;
  const workers = await ctx.store.workers();
  return workers.length === 0 ? "a worker is being started" : "it waits for a worker to take it";
}

function urisOf(runId: string): RunView["uris"] {
  const base = `loopkeeper://runs/${runId}`;
  return {
    transcript: `${base}/transcript`,
    diff: `${base}/diff`,
    plan: `${base}/plan`,
    note: `${base}/note`,
    report: `${base}/report`,
  };
}

/** Two or three sentences that a person can read. */
function summaryOf(facts: GateFacts, run: RunView): Said {
  const count = `iteration ${run.iteration} of ${run.max_iterations}`;
  switch (run.state) {
    case "queued":
      return said`Run ${run.run_id} is queued (${count})${run.queued_because === null ? "" : `: ${run.queued_because}`}.`;
    case "running":
      return said`Run ${run.run_id} is running: ${count} finished${run.idle_s === null ? "" : `, last progress ${run.idle_s} s ago`}.`;
    case "stopping":
      return said`Run ${run.run_id} is stopping; its processes are being ended and its work is being saved.`;
    case "done":
      return said`Run ${run.run_id} is done after ${run.iteration} of ${run.max_iterations} iterations.`;
    case "stopped":
      return said`Run ${run.run_id} is stopped (${run.stop_reason ?? "unknown"}). ${run.stop?.headline ?? ""}${needsLine(facts)}${onItsOwn(run)}`;
  }
}

function needsLine(facts: GateFacts): Said {
  const needs = neededBy(facts);
  return needs.length === 0 ? NOTHING : said` To resume it needs ${needNames(needs)}.`;
}

const NOTHING = asSaid("");

/** Whether a stopped run goes on by itself, and since or from when it can be resumed. */
function onItsOwn(run: RunView): Said {
  const { auto_resume: auto, stop, waiting_until: until } = run;
  if (until !== null) {
    const why = auto === null || run.stop_reason === null || !auto.reasons.includes(run.stop_reason) ? NOTHING : timesOf(auto);
    return said` It waits until ${until} and then goes on by itself${why}; ${tool("run_stop")} ends that.`;
  }
  const usedUp = auto !== null && run.stop_reason !== null && auto.reasons.includes(run.stop_reason) && auto.used >= auto.times;
  const spent = usedUp ? said` ${AUTO_RESUME} is used up (${auto.times} of ${auto.times}).` : NOTHING;
  if (stop?.resets_at == null) return usedUp ? said`${spent} Nothing goes on by itself.` : NOTHING;
  const passed = msOf(stop.resets_at) <= msOf(run.now);
  return said`${spent} Nothing goes on by itself: it can be resumed ${passed ? "since" : "from"} ${stop.resets_at}${passed ? "" : " on"}.`;
}

const AUTO_RESUME = argument("auto_resume", "its going on by itself");

function timesOf(auto: NonNullable<RunView["auto_resume"]>): Said {
  return said` (${AUTO_RESUME}, time ${Math.min(auto.used + 1, auto.times)} of ${auto.times})`;
}

/** Cut with an ellipsis; line breaks are kept. */
export function cutText(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
