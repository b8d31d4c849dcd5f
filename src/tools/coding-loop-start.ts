import { join, resolve } from "node:path";
import { z } from "zod";
import type { Repository } from "../checkpoint/checkpoint.ts";
import { oneLine } from "../resume/headline.ts";
import { findPredecessor, type Predecessor } from "../resume/predecessor.ts";
import { epochMs, now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { DEFAULT_MAX_ITERATIONS } from "../run/grant.ts";
import { newRunId, newToken, shortId } from "../run/id.ts";
import {
  budgetSchema,
  LIVE_STATES,
  PERMISSION_LEVELS,
  type PermissionLevel,
  type RunRecord,
  type StepRecord,
  WORKSPACE_KINDS,
  type WorkspaceKind,
} from "../run/run.ts";
import { orderSteps } from "../run/steps.ts";
import { AUTO_RESUME_REASONS, UNATTENDED_REASONS } from "../run/stop-reason.ts";
import type { Call, ToolContext } from "./context.ts";
import { defineTool } from "./define-tool.ts";
import { common, cutText } from "./present.ts";
import { commonOrDryShape, iterationsArgument, requestIdArgument, stateSchema, stopReasonSchema } from "./schemas.ts";
import { renderAnswer, section } from "./text.ts";

const name = z
  .string()
  .min(1)
  .max(60)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/u, "letters, digits, dot, dash and underscore, at most 60");
const commands = z.array(z.string().min(1)).max(50);

export const autoResumeArgument = z.strictObject({
  reasons: z
    .array(z.enum(AUTO_RESUME_REASONS))
    .min(1)
    .default([...UNATTENDED_REASONS]),
  times: z.number().int().min(1).max(20),
});

const input = z.strictObject({
  repo: z.string().min(1).describe("Path of the git repository (any folder inside it)."),
  objective: z
    .string()
    .min(1)
    .max(100_000)
    .describe("What the run is to reach, in full: the agent sees only this and the repository."),
  max_iterations: iterationsArgument
    .optional()
    .describe(`Ceiling of iterations (prompts), 1 to 200; default ${DEFAULT_MAX_ITERATIONS}.`),
  agent: z
    .string()
    .min(1)
    .optional()
    .describe("claude, codex, opencode, gemini, or a configured one; default: the configured or first one found."),
  model: z.string().min(1).optional().describe("A model of the agent; default: the agent's own."),
  workspace: z
    .enum(WORKSPACE_KINDS)
    .optional()
    .describe("worktree (default): an own git worktree and branch. in_place: the repository's own working tree."),
  base: z
    .string()
    .min(1)
    .optional()
    .describe(
      'A revision to branch from (default HEAD), or "run:<run_id>": that run\'s stop checkpoint with its uncommitted edits.',
    ),
  branch: z
    .string()
    .max(200)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]*$/u, "a branch name: letters, digits, dot, dash, underscore, slash")
    .optional()
    .describe("Name of the new branch in a worktree; default loopkeeper/<short id>."),
  steps: z
    .array(
      z.strictObject({
        step: name,
        title: z.string().max(200).optional(),
        objective: z.string().min(1).max(100_000),
        needs: z.array(z.string()).optional(),
        max_iterations: iterationsArgument.optional(),
        verify: commands.optional(),
      }),
    )
    .min(1)
    .max(50)
    .optional()
    .describe("Stages with their own objective, ceiling and checks, run in the order of their needs in one workspace."),
  verify: commands.optional().describe("Commands that must exit 0 before the work counts as done; run after every turn."),
  setup: commands.optional().describe("Commands run once when the worktree is made or rebuilt, e.g. npm ci."),
  copy_ignored: z.array(z.string().min(1)).max(50).optional().describe("Ignored files such as .env to copy into the worktree."),
  on_done: z
    .enum(["leave", "commit"])
    .optional()
    .describe("At done in a worktree: leave uncommitted edits (default) or commit them on the run's branch."),
  instructions: z.string().min(1).max(100_000).optional().describe("How to work: orders beside the objective."),
  permissions: z.enum(PERMISSION_LEVELS).optional().describe("all (default in a worktree), edits (default in_place), ask."),
  allow: commands.optional().describe("With permissions edits: further command prefixes that are allowed."),
  budget: budgetSchema.optional().describe("Caps over the run's whole life: cost_usd, minutes, tokens."),
  auto_resume: autoResumeArgument.optional().describe("Continue by itself after these cut-offs, at most `times` times."),
  brief: z.enum(["auto", "none"]).optional().describe("Whether the agent is told about the run before this one; default auto."),
  dry_run: z.boolean().optional().describe("Check everything, store nothing."),
  request_id: requestIdArgument,
});

type Args = z.output<typeof input>;

