import { z } from "zod";
import { monotonicMs, sleep } from "../run/clock.ts";
import { isLive, type RunRecord } from "../run/run.ts";
import type { ToolContext } from "./context.ts";
import { defineTool } from "./define-tool.ts";
import { common, findRun } from "./present.ts";
import { commonShape, runIdArgument } from "./schemas.ts";
import { renderAnswer } from "./text.ts";

const POLL_MS = 250;
/** Clients drop a call that is silent for longer; the first sign goes out at once. */
const PROGRESS_MS = 8_000;
/** Newest iterations that are looked at: one that ended since is among them. */
const LOOK_BACK = 20;

export const runWait = defineTool({
  name: "run_wait",
  title: "Wait for a run",
  description:
    "Wait until a run has stopped or is done (default), ends an iteration, or changes after since_revision. Blocks up to timeout_s; timed_out: true is normal, call again with since_revision from the answer. Ending or cancelling the wait never stops the run. A run waiting for auto_resume counts as not stopped. Use instead of polling run_status.",
  effect: "read",
  idempotent: true,
  openWorld: false,
  input: z.strictObject({
    run_id: runIdArgument,
    until: z
      .enum(["stopped", "iteration", "change"])
      .optional()
      .describe(
        "stopped (default: stopped or done), iteration (one more has ended since since_revision), change (any new revision).",
      ),
    since_revision: z.number().int().min(0).optional().describe("The revision you know; default: the present one."),
    timeout_s: z.number().min(0).max(280).optional().describe("Seconds to wait at most, 0 to 280; default 45."),
  }),
  output: z.object({ ...commonShape, timed_out: z.boolean() }),
  handle: async (args, { ctx }) => {
    const first = await findRun(ctx, args.run_id);
    const since = args.since_revision ?? first.revision;
    const known = await iterationsKnown(ctx, first, since);
    const reached = (run: RunRecord): boolean => isReached(run, args.until ?? "stopped", since, known);
    const run = await waitFor(ctx, first, reached, (args.timeout_s ?? 45) * 1000);
    const timedOut = !reached(run);
    return { ...(await common(ctx, run)), timed_out: timedOut };
  },
  render: (answer) =>
    renderAnswer(answer, [
      answer.timed_out ? `timed_out: true - it goes on; call run_wait again with since_revision ${answer.run.revision}.` : null,
    ]),
});

/** How many iterations had ended for a caller who knows the run as of revision `since`. */
async function iterationsKnown(ctx: ToolContext, run: RunRecord, since: number): Promise<number> {
  if (since >= run.revision) return run.iteration;
  const iterations = await ctx.store.iterations(run.run_id, LOOK_BACK);
  const later = iterations.filter((iteration) => iteration.finished && (iteration.revision ?? 0) > since);
  return run.iteration - later.length;
}

function isReached(run: RunRecord, until: "stopped" | "iteration" | "change", since: number, known: number): boolean {
  const ended = !isLive(run.state) && run.waiting_until === null;
  switch (until) {
    case "stopped":
      return ended;
    case "iteration":
      return ended || run.iteration > known;
    case "change":
      return run.revision > since;
  }
}

async function waitFor(
  ctx: ToolContext,
  first: RunRecord,
  reached: (run: RunRecord) => boolean,
  timeoutMs: number,
): Promise<RunRecord> {
  const started = monotonicMs();
  let run = first;
  let told = Number.NEGATIVE_INFINITY;
  let count = 0;
  while (!reached(run) && monotonicMs() - started < timeoutMs && !ctx.caller.signal.aborted) {
    if (monotonicMs() - told >= PROGRESS_MS) {
      told = monotonicMs();
      count += 1;
      ctx.caller.progress({
        progress: count,
        message: `${run.state}: iteration ${run.iteration} of ${run.max_iterations} finished`,
      });
    }
    await sleep(Math.min(POLL_MS, Math.max(1, timeoutMs - (monotonicMs() - started))), ctx.caller.signal);
    run = (await ctx.store.run(first.run_id, ctx.owner)) ?? run;
  }
  return run;
}
