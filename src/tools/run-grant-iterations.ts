import { z } from "zod";
import type { GateFacts } from "../resume/gate.ts";
import { refusalOf } from "../resume/refusals.ts";
import { reopenChange, shareAfterGrant } from "../resume/reopen.ts";
import { spentBudget } from "../run/budget.ts";
import { now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { iterationsLeft } from "../run/grant.ts";
import { tool } from "../run/names.ts";
import { isLive, type RunRecord } from "../run/run.ts";
import { type Said, said } from "../run/said.ts";
import { NEEDS } from "../run/stop-reason.ts";
import type { RunChange } from "../store/store.ts";
import { checkAgent } from "./agent-there.ts";
import type { Call, ToolContext } from "./context.ts";
import { defineTool } from "./define-tool.ts";
import { checkRevision, onceSettled, refuseIf } from "./guards.ts";
import { common, findRun, gateFacts } from "./present.ts";
import { type Prepared, prepareResume } from "./resume-prepare.ts";
import { commonShape, expectedRevisionArgument, iterationsArgument, requestIdArgument, runIdArgument } from "./schemas.ts";
import { renderAnswer } from "./text.ts";

const input = z.strictObject({
  run_id: runIdArgument,
  iterations: iterationsArgument.describe("Iterations to add, 1 to 200; added to the ceiling, not a new total."),
  continue: z.boolean().optional().describe("Go on at once when max_iterations stopped it; default true."),
  request_id: requestIdArgument,
  expected_revision: expectedRevisionArgument,
});

const output = z.object({
  ...commonShape,
  granted: z.object({ iterations: z.number().int(), max_iterations: z.number().int() }),
  continued: z.boolean(),
  not_continued_because: z.string().nullable(),
});

export const runGrantIterations = defineTool({
  name: "run_grant_iterations",
  title: "Grant iterations",
  description:
    "Add iterations to a run's ceiling (added to it, not a new total), live or stopped. A run stopped by max_iterations goes on at once as it was, unless continue: false. On a run stopped for another reason only the ceiling grows: continued is false and next_actions names the call that continues it. To add instructions too, use run_resume with add_iterations, not both. Send a request_id so that a retry cannot grant twice.",
  effect: "write",
  idempotent: false,
  openWorld: true,
  input,
  output,
  handle: (args, call) => grant(args, call),
  render: (answer) =>
    renderAnswer(
      answer,
      [`granted: +${answer.granted.iterations}, the ceiling is now ${answer.granted.max_iterations}`],
      answer.not_continued_because === null ? null : `NOT continued: ${answer.not_continued_because}`,
    ),
});

function grant(args: z.output<typeof input>, call: Call): Promise<z.output<typeof output>> {
  const { ctx } = call;
  return onceSettled(args.expected_revision, async () => {
    const run = await findRun(ctx, args.run_id);
    refuseIf(refusalOf("grant", run));
    checkRevision(run, args.expected_revision);
    return grantOnce(args, call, await gateFacts(ctx, run));
  });
}

async function grantOnce(args: z.output<typeof input>, call: Call, facts: GateFacts): Promise<z.output<typeof output>> {
  const { ctx, request } = call;
  const { run } = facts;
  const at = now();
  const { because, prepared } = isLive(run.state) ? { because: null, prepared: null } : await continuation(args, ctx, facts);
  const goesOn = !isLive(run.state) && because === null;
  const attempts = goesOn ? await ctx.store.attempts(run.run_id) : [];
  const change: Omit<RunChange, "run_id" | "at"> | null = goesOn
    ? reopenChange(
        { run, steps: facts.steps, attempts },
        {
          at,
          from: "stop",
          by: "grant",
          add_iterations: args.iterations,
          instructions: [],
          settings: { ...run.settings, config_path: ctx.settings.config_path, host: ctx.settings.host },
          model: run.model,
          verify: null,
          also: [],
          without_files: prepared?.without_files ?? null,
          data: {},
        },
      )
    : widen(args, facts, at);
  if (change === null) throw new Error(`run ${run.run_id} cannot go on from ${run.state}`);
  const own = {
    granted: { iterations: args.iterations, max_iterations: run.max_iterations + args.iterations },
    continued: because === null,
    not_continued_because: because?.[ctx.caller.audience] ?? null,
  };
  if (prepared !== null && prepared.restore !== null) await prepared.apply({});
  const changed = await ctx.store.apply({
    ...change,
    ...(prepared?.place == null ? {} : { run: { ...change.run, ...prepared.place }, tree_hold: prepared.place.workspace_path }),
    ...(prepared === null || prepared.brought.length === 0 ? {} : { checkpoints: prepared.brought }),
    run_id: run.run_id,
    at,
    ...(request === null ? {} : { request: request.record(run.run_id, own) }),
  });
  if (goesOn) await ctx.wakeWorker();
  const says = `${args.iterations} iterations were granted to run ${run.run_id}: ${iterationsLeft(changed)} of ${changed.max_iterations} are left.${goesOn ? " It goes on as it was." : isLive(run.state) ? " It is live and goes on." : ""}`;
  return {
    ...(await common(ctx, changed, {
      summary: because === null ? says : `NOT continued: ${because[ctx.caller.audience]}. ${says}`,
    })),
    ...own,
  };
}

/** What keeps a run from going on and no grant from being counted. */
const HINDRANCES: readonly LoopkeeperError["code"][] = [
  "not_allowed",
  "repository_problem",
  "agent_unknown",
  "agent_unavailable",
];

interface Continuation {
  /** Why it does not go on; null when it does. */
  readonly because: Said | null;
  readonly prepared: Prepared | null;
}

/** Only a run that was stopped by the ceiling goes on by a grant alone, and only where a resume without arguments would. */
async function continuation(args: z.output<typeof input>, ctx: ToolContext, facts: GateFacts): Promise<Continuation> {
  const because = whyNotContinued(args, facts.run);
  if (because !== null) return { because, prepared: null };
  try {
    await checkAgent(ctx, facts.run);
    return { because: null, prepared: await prepareResume(ctx, facts, {}, "stop") };
  } catch (error) {
    if (!(error instanceof LoopkeeperError) || !HINDRANCES.includes(error.code)) throw error;
    if (error.code.startsWith("agent_")) return { because: error.said, prepared: null };
    return { because: said`${error.said}${TAKES_MORE}`, prepared: null };
  }
}

const TAKES_MORE: Said = {
  agent: " run_resume takes on_drift and repo",
  page: " Resume asks what to do then",
  shell: " `loopkeeper resume` takes `--on-drift` and `--repo`",
};

function whyNotContinued(args: z.output<typeof input>, run: RunRecord): Said | null {
  if (args.continue === false)
    return said`${{ agent: "continue was false", page: "you did not want it to", shell: "`--no-continue` was given" }}; ${tool("run_resume")} continues it`;
  if (run.stop_reason !== "max_iterations")
    return said`it stopped${{ agent: ` as ${run.stop_reason ?? "unknown"}, not`, page: " not", shell: " not" }} for lack of iterations; ${tool("run_resume")} continues it`;
  const refusal = refusalOf("resume", run);
  if (refusal !== null) return { ...refusal.message, agent: `${refusal.word}: ${refusal.message.agent}` };
  const spent = spentBudget(run.settings.budget, run.usage);
  if (spent === null) return null;
  const why = said`its budget is used up (${spent}); ${tool("run_resume")} takes a higher one`;
  return { ...why, agent: `${NEEDS.budget.word}: ${why.agent}` };
}

function widen(args: z.output<typeof input>, facts: GateFacts, at: string): Omit<RunChange, "run_id" | "at"> {
  const { run } = facts;
  const shares = facts.steps.filter((step) => shareAfterGrant(step, args.iterations) !== step.max_iterations);
  return {
    expected_revision: run.revision,
    bump_revision: true,
    grants: [{ iterations: args.iterations, at }],
    steps: shares.map((step) => ({ step: step.step, max_iterations: shareAfterGrant(step, args.iterations) })),
    events: [{ type: "iterations_granted", at, data: { iterations: args.iterations } }],
  };
}