const noteSchema = z.object({ predecessor_run_id: z.string(), text: z.string() }).nullable();

const output = z.object({
  ...commonOrDryShape,
  resume_note: noteSchema.optional(),
  predecessor: z
    .object({
      run_id: z.string(),
      state: stateSchema,
      stop_reason: stopReasonSchema.nullable(),
      stopped_at: z.string().nullable(),
      briefed: z.boolean(),
      why: z.string(),
      work_in_tree: z.boolean(),
    })
    .nullable()
    .optional(),
  other_live_runs: z
    .array(z.object({ run_id: z.string(), objective: z.string(), state: stateSchema, workspace: z.string() }))
    .optional(),
  warnings: z.array(z.string()).optional(),
  would: z
    .object({
      agent: z.string(),
      model: z.string().nullable(),
      max_iterations: z.number().int(),
      workspace: z.object({ kind: z.enum(WORKSPACE_KINDS), path: z.string(), branch: z.string().nullable() }),
      resume_note: noteSchema,
    })
    .optional(),
});

export const codingLoopStart = defineTool({
  name: "coding_loop_start",
  title: "Start a coding loop",
  description:
    "Start a new coding-agent run that works on an objective in a git repository in the background, in its own worktree. Answers at once with run_id and keeps going without you. Use verify (commands that must exit 0) so that done is checked, and auto_resume to continue by itself after usage limits, crashes and lost connections. To continue a stopped run use run_resume, never this. Uncommitted edits of the repository are not in the worktree. dry_run checks only. Next: run_wait.",
  effect: "write",
  idempotent: false,
  openWorld: true,
  input,
  output,
  handle: async (args, call) => {
    const planned = await plan(args, call.ctx);
    if (args.dry_run === true) {
      return {
        summary: `Nothing was started. A run would work on ${planned.run.repo_path} with ${planned.run.agent}, at most ${planned.run.max_iterations} iterations, in ${planned.run.workspace_path}.`,
        would: {
          agent: planned.run.agent,
          model: planned.run.model,
          max_iterations: planned.run.max_iterations,
          workspace: { kind: planned.run.workspace_kind, path: planned.run.workspace_path, branch: planned.run.branch },
          resume_note: noteOf(planned.predecessor),
        },
      };
    }
    return start(planned, call, args);
  },
  render: (answer) =>
    renderAnswer(answer, [
      answer.would === undefined ? null : `would: ${JSON.stringify(answer.would)}`,
      section("Warnings", answer.warnings ?? []),
      section(
        "Other live runs on this repository",
        (answer.other_live_runs ?? []).map((run) => `${run.run_id} (${run.state}) ${run.objective}`),
      ),
      answer.predecessor == null
        ? null
        : `Run before this one: ${answer.predecessor.run_id} (${answer.predecessor.stop_reason ?? answer.predecessor.state}); ${answer.predecessor.briefed ? "the agent is briefed from it" : `not briefed: ${answer.predecessor.why}`}; its work is ${answer.predecessor.work_in_tree ? "" : "not "}in the tree.`,
      answer.resume_note == null ? null : `Note that the agent gets:\n${answer.resume_note.text}`,
    ]),
});

interface Planned {
  readonly run: RunRecord;
  readonly steps: readonly StepRecord[];
  readonly repo: Repository;
  readonly predecessor: Predecessor | null;
  readonly warnings: readonly string[];
}

/** Checks everything that can be checked and makes the records; nothing is stored yet. */
async function plan(args: Args, ctx: ToolContext): Promise<Planned> {
  const steps = planSteps(args);
  const repo = await ctx.checkpoints.discover(resolve(ctx.cwd, args.repo));
  const agent = await ctx.agents.resolve(args.agent ?? null);
  const runId = newRunId();
  const kind: WorkspaceKind = args.workspace ?? "worktree";
  const base = await planBase(args, ctx, repo, kind);
  const branch =
    kind === "worktree" ? (args.branch ?? `loopkeeper/${shortId(runId)}`) : (repo.branch?.replace("refs/heads/", "") ?? null);
  if (kind === "worktree" && (await ctx.checkpoints.resolve(repo, `refs/heads/${branch ?? ""}`)) !== null) {
    throw new LoopkeeperError(
      "repository_problem",
      `branch "${branch ?? ""}" exists already. Choose another branch, or leave it out to get a new one.`,
    );
  }
  const path = kind === "worktree" ? join(ctx.settings.workspaces, shortId(runId)) : repo.top;
  await refuseSecondHolder(ctx, kind, path);
  const permissions: PermissionLevel = args.permissions ?? (kind === "worktree" ? "all" : "edits");
  const predecessor = await findPredecessor(ctx, {
    owner: ctx.owner,
    common_dir: repo.common_dir,
    remote: repo.remote,
    workspace: kind,
    workspace_path: path,
    base_commit: base.commit,
    base_run: base.run,
    now_ms: epochMs(),
    lookback_hours: ctx.settings.note_lookback_hours,
    brief: args.brief ?? "auto",
  });
  const run = runRecord({
    args,
    ctx,
    repo,
    runId,
    kind,
    path,
    branch,
    base: base.commit,
    agent: agent.name,
    permissions,
    predecessor,
  });
  return { run, steps, repo, predecessor, warnings: await warningsFor(args, ctx, repo, kind, permissions) };
}

