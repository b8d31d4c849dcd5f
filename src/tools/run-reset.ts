import { z } from "zod";
import { resetConsequences } from "../resume/consequences.ts";
import { resetToStartRefusal, startCheckpoint } from "../resume/gate.ts";
import { holding } from "../resume/hold-run.ts";
import { refusalOf } from "../resume/refusals.ts";
import { applyRunRestore, type RunRestore } from "../resume/restore.ts";
import { rewind } from "../resume/rewind.ts";
import { wentBack } from "../resume/taken-back.ts";
import { now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { canonicalJson, newRunId } from "../run/id.ts";
import { argument, tool } from "../run/names.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import { said } from "../run/said.ts";
import { checkAgent } from "./agent-there.ts";
import {
  asides,
  captureAfter,
  confirmTokenArgument,
  inTwoCalls,
  overwriteArgument,
  type Previewed,
  previewLines,
  previewRestore,
  previewShape,
  type RestoreWish,
  restoredLines,
  restoredSchema,
  restoredView,
} from "./confirmed-restore.ts";
import type { Call, ToolContext } from "./context.ts";
import { defineTool } from "./define-tool.ts";
import { checkRevision, refuseIf } from "./guards.ts";
import { common, findRun } from "./present.ts";
import { restartedRun } from "./restart-run.ts";
import { commonShape, expectedRevisionArgument, requestIdArgument, runIdArgument } from "./schemas.ts";
import { renderAnswer } from "./text.ts";

const input = z.strictObject({
  run_id: runIdArgument,
  to: z
    .string()
    .min(1)
    .optional()
    .describe("Checkpoint to go back to; default: the run's first entry checkpoint, its very start."),
  restart: z.boolean().optional().describe("After a reset to the start: start a new run with the same settings; default false."),
  overwrite: overwriteArgument,
  confirm_token: confirmTokenArgument,
  request_id: requestIdArgument,
  expected_revision: expectedRevisionArgument,
});
type Args = z.output<typeof input>;

export const resetOutput = z.object({
  ...commonShape,
  ...previewShape,
  reset: restoredSchema.optional(),
  restarted_run_id: z.string().nullable().optional(),
});
type Answer = z.output<typeof resetOutput>;

export const runReset = defineTool({
  name: "run_reset",
  title: "Reset a run's work",
  description:
    "Undo a run's work: its files and its branch go back to a checkpoint, by default its very first. Only paths that this run changed; others' work is kept. Two calls: without confirm_token it changes nothing and names the run, what happens and what cannot be undone; show this to the owner, then call again with the token. Pushes, pull requests and merges stay. After a reset to the start the run cannot be resumed; restart: true starts it anew. To continue use run_resume.",
  effect: "destructive",
  idempotent: true,
  openWorld: false,
  input,
  output: resetOutput,
  handle: async (args, call) => {
    const run = await findRun(call.ctx, args.run_id);
    refuseIf(refusalOf("reset", run));
    checkRevision(run, args.expected_revision);
    return inTwoCalls(call.ctx, run, {
      action: "reset",
      token: args.confirm_token,
      previewed: wishArgsSchema,
      wishOf: (previewed) => wishOf(args, call.ctx, run, previewed),
      preview: (wish, before) => preview(call.ctx, run, wish, before),
      carryOut: (restore, wish) => carryOut(call, run, restore, wish),
    });
  },
  render: (answer) =>
    renderAnswer(answer, [
      ...previewLines(answer, "run_reset"),
      ...(answer.reset === undefined ? [] : restoredLines(answer.reset)),
      answer.restarted_run_id == null ? null : `restarted as: ${answer.restarted_run_id}`,
    ]),
});

interface Wish extends RestoreWish {
  readonly to_start: boolean;
  readonly restart: boolean;
}

const wishArgsSchema = z.strictObject({ to: z.string(), restart: z.boolean(), overwrite: z.array(z.string()) });

/** What the arguments ask for; what they leave out is as it was previewed. */
async function wishOf(
  args: Args,
  ctx: ToolContext,
  run: RunRecord,
  previewed: z.output<typeof wishArgsSchema> | null,
): Promise<Wish> {
  const attempts = await ctx.store.attempts(run.run_id);
  const start = startCheckpoint(attempts);
  const id = args.to ?? previewed?.to ?? start;
  if (id === null || id === start) refuseIf(resetToStartRefusal({ run, attempts }));
  if (id === null) throw new Error(`run ${run.run_id} has no start to go back to`);
  const to = await ctx.store.checkpoint(run.run_id, id);
  if (to === null)
    throw new LoopkeeperError(
      "bad_input",
      said`${argument("to", "the checkpoint")}: "${id}" is no checkpoint of run ${run.run_id}. ${tool("run_explain_stop")} lists them under checkpoints.`,
    );
  const restart = args.restart ?? previewed?.restart ?? false;
  if (restart && id !== start) throw new LoopkeeperError("bad_input", "restart goes with a reset to the start; leave `to` out.");
  if (restart) await checkAgent(ctx, run);
  const overwrite = args.overwrite ?? previewed?.overwrite ?? [];
  const canonical = canonicalJson({ to: to.id, restart, overwrite: [...overwrite].sort() });
  return { action: "reset", to, to_start: id === start, restart, overwrite, args: canonical };
}

async function preview(ctx: ToolContext, run: RunRecord, wish: Wish, before: Previewed | null): Promise<Answer> {
  const { plan, answer } = await previewRestore(ctx, run, wish, before, (restore) => resetConsequences(ctx, run, restore, wish));
  const conflicts = plan.conflicts.length;
  const summary = `Nothing was changed yet. Resetting run ${run.run_id} would restore ${plan.restore.length} and remove ${plan.remove.length} files${conflicts === 0 ? "" : ` and leave ${conflicts} conflicts alone`}.`;
  return { ...(await common(ctx, run, { summary })), ...answer };
}

/** Takes the files back, then records all of it in one transaction. */
async function carryOut(call: Call, run: RunRecord, restore: RunRestore, wish: Wish): Promise<Answer> {
  const { ctx, request } = call;
  return holding(ctx, run, async (lease) => {
    const at = now();
    const result = await applyRunRestore(ctx, run, restore, lease);
    const after = await captureAfter(ctx, run, restore, "reset");
    const restarted = wish.restart ? newRunId() : null;
    const own = { reset: restoredView(result), restarted_run_id: restarted };
    const attempts = await ctx.store.attempts(run.run_id);
    const restored = await markAt(ctx, run, wish.to);
    const steps = wish.to_start
      ? null
      : await rewind(ctx.store, { run, steps: await ctx.store.steps(run.run_id), attempts }, wish.to);
    const changed = await ctx.store.apply({
      run_id: run.run_id,
      at,
      fence: lease.fence,
      expected_revision: run.revision,
      bump_revision: true,
      run: {
        was_reset: wasReset(run, wish, result.safety.id, restored),
        waiting_until: null,
        ...(run.stop === null ? {} : { stop: { ...run.stop, uncommitted: after.uncommitted } }),
      },
      // The conversation knows files that are gone now: a rewound run goes on by hand-off.
      attempts: attempts.map((attempt) => ({
        step: attempt.step,
        attempt: attempt.attempt,
        engine_session: null,
        ...steps?.attempts.find((one) => one.step === attempt.step && one.attempt === attempt.attempt),
      })),
      ...(steps === null ? {} : { steps: steps.steps }),
      checkpoints: [after.record],
      events: [
        {
          type: "run_reset",
          at,
          data: {
            to: wish.to.id,
            to_start: wish.to_start,
            safety_checkpoint: result.safety.id,
            restored: result.restored,
            removed: result.removed,
            kept: result.kept,
            left_behind: result.left_behind,
            went_back: wentBack(run, restore),
            restarted_run_id: restarted,
            was_reset: run.was_reset,
            ...(steps === null ? {} : { steps_before: steps.before }),
          },
        },
      ],
      tree_hold: null,
      ...(restarted === null ? {} : { new_run: await restartedRun(ctx, run, restarted) }),
      ...(request === null ? {} : { request: request.record(run.run_id, own) }),
    });
    if (restarted !== null) await ctx.wakeWorker();
    const anew = restarted === null ? "" : ` It was started anew as ${restarted}.`;
    const summary = `Run ${run.run_id} was reset: ${result.restored.length} files restored, ${result.removed.length} removed, ${result.kept.length} kept as others left them.${asides(result)}${anew}`;
    return { ...(await common(ctx, changed, { summary })), ...own };
  });
}

/** At its start a run has nothing to go on with; going back to a checkpoint of a reset brings back what it was then. */
function wasReset(run: RunRecord, wish: Wish, safetyId: string, then: string | null | undefined): string | null {
  if (wish.to_start) return run.was_reset ?? safetyId;
  return then === undefined ? null : then;
}

const markSchema = z.looseObject({ safety_checkpoint: z.string(), was_reset: z.string().nullable().default(null) });

/** The mark that the run had when a safety checkpoint was taken; undefined for any other checkpoint. */
async function markAt(ctx: ToolContext, run: RunRecord, to: CheckpointRecord): Promise<string | null | undefined> {
  if (to.kind !== "reset") return undefined;
  const events = await ctx.store.events(run.run_id, { types: ["run_reset"], limit: 10_000 });
  for (const event of events) {
    const mark = markSchema.safeParse(event.data);
    if (mark.success && mark.data.safety_checkpoint === to.id) return mark.data.was_reset;
  }
  // A checkpoint of how a reset left things, or of one that was broken off: nothing is known to be wrong with the mark.
  return run.was_reset;
}
