import { z } from "zod";
import type { Predecessor } from "../resume/predecessor.ts";
import { oneLine } from "../resume/shown.ts";
import { newToken } from "../run/id.ts";
import { LIVE_STATES, WORKSPACE_KINDS } from "../run/run.ts";
import type { Call } from "./context.ts";
import { defineTool } from "./define-tool.ts";
import { common, cutText } from "./present.ts";
import { commonOrDryShape, stateSchema, stopReasonSchema } from "./schemas.ts";
import { type StartArgs, startInput } from "./start-arguments.ts";
import { type Planned, planRun } from "./start-plan.ts";
import { renderAnswer, section } from "./text.ts";

const noteSchema = z.object({ predecessor_run_id: z.string(), text: z.string() }).nullable();

export const startOutput = z.object({
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
  input: startInput,
  output: startOutput,
  handle: async (args, call) => {
    const planned = await planRun(args, call.ctx);
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

async function start(planned: Planned, call: Call, args: StartArgs): Promise<z.output<typeof startOutput>> {
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
