import { redact } from "../redact/redact.ts";
import type { StopReason } from "../run/stop-reason.ts";
import { type AcpErrorSeen, OWN_FACTS, type OwnFact, type StopEvidence } from "./classify-stop-evidence.ts";
import { type ErrorFacts, errorFacts } from "./classify-stop-facts.ts";
import { wholeErrorLine } from "./classify-stop-line.ts";
import { ruleHits, STOP_RULES } from "./classify-stop-rules.ts";
import type { ClassifiedStop } from "./engine.ts";
import { type ResetTime, readResetTime } from "./reset-time.ts";

export type { AcpErrorSeen, StopEvidence };

/** Why a turn cannot go on, or null for a normal end of turn: then the loop goes on. */
export function classifyStop(evidence: StopEvidence): ClassifiedStop | null {
  if (evidence.own != null) return ownStop(evidence.own);
  const facts = errorFacts(evidence);
  const rule = STOP_RULES.find((row) => ruleHits(row, evidence, facts));
  if (rule === undefined || rule.reason === null) return null;
  const reset = RESETS.has(rule.reason) ? resetTime(evidence, facts) : null;
  return {
    reason: rule.reason,
    source: facts.source ?? (evidence.exit === null ? "stop_reason" : "exit"),
    evidence: rawEvidence(evidence, facts),
    resets_at: reset?.at ?? null,
    resets_at_source: reset === null ? null : redact(reset.source),
    resets_at_zone: reset?.zone ?? null,
    resets_at_confidence: reset?.confidence ?? null,
    question: null,
  };
}

function ownStop(fact: OwnFact): ClassifiedStop {
  return { ...OWN_FACTS[fact], evidence: fact, ...NO_RESET, question: null };
}

/** A stop whose end nobody announced. */
export const NO_RESET = {
  resets_at: null,
  resets_at_source: null,
  resets_at_zone: null,
  resets_at_confidence: null,
} as const;

/** Reasons that end at an instant which somebody announces; a lost connection is simply tried again. */
const RESETS: ReadonlySet<StopReason> = new Set(["engine_limit", "provider_credit"]);

function resetTime(evidence: StopEvidence, facts: ErrorFacts): ResetTime | null {
  const window = evidence.rate_limit?.status === "rejected" ? evidence.rate_limit : null;
  const text = [facts.text, evidence.acp_error === null ? "" : (wholeErrorLine(evidence.last_message ?? "")?.text ?? "")].join(
    "\n",
  );
  return readResetTime({
    structured: [window, evidence.acp_error?.data, text],
    text,
    seen_at: evidence.seen_at,
    timezone: evidence.timezone,
  });
}

const LONGEST_EVIDENCE = 2000;

/** The signals as they came, for people: redacted, then cut. */
function rawEvidence(evidence: StopEvidence, facts: ErrorFacts): string {
  const { acp_error, acp_stop_reason, exit, rate_limit, session_failure, thread_status } = evidence;
  const parts = [
    acp_error === null ? "" : `error ${acp_error.code ?? "without code"}: ${acp_error.message}`,
    acp_error?.data == null ? "" : `data: ${asText(acp_error.data)}`,
    session_failure === null ? "" : `session failure (${session_failure.category}): ${session_failure.title}`,
    rate_limit === null ? "" : `rate limit: ${rate_limit.status}`,
    acp_stop_reason === null ? "" : `stop reason: ${acp_stop_reason}`,
    thread_status === null ? "" : `thread: ${thread_status}`,
    exit === null ? "" : `exit: ${exit.signal ?? `code ${exit.code}`}; stderr: ${exit.stderr_tail.trim()}`,
    facts.source === "text" || facts.source === "exit" ? `said: ${facts.text}` : "",
  ];
  return redact(parts.filter((part) => part !== "").join("\n")).slice(0, LONGEST_EVIDENCE);
}

function asText(data: unknown): string {
  try {
    return JSON.stringify(data) ?? "";
  } catch {
    return String(data);
  }
}