function planSteps(args: Args): readonly StepRecord[] {
  const given = args.steps ?? [{ step: "main", objective: args.objective }];
  const ordered = orderSteps(given.map((step) => ({ ...step, needs: step.needs ?? [] })));
  return ordered.map((step, position) => ({
    step: step.step,
    position,
    title: step.title ?? null,
    objective: step.objective,
    needs: step.needs,
    max_iterations: step.max_iterations ?? null,
    verify: step.verify ?? args.verify ?? [],
    state: "pending",
    attempt: 0,
    iteration: 0,
  }));
}

async function planBase(
  args: Args,
  ctx: ToolContext,
  repo: Repository,
  kind: WorkspaceKind,
): Promise<{ readonly commit: string | null; readonly run: string | null }> {
  if (kind === "in_place") {
    if (args.base !== undefined || args.branch !== undefined)
      throw new LoopkeeperError(
        "bad_input",
        "base and branch go with workspace: worktree; an in_place run works on the tree as it is. Leave them out.",
      );
    return { commit: repo.head, run: null };
  }
  if (repo.head === null && args.base === undefined) {
    throw new LoopkeeperError(
      "repository_problem",
      `${repo.top} has no commit yet, so there is nothing to make a worktree from. Make a first commit, or use workspace: "in_place".`,
    );
  }
  if (args.base?.startsWith("run:") === true) return baseOfRun(args.base.slice(4), ctx, repo);
  const commit = await ctx.checkpoints.resolve(repo, args.base ?? "HEAD");
  if (commit === null)
    throw new LoopkeeperError(
      "repository_problem",
      `base "${args.base ?? "HEAD"}" names no commit of ${repo.top}. Give a branch, a tag or a commit id.`,
    );
  return { commit, run: null };
}

async function baseOfRun(
  runId: string,
  ctx: ToolContext,
  repo: Repository,
): Promise<{ readonly commit: string; readonly run: string }> {
  const run = await ctx.store.run(runId, ctx.owner);
  if (run === null)
    throw new LoopkeeperError(
      "run_not_found",
      `base names run "${runId}", which is not there. Call run_list to find the run_id.`,
    );
  if (run.repo_common_dir !== repo.common_dir)
    throw new LoopkeeperError("repository_problem", `run ${runId} belongs to another repository (${run.repo_path}).`);
  const checkpoint =
    run.stop?.uncommitted?.checkpoint == null ? null : await ctx.store.checkpoint(runId, run.stop.uncommitted.checkpoint);
  if (checkpoint?.head == null)
    throw new LoopkeeperError("repository_problem", `run ${runId} has no stop checkpoint to start from. Use a revision as base.`);
  return { commit: checkpoint.head, run: runId };
}

async function refuseSecondHolder(ctx: ToolContext, kind: WorkspaceKind, path: string): Promise<void> {
  if (kind !== "in_place") return;
  const holder = await ctx.store.holderOf(path);
  if (holder === null) return;
  const who =
    holder.owner === ctx.owner ? `run ${holder.run_id} (${holder.state}, "${oneLine(holder.objective, 80)}")` : "another run";
  throw new LoopkeeperError(
    "already_running",
    `${who} works in ${path}; one run at a time may use a working tree. Wait for it with run_wait, stop it with run_stop, or use workspace: "worktree".`,
  );
}

