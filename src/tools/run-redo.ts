import { createHash } from "node:crypto";
import { z } from "zod";
import { redoConsequences } from "../resume/consequences.ts";
import { redoNeeds } from "../resume/gate.ts";
import { holding } from "../resume/hold-run.ts";
import { type EntryPoint, entryPoint, redoChange } from "../resume/redo.ts";
import { refusalOf, refusedWhen } from "../resume/refusals.ts";
import { applyRunRestore, type RunRestore } from "../resume/restore.ts";
import { stepsNow } from "../resume/rewind.ts";
import { wentBack } from "../resume/taken-back.ts";
import { withTotals } from "../run/budget.ts";
import { now } from "../run/clock.ts";
import { LoopkeeperError, refused } from "../run/errors.ts";
import { canonicalJson, newToken } from "../run/id.ts";

import { tool } from "../run/names.ts";
import type { Budget, RunRecord } from "../run/run.ts";
import { said } from "../run/said.ts";
import { NEEDS } from "../run/stop-reason.ts";

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
import { checkBudget, checkRevision, refuseIf } from "./guards.ts";
import { common, findRun, gateFacts } from "./present.ts";
import {
  budgetArgument,
  commonShape,
  expectedRevisionArgument,
  iterationsArgument,
  requestIdArgument,
  runIdArgument,
  wordsArgument,
} from "./schemas.ts";
import { renderAnswer } from "./text.ts";

const input = z.strictObject({
  run_id: runIdArgument,
  step: z.string().min(1).describe("The step to do again; a run without steps has one, main."),
  instructions: wordsArgument
    .optional()
    .describe("What to do differently; in the confirming call as in the preview, or left out there."),
  add_iterations: iterationsArgument.optional().describe("Iterations added to the ceiling, wanted when none are left."),
  budget: budgetArgument.optional().describe("New totals over the run's whole life, wanted when the budget is used up."),
  overwrite: overwriteArgument,
  confirm_token: confirmTokenArgument,
  request_id: requestIdArgument,
  expected_revision: expectedRevisionArgument,
});
type Args = z.output<typeof input>;

export const redoOutput = z.object({
  ...commonShape,
  ...previewShape,
  redone: z.object({ step: z.string(), attempt: z.number().int(), reopened_steps: z.array(z.string()) }).optional(),
  reset: restoredSchema.optional(),
});
type Answer = z.output<typeof redoOutput>;

export const runRedo = defineTool({
  name: "run_redo",
  title: "Do a step again",
  description: `Do a step of a stopped or done run again from its entry checkpoint: the step's files go back to where it began, it and every step that began after it run as new attempts, and the run goes on to its end. Only paths that this run changed; others' work is kept. Two calls: without confirm_token it changes nothing and names what happens, what it undoes and what cannot be undone; show this to the owner, then call again with the token. To go on without undoing use run_resume. ${refusedWhen("redo")}`,
  effect: "destructive",
  idempotent: false,
  openWorld: true,
  input,
  output: redoOutput,
  handle: async (args, call) => {
    const run = await findRun(call.ctx, args.run_id);
    refuseIf(refusalOf("redo", run));
    checkRevision(run, args.expected_revision);
    await checkAgent(call.ctx, run);
    return inTwoCalls(call.ctx, run, {
      action: "redo",
      token: args.confirm_token,
      previewed: wishArgsSchema,
      wishOf: (previewed) => wishOf(args, call.ctx, run, previewed),
      preview: (wish, before) => preview(call.ctx, run, wish, before),
      carryOut: (restore, wish) => carryOut(call, run, restore, wish),
    });
  },
  render: (answer) =>
    renderAnswer(answer, [
      ...previewLines(answer, "run_redo with the same step and"),
      answer.redone === undefined
        ? null
        : `step ${answer.redone.step} runs again as attempt ${answer.redone.attempt}; reopened: ${answer.redone.reopened_steps.join(", ")}`,
      ...(answer.reset === undefined ? [] : restoredLines(answer.reset)),
    ]),
});

interface Wish extends RestoreWish {
  readonly point: EntryPoint;
  readonly add_iterations: number;
  readonly budget: Budget | undefined;
  readonly instructions: string | null;
}

/** Longer instructions would make the token too long for an answer: it holds their hash, and they are given again. */
const TOKEN_INSTRUCTIONS = 1_000;

const wishArgsSchema = z.strictObject({
  step: z.string(),
  add_iterations: z.number(),
  budget: budgetArgument.optional(),
  overwrite: z.array(z.string()),
  instructions: z.strictObject({ sha256: z.string(), text: z.string().nullable() }).nullable(),
});
type Previewing = z.output<typeof wishArgsSchema>;

function held(text: string): NonNullable<Previewing["instructions"]> {
  const sha256 = createHash("sha256").update(text).digest("hex");
  return { sha256, text: text.length <= TOKEN_INSTRUCTIONS ? text : null };
}

/** The instructions of both calls: what the preview had may be left out in the second one, and may not become another. */
function instructionsIn(given: string | undefined, previewed: Previewing | null) {
  const before = previewed?.instructions ?? null;
  if (given !== undefined) return { text: given, token: previewed !== null && before === null ? null : held(given) };
  if (before !== null && before.text === null)
    throw new LoopkeeperError(
      "bad_input",
      "instructions: those of the preview are too long for its token. Give the same ones again with the confirming call.",
    );
  return { text: before?.text ?? null, token: before };
}

