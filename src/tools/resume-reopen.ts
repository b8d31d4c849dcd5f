import type { GateFacts } from "../resume/gate.ts";
import { holding } from "../resume/hold-run.ts";
import { permissionAnswerText } from "../resume/permission-answer.ts";
import { reopenChange } from "../resume/reopen.ts";
import { wentBack } from "../resume/taken-back.ts";
import { withTotals } from "../run/budget.ts";
import { now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { newToken } from "../run/id.ts";
import type { InstructionRecord, RunRecord, RunSettings } from "../run/run.ts";
import type { Call, ToolContext } from "./context.ts";
import { cutText, findRun } from "./present.ts";
import { refuseResume } from "./refuse-resume.ts";
import type { ResumeArgs } from "./resume-arguments.ts";
import type { Prepared } from "./resume-prepare.ts";

/** The change that run_resume makes: what it is continued with, and the run reopened. */

export function settingsWith(args: ResumeArgs, run: RunRecord, ctx: ToolContext): RunSettings {
  const command = run.stop?.question?.command ?? null;
  const allowed =
    args.permission === "allow_for_run" && command !== null
      ? [...run.settings.allowed_commands, command]
      : run.settings.allowed_commands;
  return {
    ...run.settings,
    config_path: ctx.settings.config_path,
    host: ctx.settings.host,
    allowed_commands: allowed,
    budget: withTotals(run.settings.budget, args.budget),
    ...(args.auto_resume === undefined ? {} : { auto_resume: { ...args.auto_resume, used: 0 } }),
  };
}

export function instructionsOf(args: ResumeArgs, run: RunRecord, at: string): InstructionRecord[] {
  const list: InstructionRecord[] = [];
  const add = (kind: InstructionRecord["kind"], text: string): void => {
    list.push({ id: newToken(), kind, text, at, delivered_at: null, delivered_iteration: null });
  };
  if (args.permission !== undefined)
    add("permission", permissionAnswerText(args.permission, run.stop?.question?.command ?? run.stop?.question?.text ?? ""));
  if (args.instructions !== undefined) add("instructions", args.instructions);
  if (args.updates !== undefined) add("updates", args.updates);
  return list;
}

export interface Reopened {
  readonly run: RunRecord;
  readonly own: Record<string, unknown>;
}

/** Applies the restore, if one is wanted, and reopens the run in one change. Losing a race is told as `already_running`. */
export async function reopen(
  args: ResumeArgs,
  call: Call,
  facts: GateFacts,
  prepared: Prepared,
  from: "stop" | "entry",
): Promise<Reopened> {
  const { ctx } = call;
  const { run } = facts;
  try {
    if (prepared.restore === null) return await reopenWith(args, call, facts, prepared, from, {});
    // Two resumes that restored side by side would write under the engine of the one that won.
    return await holding(ctx, run, (lease) => reopenWith(args, call, facts, prepared, from, lease));
  } catch (error) {
    if (error instanceof LoopkeeperError && error.code === "revision_conflict" && args.expected_revision === undefined)
      await refuseResume(ctx, await findRun(ctx, run.run_id));
    throw error;
  }
}

async function reopenWith(
  args: ResumeArgs,
  call: Call,
  facts: GateFacts,
  prepared: Prepared,
  from: "stop" | "entry",
  lease: { readonly fence?: number },
): Promise<Reopened> {
  const { ctx, request } = call;
  const { run } = facts;
  const at = now();
  const applied = prepared.restore === null ? null : await prepared.apply(lease);
  const restore =
    applied === null
      ? null
      : {
          restored: [...applied.restored],
          removed: [...applied.removed],
          kept: [...applied.kept],
          safety_checkpoint: applied.safety.id,
        };
  const own = {
    resumed: {
      attempt: prepared.attempt,
      from,
      context: "pending",
      why_handoff: null,
      note: cutText(prepared.note, 2_500),
      restore,
    },
    scheduled_for: null,
  };
  const change = reopenChange(
    { run, steps: facts.steps, attempts: prepared.attempts },
    {
      at,
      from,
      by: "owner",
      add_iterations: args.add_iterations ?? 0,
      instructions: instructionsOf(args, run, at),
      settings: settingsWith(args, run, ctx),
      model: args.model ?? run.model,
      verify: args.verify ?? null,
      also: prepared.also,
      without_files: prepared.without_files,
      data: {
        // On another machine everything has changed: what `refuse` asks for was looked at by this call.
        on_drift: prepared.place === null ? (args.on_drift ?? "keep") : "keep",
        safety_checkpoint: applied?.safety.id ?? null,
        went_back: prepared.restore === null ? null : wentBack(run, prepared.restore),
        remote: { answer: prepared.remote_answer },
      },
    },
  );
  if (change === null) throw new Error(`run ${run.run_id} cannot be reopened from ${run.state}`);
  const resumed = await ctx.store.apply({
    ...change,
    ...lease,
    ...(prepared.place === null ? {} : { run: { ...change.run, ...prepared.place }, tree_hold: prepared.place.workspace_path }),
    ...(prepared.brought.length === 0 ? {} : { checkpoints: prepared.brought }),
    run_id: run.run_id,
    at,
    ...(request === null ? {} : { request: request.record(run.run_id, own) }),
  });
  return { run: resumed, own };
}