function runRecord(input: {
  readonly args: Args;
  readonly ctx: ToolContext;
  readonly repo: Repository;
  readonly runId: string;
  readonly kind: WorkspaceKind;
  readonly path: string;
  readonly branch: string | null;
  readonly base: string | null;
  readonly agent: string;
  readonly permissions: PermissionLevel;
  readonly predecessor: Predecessor | null;
}): RunRecord {
  const { args, ctx, repo } = input;
  const cap = args.max_iterations ?? DEFAULT_MAX_ITERATIONS;
  const at = now();
  return {
    run_id: input.runId,
    owner: ctx.owner,
    objective: args.objective,
    repo_path: repo.top,
    repo_common_dir: repo.common_dir,
    repo_remote: repo.remote,
    root_commit: repo.root_commit,
    base_commit: input.base,
    branch: input.branch,
    workspace_kind: input.kind,
    workspace_path: input.path,
    agent: input.agent,
    model: args.model ?? null,
    mode: null,
    settings: {
      permissions: input.permissions,
      allow: args.allow ?? [],
      allowed_commands: [],
      setup: args.setup ?? [],
      copy_ignored: args.copy_ignored ?? [],
      on_done: args.on_done ?? "leave",
      budget: args.budget ?? null,
      auto_resume: args.auto_resume === undefined ? null : { ...args.auto_resume, used: 0 },
      brief: args.brief ?? "auto",
      silence_s: ctx.settings.silence_s,
      tool_silence_s: ctx.settings.tool_silence_s,
      command_timeout_s: ctx.settings.command_timeout_s,
      config_path: ctx.settings.config_path,
      base_run: args.base?.startsWith("run:") === true ? args.base.slice(4) : null,
    },
    state: "queued",
    stop_reason: null,
    stop: null,
    stop_request: null,
    iteration: 0,
    first_cap: cap,
    max_iterations: cap,
    usage: { input_tokens: 0, output_tokens: 0, cost_usd: null, active_ms: 0 },
    plan: [],
    report: null,
    last_words: null,
    resume_note: input.predecessor?.note ?? null,
    predecessor_run_id: input.predecessor?.briefed === true ? input.predecessor.run.run_id : null,
    was_reset: null,
    revision: 1,
    fence: 0,
    created_at: at,
    started_at: null,
    alive_at: null,
    progress_at: null,
    waiting_until: null,
    stopped_at: null,
    archived_at: null,
    reclaimed_at: null,
    changed_at: at,
  };
}

async function warningsFor(
  args: Args,
  ctx: ToolContext,
  repo: Repository,
  kind: WorkspaceKind,
  permissions: PermissionLevel,
): Promise<readonly string[]> {
  const warnings = [`Effective permissions: ${permissions}.`];
  if (kind === "worktree") {
    const dirty = await ctx.checkpoints.dirtyFiles(repo);
    if (dirty > 0)
      warnings.push(
        `${dirty} uncommitted files of ${repo.top} are not in the worktree; commit them first or use workspace: "in_place" if the run needs them.`,
      );
  }
  if (args.auto_resume === undefined)
    warnings.push(
      "Nothing continues this run by itself after a cut-off, and nothing wakes you: call run_wait, or give auto_resume.",
    );
  if ((args.verify ?? []).length === 0 && (args.steps ?? []).every((step) => (step.verify ?? []).length === 0))
    warnings.push("No verify commands: done rests on the agent's word alone.");
  return warnings;
}

async function start(planned: Planned, call: Call, args: Args): Promise<z.output<typeof output>> {
  const { ctx } = call;
  const { run, predecessor } = planned;
  const others = await ctx.store.runs({
    owner: ctx.owner,
    common_dir: planned.repo.common_dir,
    states: [...LIVE_STATES],
    archived: false,
    limit: 5,
  });
  const own = {
    resume_note: noteOf(predecessor),
    predecessor:
      predecessor === null
        ? null
        : {
            run_id: predecessor.run.run_id,
            state: predecessor.run.state,
            stop_reason: predecessor.run.stop_reason,
            stopped_at: predecessor.run.stopped_at,
            briefed: predecessor.briefed,
            why: predecessor.why,
            work_in_tree: predecessor.work_in_tree,
          },
    other_live_runs: others.runs.map((other) => ({
      run_id: other.run_id,
      objective: oneLine(other.objective, 120),
      state: other.state,
      workspace: other.workspace_path,
    })),
    warnings: [...planned.warnings],
  };
  const at = run.created_at;
  const created = await ctx.store.createRun({
    run,
    steps: planned.steps,
    attempts: [],
    events: [
      {
        type: "run_created",
        at,
        data: { agent: run.agent, workspace: run.workspace_kind, max_iterations: run.max_iterations, base: run.base_commit },
      },
    ],
    instructions:
      args.instructions === undefined
        ? []
        : [{ id: newToken(), kind: "instructions", text: args.instructions, at, delivered_at: null, delivered_iteration: null }],
    request: call.request?.record(run.run_id, own) ?? null,
    tree_hold: run.workspace_path,
  });
  await ctx.wakeWorker();
  const shared = await common(ctx, created, {
    summary: `Run ${run.run_id} was started on ${run.repo_path} with ${run.agent}, at most ${run.max_iterations} iterations, in ${run.workspace_kind === "worktree" ? `worktree ${run.workspace_path} on branch ${run.branch ?? ""}` : "the repository's own working tree"}.`,
  });
  return { ...shared, ...own };
}

function noteOf(predecessor: Predecessor | null): { predecessor_run_id: string; text: string } | null {
  return predecessor?.note == null
    ? null
    : { predecessor_run_id: predecessor.run.run_id, text: cutText(predecessor.note, 3_000) };
}