/** What the arguments ask for; what they leave out is as it was previewed. */
async function wishOf(args: Args, ctx: ToolContext, run: RunRecord, previewed: Previewing | null): Promise<Wish> {
  const facts = await gateFacts(ctx, run);
  const step = facts.steps.find((candidate) => candidate.step === args.step);
  if (step === undefined)
    throw new LoopkeeperError(
      "bad_input",
      `step: "${args.step}" is no step of run ${run.run_id}. Its steps: ${facts.steps.map((candidate) => candidate.step).join(", ")}.`,
    );
  const point = await entryPoint(ctx.store, { ...facts, attempts: await ctx.store.attempts(run.run_id) }, step);
  if (point === null)
    throw refused(
      "never_began",
      said`step ${step.step} was never begun, so there is nothing to do again. ${tool("run_resume")} carries the run on to it.`,
    );
  const more = args.add_iterations ?? previewed?.add_iterations ?? 0;
  if (more === 0 && redoNeeds(facts, step).includes("add_iterations"))
    throw refused(NEEDS.add_iterations.word, {
      ...said`no iterations are left for step ${step.step}: it needs ${NEEDS.add_iterations.name}.`,
      agent: `0 iterations are left for step ${step.step}: give \`add_iterations\`, or grant first with run_grant_iterations.`,
    });
  const budget = args.budget ?? previewed?.budget;
  checkBudget(run, budget);
  const overwrite = args.overwrite ?? previewed?.overwrite ?? [];
  const { text, token } = instructionsIn(args.instructions, previewed);
  const canonical = canonicalJson({
    step: step.step,
    add_iterations: more,
    ...(budget === undefined ? {} : { budget }),
    overwrite: [...overwrite].sort(),
    instructions: token,
  });
  return { action: "redo", to: point.entry, overwrite, args: canonical, point, add_iterations: more, budget, instructions: text };
}

async function preview(ctx: ToolContext, run: RunRecord, wish: Wish, before: Previewed | null): Promise<Answer> {
  const { plan, answer } = await previewRestore(ctx, run, wish, before, (restore) => redoConsequences(ctx, run, restore, wish));
  const conflicts = plan.conflicts.length;
  const summary = `Nothing was changed yet. Doing step ${wish.point.step.step} of run ${run.run_id} again would restore ${plan.restore.length} and remove ${plan.remove.length} files${conflicts === 0 ? "" : ` and leave ${conflicts} conflicts alone`}, and run ${1 + wish.point.began_after.length} steps again.`;
  return { ...(await common(ctx, run, { summary })), ...answer };
}

/** Takes the files back, then reopens the steps in one transaction; a worker carries the run on. */
async function carryOut(call: Call, run: RunRecord, restore: RunRestore, wish: Wish): Promise<Answer> {
  const { ctx, request } = call;
  const answer = await holding(ctx, run, async (lease) => {
    const at = now();
    const result = await applyRunRestore(ctx, run, restore, lease);
    const after = await captureAfter(ctx, run, restore, "redo");
    const reopened = [wish.point.step, ...wish.point.began_after, ...wish.point.dependents].map((step) => step.step);
    const own = {
      redone: { step: wish.point.step.step, attempt: wish.point.step.attempt + 1, reopened_steps: reopened },
      reset: restoredView(result),
    };
    const facts = { run, steps: await ctx.store.steps(run.run_id), attempts: await ctx.store.attempts(run.run_id) };
    const change = redoChange(facts, wish.point, {
      at,
      add_iterations: wish.add_iterations,
      instructions:
        wish.instructions === null
          ? []
          : [
              {
                id: newToken(),
                kind: "instructions",
                text: wish.instructions,
                at,
                delivered_at: null,
                delivered_iteration: null,
              },
            ],
      settings: {
        ...run.settings,
        budget: withTotals(run.settings.budget, wish.budget),
        config_path: ctx.settings.config_path,
        host: ctx.settings.host,
      },
      data: {
        safety_checkpoint: result.safety.id,
        restored: result.restored,
        removed: result.removed,
        kept: result.kept,
        left_behind: result.left_behind,
        went_back: wentBack(run, restore),
        steps_before: stepsNow(facts),
      },
    });
    if (change === null) throw new Error(`run ${run.run_id} cannot be taken up again from ${run.state}`);
    const changed = await ctx.store.apply({
      ...change,
      run: { ...change.run, ...(run.stop === null ? {} : { stop: { ...run.stop, uncommitted: after.uncommitted } }) },
      run_id: run.run_id,
      at,
      fence: lease.fence,
      checkpoints: [after.record],
      ...(request === null ? {} : { request: request.record(run.run_id, own) }),
    });
    const summary = `Step ${own.redone.step} of run ${run.run_id} runs again as attempt ${own.redone.attempt}: ${result.restored.length} files restored, ${result.removed.length} removed, ${result.kept.length} kept as others left them.${asides(result)}`;
    return { ...(await common(ctx, changed, { summary })), ...own };
  });
  await ctx.wakeWorker();
  return answer;
}
