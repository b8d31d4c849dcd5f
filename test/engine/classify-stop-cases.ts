import { z } from "zod";
import type { OwnFact, StopEvidence } from "../../src/engine/classify-stop-evidence.ts";

/** Reads cases of `data/*.json` and turns each into the evidence that a driver would have collected. */

const caseSchema = z.object({
  id: z.string(),
  kind: z.enum(["text", "acp_error", "stop_reason", "http", "exit", "exception"]),
  agent: z.string(),
  input: z.unknown(),
  now: z.string().optional(),
  tz: z.string().optional(),
  expect: z.object({
    reason: z.string().nullable(),
    accept: z.array(z.string().nullable()).optional(),
    resets_at: z.string().nullable().optional(),
    resets_at_any: z.array(z.string()).optional(),
    tolerance_s: z.number().optional(),
  }),
});
export type StopCase = z.infer<typeof caseSchema>;

export const parseCases = (json: string): readonly StopCase[] => z.array(caseSchema).parse(JSON.parse(json));

const SEEN_AT_DEFAULT = "2026-06-15T12:00:00Z";

export function evidenceOf(one: StopCase): StopEvidence {
  const nothing: StopEvidence = {
    agent_profile: one.agent,
    acp_error: null,
    acp_stop_reason: null,
    exit: null,
    rate_limit: null,
    session_failure: null,
    thread_status: null,
    last_message: null,
    seen_at: one.now ?? SEEN_AT_DEFAULT,
    timezone: one.tz ?? "UTC",
  };
  return { ...nothing, ...MAPPINGS[one.kind](one.input) };
}

type Part = Partial<StopEvidence>;

const MAPPINGS: Readonly<Record<StopCase["kind"], (input: unknown) => Part>> = {
  text: (input) => ({ acp_stop_reason: "end_turn", last_message: z.string().parse(input) }),
  acp_error: ofAcpError,
  stop_reason: ofStopReason,
  http: ofHttp,
  exit: ofExit,
  exception: ofException,
};

const updatesSchema = z.array(z.looseObject({ _meta: z.looseObject({}).optional() })).optional();

function ofAcpError(input: unknown): Part {
  const error = z
    .object({
      code: z.number(),
      message: z.string(),
      data: z.unknown().optional(),
      updates: updatesSchema,
      lastText: z.string().optional(),
    })
    .parse(input);
  return {
    acp_error: { code: error.code, message: error.message, data: error.data ?? null },
    last_message: error.lastText ?? null,
    ...ofUpdates(error.updates),
  };
}

/** Either a prompt response (`stopReason`) or the result frame of an SDK, which its adapter turns into one or into an error. */
function ofStopReason(input: unknown): Part {
  const turn = z
    .object({
      stopReason: z.string().optional(),
      lastText: z.string().optional(),
      updates: updatesSchema,
      _meta: z.unknown().optional(),
      type: z.string().optional(),
      is_error: z.boolean().optional(),
      result: z.string().optional(),
      stop_reason: z.string().nullish(),
      exit: z.object({ code: z.number().nullable(), signal: z.string().nullable() }).optional(),
      raw: z
        .object({ isApiErrorMessage: z.boolean().optional(), message: z.object({ model: z.string() }).optional() })
        .optional(),
    })
    .parse(input);
  const exit = turn.exit === undefined ? null : { ...turn.exit, stderr_tail: "" };
  const own = ownFact(input);
  if (turn.type === "result" && turn.is_error === true) {
    return { own, exit, acp_error: { code: -32603, message: turn.result ?? "", data: input } };
  }
  return {
    own,
    exit,
    acp_stop_reason: turn.stopReason ?? (turn.type === "result" ? (turn.stop_reason ?? "end_turn") : null),
    last_message: turn.lastText ?? turn.result ?? null,
    last_message_by: authorOf(turn.raw),
    session_failure: sessionFailure(turn._meta),
    ...ofUpdates(turn.updates),
  };
}

function authorOf(
  raw: { isApiErrorMessage?: boolean | undefined; message?: { model: string } | undefined } | undefined,
): "model" | "engine" | null {
  if (raw === undefined) return null;
  return raw.isApiErrorMessage === true || raw.message?.model === "<synthetic>" ? "engine" : "model";
}

