import { z } from "zod";
import { choices, type Look } from "../resume/choices.ts";
import { explain, loadStop } from "../resume/explain.ts";
import { putAwayLines } from "../resume/put-away-lines.ts";
import { refusalOf } from "../resume/refusals.ts";
import { quoted, shownName } from "../resume/shown.ts";
import { epochMs } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { tool } from "../run/names.ts";
import { CHECKPOINT_KINDS, RESET_CONFIDENCES, type RunRecord, STOP_SOURCES } from "../run/run.ts";
import { said } from "../run/said.ts";
import type { ToolContext } from "./context.ts";
import { defineTool } from "./define-tool.ts";
import { defineView } from "./define-view.ts";
import { refuseIf } from "./guards.ts";
import { hostView } from "./host-view.ts";
import { common, findRun } from "./present.ts";
import { entryConflicts } from "./resume-prepare.ts";
import { choiceSchema, commonShape, runIdArgument, stopReasonSchema, verifySchema } from "./schemas.ts";
import { renderAnswer, section } from "./text.ts";

const item = z.object({ what: z.string(), source: z.enum(["observed", "reported"]) });
const act = z.object({
  kind: z.string(),
  what: z.string(),
  ref: z.string().nullable(),
  iteration: z.number().int(),
  at: z.string(),
});

const explanationSchema = z.object({
  headline: z.string(),
  cause: z.object({
    stop_reason: stopReasonSchema,
    step: z.string().nullable(),
    iteration: z.number().int(),
    max_iterations: z.number().int(),
    resets_at: z.string().nullable(),
    reset_read: z.object({ from: z.string(), zone: z.string().nullable(), confidence: z.enum(RESET_CONFIDENCES) }).nullable(),
    source: z.enum(STOP_SOURCES),
    evidence: z.string(),
  }),
  completed: z.array(item),
  midway: z.array(item),
  intended: z.array(item),
  acts: z.object({ landed: z.array(act), unobserved: z.array(act) }),
  uncommitted: z.object({
    total_files: z.number().int(),
    added: z.number().int(),
    removed: z.number().int(),
    truncated: z.boolean(),
    checkpoint: z.string().nullable(),
    files: z.array(
      z.object({
        path: z.string(),
        status: z.string(),
        added: z.number().int().nullable(),
        removed: z.number().int().nullable(),
        binary: z.boolean(),
        owner: z.enum(["this_run", "other_run", "unattributed"]),
      }),
    ),
  }),
  verify: z.array(verifySchema),
  drift: z.object({
    head_moved: z.boolean().nullable(),
    branch_moved: z.boolean().nullable(),
    workspace_missing: z.boolean(),
    branch: z.object({
      local: z.object({ from: z.string().nullable(), to: z.string().nullable() }).nullable(),
      remote: z.object({ from: z.string().nullable(), to: z.string().nullable(), deleted: z.boolean() }).nullable(),
      remote_checked: z.boolean(),
      merged: z.object({ into: z.string(), sha: z.string(), how: z.string() }).nullable(),
    }),
    files_changed: z.array(z.string()),
    commits_by_others: z.array(z.object({ sha: z.string(), author: z.string(), subject: z.string() })),
    operation_in_progress: z.string().nullable(),
    notes: z.array(z.string()),
  }),
  undelivered_instructions: z.array(z.string()),
  spans: z.array(
    z.object({
      from_iteration: z.number().int(),
      to_iteration: z.number().int(),
      ended_by: stopReasonSchema,
      unfinished: z.boolean(),
    }),
  ),
  checkpoints: z.array(
    z.object({
      id: z.string(),
      kind: z.enum(CHECKPOINT_KINDS),
      iteration: z.number().int(),
      at: z.string(),
      files: z.number().int(),
      bytes: z.number(),
      state: z.enum(["present", "lost", "failed"]),
    }),
  ),
  grants: z.array(z.object({ at: z.string(), iterations: z.number().int() })),
  context: z.object({
    engine_session: z.enum(["available", "portable_copy", "lost"]),
    transcript_events: z.number().int(),
    gaps: z.array(z.string()),
  }),
});
export type Explanation = z.output<typeof explanationSchema>;

const accountSchema = z.object({ explanation: explanationSchema, choices: z.array(choiceSchema) });
export type Account = z.output<typeof accountSchema>;

export const explainOutput = z.object({
  ...commonShape,
  ...accountSchema.shape,
  /** Who archived or freed it, and what keeps it from being freed. */
  put_away: z.array(z.string()).optional(),
});

export const runExplainStop = defineTool({
  name: "run_explain_stop",
  title: "Explain why a run stopped",
  description:
    "Explain why a stopped or done run ended: true cause and evidence, what it completed, was doing and intended, verify results, landed and unobserved acts, uncommitted files, what others changed since, and the choices now with literal arguments. Works when repository, agent and worker are gone. Observed facts and the agent's own words are marked. Changes nothing. For a live run use run_status.",
  effect: "read",
  idempotent: true,
  openWorld: false,
  input: z.strictObject({ run_id: runIdArgument }),
  output: explainOutput,
  handle: async ({ run_id }, { ctx }) => {
    const run = await findRun(ctx, run_id);
    const { look, ...account } = await accountOf(ctx, run);
    return { ...(await common(ctx, run, { look })), ...account, put_away: await putAwayLines(ctx.store, run) };
  },
  render: (answer) =>
    renderAnswer(answer, [
      ...explanationLines(answer.explanation, answer.run.run_id),
      section("Put away", answer.put_away ?? []),
      section("Choices", answer.choices.map(choiceLine)),
    ]),
});

