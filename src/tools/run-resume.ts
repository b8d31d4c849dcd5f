import { z } from "zod";
import { beforeReset, defaultFrom, type GateFacts, resumeNeeds } from "../resume/gate.ts";
import { refusedWhen } from "../resume/refusals.ts";
import { epochMs, isoOf, monotonicMs, msOf, now, sleep } from "../run/clock.ts";
import { LoopkeeperError, refused } from "../run/errors.ts";
import { argument, setting } from "../run/names.ts";
import { type AttemptRecord, isLive, type RunRecord } from "../run/run.ts";
import { type Said, said, toCallers } from "../run/said.ts";
import { NEEDS } from "../run/stop-reason.ts";
import { checkAgent } from "./agent-there.ts";
import type { Call, ToolContext } from "./context.ts";
import { defineTool } from "./define-tool.ts";
import { checkBudget, checkRevision } from "./guards.ts";
import { common, cutText, findRun, gateFacts } from "./present.ts";
import { refuseResume } from "./refuse-resume.ts";
import { type ResumeArgs, resumeInput } from "./resume-arguments.ts";
import { type Prepared, prepareResume } from "./resume-prepare.ts";
import { instructionsOf, reopen, settingsWith } from "./resume-reopen.ts";
import { commonOrDryShape } from "./schemas.ts";
import { renderAnswer, section } from "./text.ts";

const ENGINE_WAIT_MS = 20_000;
const POLL_MS = 200;

const restoreSchema = z
  .object({
    restored: z.array(z.string()),
    removed: z.array(z.string()),
    kept: z.array(z.string()),
    safety_checkpoint: z.string(),
  })
  .nullable();

export const resumeOutput = z.object({
  ...commonOrDryShape,
  resumed: z
    .object({
      attempt: z.number().int(),
      from: z.enum(["stop", "entry"]),
      context: z.enum(["native", "handoff", "pending"]),
      why_handoff: z.string().nullable(),
      note: z.string(),
      restore: restoreSchema,
    })
    .nullable()
    .optional(),
  scheduled_for: z.string().nullable().optional(),
  would: z
    .object({
      from: z.enum(["stop", "entry"]),
      context: z.string(),
      note: z.string(),
      drift: z.record(z.string(), z.unknown()),
      restore: z
        .object({ restored: z.array(z.string()), removed: z.array(z.string()), conflicts: z.array(z.string()) })
        .nullable(),
    })
    .optional(),
});
type Answer = z.output<typeof resumeOutput>;

export const runResume = defineTool({
  name: "run_resume",
  title: "Resume a stopped run",
  description: `Continue a stopped run with its own context and files. Give what stop.needs lists: instructions (your orders or answer), permission, add_iterations (added, not a total), a higher budget; updates are facts such as ticket text. from: stop keeps the work; from: entry takes the step back to its start (default after failed). Before resets_at say at: reset or at: now. A lost reply does not undo it: repeat with the same request_id, or look at run_status. ${refusedWhen("resume")}`,
  effect: "write",
  idempotent: false,
  openWorld: true,
  input: resumeInput,
  output: resumeOutput,
  handle: (args, call) => resume(args, call),
  render: (answer) =>
    renderAnswer(answer, [
      answer.scheduled_for == null ? null : `scheduled for: ${answer.scheduled_for}`,
      answer.resumed == null
        ? null
        : `attempt ${answer.resumed.attempt} from ${answer.resumed.from}; context: ${answer.resumed.context}${answer.resumed.why_handoff === null ? "" : ` (${answer.resumed.why_handoff})`}`,
      answer.resumed?.restore == null
        ? null
        : section(`Restored (undo: run_reset to ${answer.resumed.restore.safety_checkpoint})`, [
            ...answer.resumed.restore.restored,
            ...answer.resumed.restore.removed.map((path) => `${path} removed`),
          ]),
      answer.resumed == null ? null : `Note that the agent gets:\n${answer.resumed.note}`,
      answer.would === undefined ? null : `would: ${JSON.stringify(answer.would)}`,
    ]),
});

async function resume(args: ResumeArgs, call: Call): Promise<Answer> {
  const { ctx } = call;
  const run = await findRun(ctx, args.run_id);
  await refuseResume(ctx, run);
  checkRevision(run, args.expected_revision);
  const facts = await gateFacts(ctx, run);
  const from = args.from ?? defaultFrom(facts);
  checkNeeds(args, facts, from);
  await checkAgent(ctx, run);
  const waitUntil = scheduledFor(args, run);
  if (waitUntil !== null && args.dry_run !== true) return schedule(args, call, facts, waitUntil);
  const prepared = await prepareResume(ctx, facts, args, from);
  if (args.dry_run === true) return wouldResume(run, prepared, from);
  const resumed = await reopen(args, call, facts, prepared, from);
  await ctx.wakeWorker();
  return waitForEngine(call, resumed, prepared, from, args.request_id);
}

function checkNeeds(args: ResumeArgs, facts: GateFacts, from: "stop" | "entry"): void {
  for (const need of resumeNeeds(facts, from)) {
    if (args[need] === undefined) {
      const { word, missing } = NEEDS[need];
      throw refused(word, said`${stoppedAs(facts.run)}${missing}.`);
    }
  }
  checkBudget(facts.run, args.budget);
  if (args.permission !== undefined && facts.run.stop?.question?.kind !== "permission") {
    throw new LoopkeeperError(
      "bad_input",
      said`${argument("permission", "permission")}: the run asked for none; leave it out, or give instructions.`,
    );
  }
}

