import { z } from "zod";
import { refusalOf, refusedWhen } from "../resume/refusals.ts";
import { now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { newToken } from "../run/id.ts";
import { tool } from "../run/names.ts";
import { isLive, type RunRecord } from "../run/run.ts";
import { said } from "../run/said.ts";
import type { Call } from "./context.ts";
import { defineTool } from "./define-tool.ts";
import { checkRevision, refuseIf } from "./guards.ts";
import { common, findRun } from "./present.ts";
import { commonShape, expectedRevisionArgument, requestIdArgument, runIdArgument, wordsArgument } from "./schemas.ts";
import { renderAnswer } from "./text.ts";

const input = z.strictObject({
  run_id: runIdArgument,
  instructions: wordsArgument.describe("Your orders; the agent gets them at the beginning of its next iteration."),
  request_id: requestIdArgument,
  expected_revision: expectedRevisionArgument,
});
type Args = z.output<typeof input>;

const output = z.object({ ...commonShape, delivered: z.boolean(), waiting: z.number().int() });
type Answer = z.output<typeof output>;

export const runInstruct = defineTool({
  name: "run_instruct",
  title: "Leave instructions for a run",
  description: `Leave instructions for a run, delivered exactly once at its next iteration. Does not start, wake or resume anything: on a stopped run they wait until run_resume, and count as its instructions. Use to steer a running run without stopping it. For a stopped run, call run_resume with instructions instead, which does both. ${refusedWhen("instruct")}`,
  effect: "write",
  idempotent: false,
  openWorld: false,
  input,
  output,
  handle: instruct,
  render: (answer) =>
    renderAnswer(answer, [`delivered: ${answer.delivered}; instructions that wait for the next iteration: ${answer.waiting}`]),
});

/** A run that moves between the look and the write is looked at again, unless the caller named a revision. */
const TRIES = 10;

async function instruct(args: Args, call: Call): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const run = await findRun(call.ctx, args.run_id);
    checkRevision(run, args.expected_revision);
    refuseIf(refusalOf("instruct", run));
    try {
      return await store(args, call, run);
    } catch (error) {
      const moved = error instanceof LoopkeeperError && error.code === "revision_conflict";
      if (!moved || args.expected_revision !== undefined || attempt === TRIES) throw error;
    }
  }
}

async function store(args: Args, { ctx, request }: Call, run: RunRecord): Promise<Answer> {
  const at = now();
  const id = newToken();
  const waiting = (await ctx.store.instructions(run.run_id, "undelivered")).length + 1;
  const own = { delivered: false, waiting };
  const changed = await ctx.store.apply({
    run_id: run.run_id,
    at,
    expected_revision: run.revision,
    bump_revision: true,
    new_instructions: [{ id, kind: "instructions", text: args.instructions, at, delivered_at: null, delivered_iteration: null }],
    events: [{ type: "instructions_given", at, data: { ids: [id], characters: args.instructions.length } }],
    ...(request === null ? {} : { request: request.record(run.run_id, own) }),
  });
  const summary = isLive(run.state)
    ? said`The instructions are stored for run ${run.run_id} and go into the prompt of its next iteration. Not delivered yet.`
    : said`The instructions are stored for run ${run.run_id}, which is stopped: they wait until ${tool("run_resume")} continues it, and count as its instructions. Nothing was started.`;
  return { ...(await common(ctx, changed, { summary: summary[ctx.caller.audience] })), ...own };
}
