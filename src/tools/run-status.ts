import { z } from "zod";
import { notCoveredLine } from "../resume/not-covered.ts";
import { putAwayLines } from "../resume/put-away-lines.ts";
import { oneLine } from "../resume/shown.ts";
import { type RunEventRecord, TOLD_EVENT_TYPES } from "../run/event.ts";
import { CHECKPOINT_KINDS, type CheckpointRecord, type RunRecord } from "../run/run.ts";
import { shellQuoted } from "../run/shell-quoted.ts";
import type { ToolContext } from "./context.ts";
import { defineTool } from "./define-tool.ts";
import { common, findRun } from "./present.ts";
import { commonShape, planSchema, runIdArgument, verifySchema } from "./schemas.ts";
import { renderAnswer, section } from "./text.ts";

export const takeOverSchema = z
  .object({
    branch: z.string().nullable(),
    commits: z.number().int(),
    uncommitted_files: z.number().int(),
    commands: z.array(z.string()),
  })
  .nullable();

export const statusOutput = z.object({
  ...commonShape,
  last_events: z.array(z.string()),
  plan: planSchema,
  verify: z.array(verifySchema),
  context: z.enum(["pending", "new", "native", "handoff"]).nullable(),
  warnings: z.array(z.string()),
  /** Who archived or freed it, and what keeps it from being freed. */
  put_away: z.array(z.string()).optional(),
  checkpoint: z
    .object({
      id: z.string(),
      kind: z.enum(CHECKPOINT_KINDS),
      iteration: z.number().int(),
      at: z.string(),
      files: z.number().int(),
      bytes: z.number(),
      not_covered: z.array(z.string()),
    })
    .nullable(),
  take_over: takeOverSchema,
});

export const runStatus = defineTool({
  name: "run_status",
  title: "Show a run",
  description:
    "Show one run now: state, iteration, steps, plan, last events, and when stopped the cause in one line, the question asked, what is needed and the next call. Reads only, answers at once. Use for a look or after a lost connection. To wait use run_wait instead of calling this repeatedly; for the full account of a stop with choices use run_explain_stop.",
  effect: "read",
  idempotent: true,
  openWorld: false,
  input: z.strictObject({ run_id: runIdArgument }),
  output: statusOutput,
  handle: async ({ run_id }, { ctx }) => {
    const run = await findRun(ctx, run_id);
    const [shared, events, verify, attempts, checkpoints, put_away] = await Promise.all([
      common(ctx, run),
      ctx.store.events(run.run_id, { types: TOLD_EVENT_TYPES, limit: 10 }),
      ctx.store.lastVerify(run.run_id),
      ctx.store.attempts(run.run_id),
      ctx.store.checkpoints(run.run_id, 1),
      putAwayLines(ctx.store, run),
    ]);
    return {
      ...shared,
      last_events: events.map(eventLine),
      plan: run.plan.slice(0, 20).map((entry) => ({ content: oneLine(entry.content, 160), status: entry.status })),
      verify: verify
        .slice(0, 10)
        .map((result) => ({ ...result, command: oneLine(result.command, 160), tail: result.tail.slice(-300) })),
      context: attempts.at(-1)?.context ?? null,
      warnings: ctx.store.copies.refused === null ? [] : [ctx.store.copies.refused],
      put_away,
      checkpoint: checkpointView(checkpoints[0]),
      take_over: await takeOver(ctx, run),
    };
  },
  render: (answer) =>
    renderAnswer(answer, [
      section(
        "Plan (the agent's own)",
        answer.plan.map((entry) => `[${entry.status}] ${entry.content}`),
      ),
      section(
        "Checks",
        answer.verify.map(
          (result) =>
            `${result.exit_code === 0 ? "passes" : `fails (exit ${result.exit_code ?? "none"})`}: ${result.command} (iteration ${result.iteration})`,
        ),
      ),
      section("Last events", answer.last_events),
      section("Warnings", answer.warnings),
      section("Put away", answer.put_away ?? []),
      answer.context === null ? null : `context of the present attempt: ${answer.context}`,
      answer.checkpoint === null
        ? null
        : section(
            `Newest checkpoint: ${answer.checkpoint.id} (${answer.checkpoint.kind}, iteration ${answer.checkpoint.iteration}), ${answer.checkpoint.files} files that differ from HEAD, ${answer.checkpoint.bytes} bytes`,
            answer.checkpoint.not_covered,
          ),
      answer.take_over === null
        ? null
        : section(
            `To take the work over (${answer.take_over.commits} commits, ${answer.take_over.uncommitted_files} uncommitted files on ${answer.take_over.branch ?? "a detached HEAD"})`,
            answer.take_over.commands,
          ),
    ]),
});

/** `files` and `bytes` are of what differs from HEAD: what a checkpoint holds beside the commit it stands on. */
function checkpointView(checkpoint: CheckpointRecord | undefined): z.output<typeof statusOutput>["checkpoint"] {
  if (checkpoint === undefined) return null;
  const { id, kind, iteration, at, files, bytes, skipped } = checkpoint;
  return { id, kind, iteration, at, files, bytes, not_covered: skipped.slice(0, 5).map(notCoveredLine) };
}

function eventLine(event: RunEventRecord): string {
  const facts = Object.entries(event.data)
    .filter(([name, value]) => name !== "mark" && (typeof value === "string" || typeof value === "number"))
    .map(([name, value]) => `${name}=${oneLine(String(value), 60)}`);
  return oneLine(`${event.at} ${event.type} ${facts.join(" ")}`, 220);
}

/** How a person gets a done run's work into their own branch. */
export async function takeOver(ctx: ToolContext, run: RunRecord): Promise<z.output<typeof takeOverSchema>> {
  if (run.state !== "done") return null;
  const acts = await ctx.store.acts(run.run_id, 500);
  const commits = acts.filter((act) => act.kind === "commit" && act.status === "landed").length;
  const left = run.stop?.uncommitted?.total_files ?? 0;
  const commands =
    run.workspace_kind === "in_place"
      ? left > 0
        ? [`git -C ${shellQuoted(run.workspace_path)} add -A && git -C ${shellQuoted(run.workspace_path)} commit`]
        : []
      : [
          ...(left > 0
            ? [
                `git -C ${shellQuoted(run.workspace_path)} add -A && git -C ${shellQuoted(run.workspace_path)} commit -m ${shellQuoted(oneLine(run.objective, 60))}`,
              ]
            : []),
          `git -C ${shellQuoted(run.repo_path)} merge ${shellQuoted(run.branch ?? "")}`,
        ];
  return { branch: run.branch, commits, uncommitted_files: left, commands };
}