/** A page shows beside it which run it is, and why it stopped. */
function stoppedAs({ run_id, stop_reason }: RunRecord): Said {
  return { agent: `run ${run_id} stopped as ${stop_reason ?? "unknown"}; `, page: "", shell: `run ${run_id} stopped; ` };
}

function scheduledFor(args: ResumeArgs, run: RunRecord): string | null {
  if (beforeReset(run, epochMs()) && args.at === undefined) {
    throw refused(
      "before_reset",
      said`the engine's usage window resets at ${run.stop?.resets_at ?? "an unknown time"}. ${toCallers(said`Call again with`, "Choose")} ${setting("at", "reset")} to wait for it, or ${setting("at", "now")} to try at once.`,
    );
  }
  if (args.at !== "reset") return null;
  if (run.stop?.resets_at == null)
    throw new LoopkeeperError(
      "bad_input",
      said`${setting("at", "reset")} needs a known reset time, and this stop has none. Use ${setting("at", "now")} or leave it out.`,
    );
  // A window is not always open at the very second that was announced.
  return beforeReset(run, epochMs()) ? isoOf(msOf(run.stop.resets_at) + 30_000) : null;
}

async function schedule(args: ResumeArgs, call: Call, facts: GateFacts, until: string): Promise<Answer> {
  const { ctx, request } = call;
  const { run } = facts;
  const at = now();
  const own = { resumed: null, scheduled_for: until };
  const changed = await ctx.store.apply({
    run_id: run.run_id,
    at,
    expected_revision: run.revision,
    bump_revision: true,
    run: {
      waiting_until: until,
      settings: settingsWith(args, run, ctx),
      ...(args.model === undefined ? {} : { model: args.model }),
    },
    ...(args.add_iterations === undefined ? {} : { grants: [{ iterations: args.add_iterations, at }] }),
    new_instructions: instructionsOf(args, run, at),
    events: [
      { type: "run_scheduled", at, data: { until, by: "owner" } },
      ...(args.add_iterations === undefined
        ? []
        : [{ type: "iterations_granted", at, data: { iterations: args.add_iterations } } as const]),
    ],
    ...(request === null ? {} : { request: request.record(run.run_id, own) }),
  });
  await ctx.wakeWorker();
  return { ...(await common(ctx, changed)), ...own };
}

function wouldResume(run: RunRecord, prepared: Prepared, from: "stop" | "entry"): Answer {
  return {
    summary: `Nothing was changed. Run ${run.run_id} would go on from ${from === "stop" ? "where it stopped" : "its step's start"}.`,
    would: {
      from,
      context: from === "stop" && prepared.session !== null ? "native" : "handoff",
      note: cutText(prepared.note, 2_500),
      drift: { ...prepared.drift },
      restore:
        prepared.restore === null
          ? null
          : {
              restored: [...prepared.restore.plan.restore],
              removed: [...prepared.restore.plan.remove],
              conflicts: [...prepared.restore.plan.conflicts],
            },
    },
  };
}

/** Waits until the engine is up, so that the answer can say what context it has; not longer than a client waits. */
async function waitForEngine(
  call: Call,
  resumed: { readonly run: RunRecord; readonly own: Record<string, unknown> },
  prepared: Prepared,
  from: "stop" | "entry",
  requestId: string | undefined,
): Promise<Answer> {
  const { ctx } = call;
  const started = monotonicMs();
  let run = resumed.run;
  let attempt = await openedAttempt(ctx, run, prepared);
  while (
    monotonicMs() - started < ENGINE_WAIT_MS &&
    !ctx.caller.signal.aborted &&
    isLive(run.state) &&
    (attempt === null || attempt.context === "pending")
  ) {
    await sleep(POLL_MS, ctx.caller.signal);
    run = await findRun(ctx, run.run_id);
    attempt = await openedAttempt(ctx, run, prepared);
  }
  const context =
    attempt?.context === "native"
      ? "native"
      : attempt?.context === "handoff" || attempt?.context === "new"
        ? "handoff"
        : "pending";
  const own = {
    resumed: {
      attempt: attempt?.attempt ?? prepared.attempt,
      from,
      context,
      why_handoff: attempt?.why_handoff ?? (attempt?.context === "new" ? "the step had no engine session yet" : null),
      note: cutText(attempt?.note ?? prepared.note, 2_500),
      restore: restoreOf(resumed.own),
    },
    scheduled_for: null,
  } as const;
  if (requestId !== undefined) await ctx.store.updateRequestAnswer(ctx.owner, requestId, JSON.stringify(own));
  return { ...(await common(ctx, run)), ...own };
}

function restoreOf(own: Record<string, unknown>): z.output<typeof restoreSchema> {
  const parsed = z.object({ resumed: z.object({ restore: restoreSchema }) }).safeParse(own);
  return parsed.success ? parsed.data.resumed.restore : null;
}

async function openedAttempt(ctx: ToolContext, run: RunRecord, prepared: Prepared): Promise<AttemptRecord | null> {
  const attempts = await ctx.store.attempts(run.run_id);
  return attempts.find((attempt) => attempt.step === prepared.step && attempt.attempt === prepared.attempt) ?? null;
}