/** A gateway's answer, as an agent that passes it on (gemini) rejects a prompt: the HTTP status is the code. */
function ofHttp(input: unknown): Part {
  const answer = z.object({ status: z.number(), headers: z.unknown().optional(), body: z.unknown() }).parse(input);
  const message = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
  return { acp_error: { code: answer.status, message, data: { headers: answer.headers, body: answer.body } } };
}

function ofExit(input: unknown): Part {
  const end = z
    .object({
      code: z.number().nullable(),
      signal: z.string().nullable(),
      stderr: z.string().optional(),
      stdout_tail: z.string().optional(),
    })
    .parse(input);
  return {
    own: ownFact(input),
    exit: { code: end.code, signal: end.signal, stderr_tail: end.stderr ?? "" },
    last_message: end.stdout_tail ?? null,
  };
}

/** Thrown while the prompt was pending: the driver keeps it as an error without a code. */
function ofException(input: unknown): Part {
  const thrown = z.object({ name: z.string(), message: z.string() }).parse(input);
  return { own: ownFact(input), acp_error: { code: null, message: thrown.message, data: input } };
}

/** What the loop itself would have known. */
function ownFact(input: unknown): OwnFact | null {
  const own = z
    .object({
      ownerStop: z.boolean().optional(),
      killedByUs: z.boolean().optional(),
      watchdog: z.boolean().optional(),
      lease_expired_at: z.string().optional(),
      verdict: z.object({ outcome: z.string() }).optional(),
      pending: z.object({ method: z.string() }).optional(),
      loop: z
        .object({
          iteration: z.number().optional(),
          max_iterations: z.number().optional(),
          unchanged_iterations: z.number().optional(),
          no_progress_limit: z.number().optional(),
        })
        .optional(),
    })
    .parse(input);
  if (own.watchdog === true) return "watchdog_fired";
  if (own.ownerStop === true || own.killedByUs === true) return "stop_requested";
  if (own.lease_expired_at !== undefined) return "lease_lost";
  if (own.verdict !== undefined)
    return own.verdict.outcome === "done"
      ? "verdict_done"
      : own.verdict.outcome === "failed"
        ? "verdict_failed"
        : "verdict_escalated";
  if (own.pending?.method === "session/request_permission") return "permission_unanswered";
  const { loop } = own;
  if (loop?.unchanged_iterations !== undefined && loop.unchanged_iterations >= (loop.no_progress_limit ?? 3))
    return "nothing_changed";
  if (loop?.iteration !== undefined && loop.iteration >= (loop.max_iterations ?? Number.POSITIVE_INFINITY))
    return "iterations_spent";
  return null;
}

const metaSchema = z.looseObject({
  "_claude/rateLimit": z.object({ status: z.string(), resetsAt: z.number().nullish() }).optional(),
  codex: z.object({ threadStatus: z.object({ type: z.string() }).optional() }).optional(),
});

/** Tool results and messages among the updates are no evidence; only these metas are. */
function ofUpdates(updates: z.infer<typeof updatesSchema>): Part {
  let part: Part = {};
  for (const update of updates ?? []) {
    const meta = metaSchema.parse(update._meta ?? {});
    const limit = meta["_claude/rateLimit"];
    if (limit !== undefined) part = { ...part, rate_limit: { status: limit.status, resets_at_epoch: limit.resetsAt ?? null } };
    if (meta.codex?.threadStatus !== undefined) part = { ...part, thread_status: meta.codex.threadStatus.type };
    const failure = sessionFailure(update._meta);
    if (failure !== null) part = { ...part, session_failure: failure };
  }
  return part;
}

function sessionFailure(meta: unknown): StopEvidence["session_failure"] {
  const air = z
    .looseObject({
      jetbrains: z.object({
        air: z.object({ sessionFailure: z.object({ category: z.string(), severity: z.string(), title: z.string() }) }),
      }),
    })
    .safeParse(meta);
  return air.success ? air.data.jetbrains.air.sessionFailure : null;
}