/** The explanation and the choices, of any length, and what they were made from. */
async function accountOf(ctx: ToolContext, run: RunRecord): Promise<Account & { readonly look: Look }> {
  refuseIf(refusalOf("explain", run));
  if (run.stop === null)
    throw new LoopkeeperError("internal", said`the stop of run ${run.run_id} was not recorded; see ${tool("run_status")}.`);
  const snapshot = await loadStop({ ...ctx, here: hostView(ctx) }, run, run.stop, {
    remote: ctx.settings.fetch_remote,
    audience: ctx.caller.audience,
  });
  const facts = { run, steps: snapshot.steps, attempts: snapshot.attempts, undelivered: snapshot.undelivered };
  const { drift, lost } = snapshot;
  const look = { drift, lost, entry_conflicts: await entryConflicts(ctx, facts, drift) };
  const list = choices(facts, epochMs(), look);
  return {
    look,
    explanation: explain(snapshot),
    choices: list.map((choice) => ({
      ...choice,
      args: { ...choice.args },
      needs: [...choice.needs],
      why: choice.why[ctx.caller.audience],
    })),
  };
}

/** The same account for a page, which shows all of it. */
export const accountView = defineView({
  name: "account",
  title: "The account of a stop",
  description: "As run_explain_stop, whole: nothing is shortened to the size of an agent's reply.",
  input: z.strictObject({ run_id: runIdArgument }),
  output: accountSchema.extend({ revision: z.number().int() }),
  read: async ({ run_id }, ctx) => {
    const run = await findRun(ctx, run_id);
    const { explanation, choices: list } = await accountOf(ctx, run);
    return { explanation, choices: list, revision: run.revision };
  },
});

function explanationLines(explanation: Explanation, runId: string): (string | null)[] {
  const { cause, uncommitted, drift } = explanation;
  const items = (list: Explanation["completed"]): string[] =>
    list.map((entry) => (entry.source === "reported" ? `${quoted(entry.what, 220)} [reported]` : `${entry.what} [observed]`));
  const changed = [
    ...drift.notes,
    ...drift.commits_by_others.map((commit) => `commit by ${commit.author}: ${commit.subject} (${commit.sha.slice(0, 10)})`),
    ...drift.files_changed.map((path) => `file changed: ${path}`),
  ];
  return [
    `cause: ${cause.stop_reason} at iteration ${cause.iteration} of ${cause.max_iterations} (source: ${cause.source}); evidence: ${quoted(cause.evidence, 400)}`,
    cause.reset_read === null
      ? null
      : `the reset was read from ${quoted(cause.reset_read.from, 120)}${cause.reset_read.zone === null ? "" : ` in the zone ${cause.reset_read.zone}`} (confidence: ${cause.reset_read.confidence})`,
    section("Completed", items(explanation.completed)),
    section("Mid-way", items(explanation.midway)),
    section("Still intended", items(explanation.intended)),
    section(
      "Acts landed",
      explanation.acts.landed.map((entry) => `${entry.kind} ${entry.ref ?? ""} ${entry.what}`),
    ),
    section(
      "Acts begun, outcome never seen (check before repeating)",
      explanation.acts.unobserved.map((entry) => `${entry.kind} ${entry.what}`),
    ),
    section(
      `Uncommitted: ${uncommitted.total_files} files, +${uncommitted.added} -${uncommitted.removed}, checkpoint ${uncommitted.checkpoint ?? "none"}`,
      uncommitted.files.map((file) => `${file.status} ${shownName(file.path)} (${file.owner})`),
    ),
    section(
      "Checks",
      explanation.verify.map(
        (result) => `${result.exit_code === 0 ? "passes" : `fails (exit ${result.exit_code ?? "none"})`}: ${result.command}`,
      ),
    ),
    section("Changed since by others", changed),
    section("Instructions not yet delivered", explanation.undelivered_instructions),
    section(
      "Spans",
      explanation.spans.map(
        (span) =>
          `iterations ${span.from_iteration}-${span.to_iteration}, ended by ${span.ended_by}${span.unfinished ? ", the last one cut off" : ""}`,
      ),
    ),
    section(
      "Grants",
      explanation.grants.map((grant) => `+${grant.iterations} at ${grant.at}`),
    ),
    section(
      `Checkpoints, newest first (run_reset takes one as to; all of them: loopkeeper://runs/${runId}/checkpoints)`,
      explanation.checkpoints.map(
        (one) =>
          `${one.id} ${one.kind} iteration ${one.iteration} ${one.at}, ${one.files} files${one.state === "present" ? "" : `, ${one.state}`}`,
      ),
    ),
    `context: engine session ${explanation.context.engine_session}, ${explanation.context.transcript_events} transcript events`,
    section("Not covered", explanation.context.gaps),
  ];
}

function choiceLine(choice: z.output<typeof choiceSchema>): string {
  const mark = choice.recommended ? " (recommended)" : "";
  if (!choice.allowed) return `${choice.label}: not allowed - ${choice.why}`;
  return `${choice.label}${mark}: ${choice.tool} ${JSON.stringify(choice.args)}${choice.needs.length === 0 ? "" : ` + ${choice.needs.join(", ")}`} - ${choice.why}`;
}
