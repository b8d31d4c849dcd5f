import { join, resolve } from "node:path";
import type { Repository } from "../checkpoint/checkpoint.ts";
import { redactCommand, secretKinds } from "../redact/redact.ts";
import { findPredecessor, type Predecessor } from "../resume/predecessor.ts";
import { oneLine } from "../resume/shown.ts";
import { epochMs, now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { DEFAULT_MAX_ITERATIONS } from "../run/grant.ts";
import { newRunId, shortId } from "../run/id.ts";
import { argument, tool } from "../run/names.ts";
import { freshRun, type PermissionLevel, type RunRecord, type StepRecord, type WorkspaceKind } from "../run/run.ts";
import { type Said, said } from "../run/said.ts";
import { orderSteps } from "../run/steps.ts";
import type { ToolContext } from "./context.ts";
import { FIND_IT } from "./present.ts";
import type { StartArgs } from "./start-arguments.ts";

export interface Planned {
  readonly run: RunRecord;
  readonly steps: readonly StepRecord[];
  readonly repo: Repository;
  readonly predecessor: Predecessor | null;
  readonly warnings: readonly string[];
}

/** Checks everything that can be checked and makes the records; nothing is stored yet. */
export async function planRun(args: StartArgs, ctx: ToolContext): Promise<Planned> {
  const steps = planSteps(args);
  const repo = await ctx.checkpoints.discover(resolve(ctx.cwd, args.repo));
  const agent = await ctx.agents.resolve(args.agent ?? null);
  const runId = newRunId();
  const kind: WorkspaceKind = args.workspace ?? "worktree";
  const base = await planBase(args, ctx, repo, kind);
  const branch =
    kind === "worktree" ? (args.branch ?? `loopkeeper/${shortId(runId)}`) : (repo.branch?.replace("refs/heads/", "") ?? null);
  const wrongBranch = kind === "worktree" ? await ctx.checkpoints.branchProblem(repo, branch ?? "") : null;
  if (wrongBranch !== null) throw new LoopkeeperError("repository_problem", wrongBranch);
  if (args.branch !== undefined && secretKinds(args.branch).length > 0)
    throw new LoopkeeperError("bad_input", "branch: its name holds what looks like a credential. Give it another name.");
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

function planSteps(args: StartArgs): readonly StepRecord[] {
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
  args: StartArgs,
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
      said`${repo.top} has no commit yet, so there is nothing to make a worktree from. Make a first commit, or use ${workspace("in_place")}.`,
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

function workspace(kind: WorkspaceKind): Said {
  return { agent: `workspace: "${kind}"`, page: kind, shell: `\`--workspace ${kind}\`` };
}

async function baseOfRun(
  runId: string,
  ctx: ToolContext,
  repo: Repository,
): Promise<{ readonly commit: string; readonly run: string }> {
  const run = await ctx.store.run(runId, ctx.owner);
  if (run === null) throw new LoopkeeperError("run_not_found", said`base names run "${runId}", which is not there. ${FIND_IT}`);
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
    said`${who} works in ${path}; one run at a time may use a working tree. Wait for it with ${tool("run_wait")}, stop it with ${tool("run_stop")}, or use ${workspace("worktree")}.`,
  );
}

function runRecord(input: {
  readonly args: StartArgs;
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
      host: ctx.settings.host,
      base_run: args.base?.startsWith("run:") === true ? args.base.slice(4) : null,
    },
    resume_note: input.predecessor?.note ?? null,
    predecessor_run_id: input.predecessor?.briefed === true ? input.predecessor.run.run_id : null,
    ...freshRun(at, cap),
  };
}

async function warningsFor(
  args: StartArgs,
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
  for (const lock of kind === "in_place" ? await ctx.checkpoints.locks(repo, epochMs()) : [])
    warnings.push(`${lock.path} is there (${lock.age_s} s old): until it is gone, git commands that write fail there.`);
  for (const remote of await ctx.checkpoints.mirrorRemotes(repo)) {
    warnings.push(
      `Remote ${remote} is a mirror: a git push to it would publish the hidden refs under refs/loopkeeper/. Push single branches, or unset remote.${remote}.mirror.`,
    );
  }
  if (ctx.store.copies.refused !== null)
    warnings.push(
      `${ctx.store.copies.refused}. On another host this run can only go on by a hand-off, from commits that were pushed.`,
    );
  const secrets = secretsOf(args);
  if (secrets.length > 0)
    warnings.push(
      `What you gave holds what looks like a credential (${secrets.join(", ")}). Secrets are never stored, so the agent is given [redacted: ...] in its place: name an environment variable or a file that it can read instead.`,
    );
  if (args.auto_resume === undefined)
    warnings.push(
      said`Nothing continues this run by itself after a cut-off, and nothing wakes you: call ${tool("run_wait")}, or give ${argument("auto_resume", "")}.`[
        ctx.caller.audience
      ],
    );
  if ((args.verify ?? []).length === 0 && (args.steps ?? []).every((step) => (step.verify ?? []).length === 0))
    warnings.push("No verify commands: done rests on the agent's word alone.");
  return warnings;
}

/** Kinds of credentials in what the owner wrote; commands only lose what is a credential by its own shape. */
function secretsOf(args: StartArgs): readonly string[] {
  const steps = args.steps ?? [];
  const texts = [args.objective, args.instructions ?? "", ...steps.map((step) => step.objective)];
  const commands = [...(args.setup ?? []), ...(args.verify ?? []), ...steps.flatMap((step) => step.verify ?? [])];
  const changed = commands.filter((command) => redactCommand(command) !== command);
  return [...new Set([...texts, ...changed].flatMap(secretKinds))];
}
