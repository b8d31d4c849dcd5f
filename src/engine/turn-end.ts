import { redact } from "../redact/redact.ts";
import { now } from "../run/clock.ts";
import type { StopReason } from "../run/stop-reason.ts";
import { type AcpErrorSeen, classifyStop, NO_RESET, type StopEvidence } from "./classify-stop.ts";
import type { Answer } from "./connection.ts";
import type { ClassifiedStop, TurnEnd, TurnUsage } from "./engine.ts";
import type { ProcessExit } from "./process.ts";
import { readMeta } from "./receive.ts";
import type { SessionState } from "./session-state.ts";
import { type PromptAnswer, promptAnswerSchema } from "./updates.ts";

const EVIDENCE_CHARACTERS = 2000;

/** What ended the waiting for a turn. */
export type TurnOutcome =
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "silent"; readonly after_s: number }
  /** The engine did not end the turn in time after it was cancelled. */
  | { readonly kind: "forced" };

export interface ProcessFacts {
  readonly exit: ProcessExit | null;
  readonly stderr_tail: string;
}

/** Decides how a turn ended. What we did ourselves (a question to a person, a cancel) comes before what the engine says. */
export function concludeTurn(state: SessionState, outcome: TurnOutcome, cancelled: boolean, facts: ProcessFacts): TurnEnd {
  const answer = outcome.kind === "answer" && outcome.answer.kind === "result" ? parseAnswer(outcome.answer.result) : null;
  if (answer?._meta) readMeta(state, answer._meta);
  const usage = usageOf(state, answer);

  if (state.escalation !== null) return { kind: "stopped", stop: escalated(state), usage };
  if (cancelled || outcome.kind === "forced") return { kind: "cancelled", usage };
  if (outcome.kind === "silent") return { kind: "silent", after_s: outcome.after_s, usage };
  if (outcome.answer.kind === "closed") return broken(state, facts, usage);

  const acp_error = outcome.answer.kind === "error" ? outcome.answer.error : null;
  const reason = answer?.stopReason ?? null;
  // `cancelled` would be read as the owner's wish, and it was not.
  const stop = classify(state, { acp_error, acp_stop_reason: reason === "cancelled" ? null : reason });
  if (stop?.reason === "max_iterations") return { kind: "ended", stop_reason: "max_turn_requests", usage };
  if (stop?.reason === "cancelled") return { kind: "stopped", stop: { ...stop, reason: "interrupted" }, usage };
  if (stop !== null) return { kind: "stopped", stop, usage };
  return endedByItself(acp_error === null ? reason : "end_turn", usage);
}

/** Evidence of this session, with what is given in place of the empty channels, put to the classifier; redacted and cut. */
export function classify(
  state: SessionState,
  seen: Partial<Pick<StopEvidence, "acp_error" | "acp_stop_reason" | "exit">>,
): ClassifiedStop | null {
  const stop = classifyStop({
    agent_profile: state.profile.name,
    acp_error: null,
    acp_stop_reason: null,
    exit: null,
    ...seen,
    rate_limit: state.rate_limit,
    session_failure: state.session_failure,
    thread_status: state.thread_status,
    last_message: state.last_message === "" ? null : state.last_message,
    seen_at: now(),
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  });
  return stop === null ? null : { ...stop, evidence: redact(stop.evidence).slice(0, EVIDENCE_CHARACTERS) };
}

/** A stop that we know the reason of ourselves. */
export function ownStop(reason: ClassifiedStop["reason"], source: ClassifiedStop["source"], evidence: string): ClassifiedStop {
  const text = redact(evidence).slice(0, EVIDENCE_CHARACTERS);
  return { reason, source, evidence: text, ...NO_RESET, question: null };
}

function escalated(state: SessionState): ClassifiedStop {
  const question = state.escalation;
  return { ...ownStop("escalated", "loop", `permission wanted: ${question?.command ?? ""}`), question };
}

/** The process died or its connection broke. What it printed may name a cause that a new start would not cure. */
function broken(state: SessionState, facts: ProcessFacts, usage: TurnUsage): TurnEnd {
  const code = facts.exit?.code ?? null;
  const signal = facts.exit?.signal ?? null;
  const stop = classify(state, { exit: { code, signal, stderr_tail: facts.stderr_tail } });
  if (stop !== null && outlivesRestart(stop)) return { kind: "stopped", stop, usage };
  return { kind: "died", code, signal, evidence: exitEvidence(facts), usage };
}

const LASTING: readonly StopReason[] = ["engine_limit", "provider_credit", "engine_auth", "context_overflow", "storage"];

/** Whether a new process would meet the same cause again. */
export function outlivesRestart(stop: ClassifiedStop): boolean {
  return LASTING.includes(stop.reason);
}

export function exitEvidence(facts: ProcessFacts): string {
  const how = describeExit(facts.exit);
  const tail = facts.stderr_tail.trim();
  return redact(tail === "" ? how : `${how}; stderr: ${tail}`).slice(0, EVIDENCE_CHARACTERS);
}

function describeExit(exit: ProcessExit | null): string {
  if (exit === null) return "the engine closed its connection while its process was alive";
  return exit.signal === null ? `the engine exited with code ${exit.code}` : `the engine was ended by ${exit.signal}`;
}

/** A turn that the engine ended without an error; an end that is none of the known ones is not taken for a clean one. */
function endedByItself(reason: string | null, usage: TurnUsage): TurnEnd {
  switch (reason) {
    case "end_turn":
    case "max_tokens":
    case "max_turn_requests":
      return { kind: "ended", stop_reason: reason, usage };
    case "refusal":
      return { kind: "stopped", stop: ownStop("failed", "stop_reason", "the model refused (refusal)"), usage };
    case "cancelled":
      return { kind: "stopped", stop: ownStop("interrupted", "stop_reason", "the engine cancelled its turn unasked"), usage };
    default:
      return { kind: "stopped", stop: ownStop("failed", "stop_reason", `unknown end of turn: ${reason ?? "none"}`), usage };
  }
}

/** Code, message and data of an error as evidence. */
export function errorText({ code, message, data }: AcpErrorSeen): string {
  const told = data === null ? message : `${message} (${JSON.stringify(data)})`;
  return redact(code === null ? told : `${code}: ${told}`).slice(0, 500);
}

function parseAnswer(result: unknown): PromptAnswer | null {
  return promptAnswerSchema.safeParse(result).data ?? null;
}

function usageOf(state: SessionState, answer: PromptAnswer | null): TurnUsage {
  const quota = answer?._meta?.quota?.token_count;
  return {
    input_tokens: answer?.usage?.inputTokens ?? quota?.input_tokens ?? 0,
    output_tokens: answer?.usage?.outputTokens ?? quota?.output_tokens ?? 0,
    session_cost_usd: state.session_cost_usd,
  };
}
