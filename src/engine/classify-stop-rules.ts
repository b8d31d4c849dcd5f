import { msOf } from "../run/clock.ts";
import type { StopReason } from "../run/stop-reason.ts";
import type { StopEvidence } from "./classify-stop-evidence.ts";
import { type ErrorFacts, endedItsTurn } from "./classify-stop-facts.ts";
import { PHRASES, type PhraseName } from "./classify-stop-phrases.ts";

/**
 * One row of the classifier. It hits when any of `tokens`, `statuses`, `phrase` or `when` fits and `unless` does not; the
 * first three look at error channels only, `when` at the structured field that it names. Null: a normal end of turn.
 */
export interface StopRule {
  readonly id: string;
  readonly reason: StopReason | null;
  readonly tokens?: readonly string[];
  readonly statuses?: readonly number[];
  readonly phrase?: PhraseName;
  readonly when?: (evidence: StopEvidence, facts: ErrorFacts) => boolean;
  readonly unless?: (evidence: StopEvidence, facts: ErrorFacts) => boolean;
}

const LIMIT_TOKENS = [
  "usage_limit_exceeded",
  "usage_limit_reached",
  "rate_limit",
  "rate_limit_error",
  "rate_limit_exceeded",
  "rate_limit_reached",
  "resource_exhausted",
  "blocking_limit",
  "throttling_exception",
  "too_many_requests",
  "too_many_requests_exception",
  "too_many_requests_error",
  "free_usage_limit_error",
  "quota_exceeded",
  "terminal_quota_error",
  "retryable_quota_error",
  "limit",
] as const;

const hasLimit = (_: StopEvidence, facts: ErrorFacts): boolean =>
  facts.statuses.has(429) || LIMIT_TOKENS.some((token) => facts.tokens.has(token));
const hasServerFault = (_: StopEvidence, facts: ErrorFacts): boolean =>
  /internal server error/i.test(facts.text) && !PHRASES.credit.test(facts.text.replaceAll(/payment required/gi, ""));
/** That the connection closed is no cause when the process behind it ended: it only follows from that. */
const onlyConnectionClosed = (evidence: StopEvidence, facts: ErrorFacts): boolean =>
  evidence.exit !== null &&
  facts.statuses.size === 0 &&
  !PHRASES.connection.test(facts.text.replaceAll(/connection (?:was |is )?closed|stream (?:closed|ended)/gi, ""));

/** First hit wins. Billing before limits, capacity before limits, a killed process before a lost connection. */
export const STOP_RULES: readonly StopRule[] = [
  { id: "turn refused", reason: "failed", when: (e) => e.acp_stop_reason === "refusal", tokens: ["refusal"] },
  { id: "turn cap of the engine", reason: "max_iterations", when: (e) => e.acp_stop_reason === "max_turn_requests" },
  { id: "turn cancelled", reason: "cancelled", when: (e) => e.acp_stop_reason === "cancelled" || e.acp_error?.code === -32800 },
  { id: "turn cap", reason: "max_iterations", tokens: ["error_max_turns", "max_turns", "max_turn_requests"], phrase: "turns" },
  { id: "engine's own budget", reason: "budget", tokens: ["error_max_budget_usd", "budget_exhausted"], phrase: "budget" },
  { id: "engine saw a loop", reason: "no_progress", tokens: ["agent_stuck_in_loop_error", "loop_detected"], phrase: "loop" },
  { id: "login text quoted in an answer", reason: null, when: quotesLogin },

  { id: "storage", reason: "storage", tokens: ["enospc", "edquot", "erofs"], phrase: "storage" },

  {
    id: "billing",
    reason: "provider_credit",
    tokens: [
      "billing_error",
      "account_on_hold",
      "insufficient_quota",
      "insufficient_credits",
      "billing_not_active",
      "budget_exceeded",
      "payment_required",
    ],
    phrase: "credit",
    unless: (_, facts) => facts.google && /your plan and billing/i.test(facts.text),
  },
  { id: "402", reason: "provider_credit", statuses: [402], unless: hasServerFault },
  {
    id: "capacity of the server",
    reason: "relay_timeout",
    tokens: ["model_capacity_exhausted", "server_overloaded", "overloaded_error", "overloaded"],
    statuses: [529],
    phrase: "capacity",
  },
  {
    id: "refused for its content",
    reason: "failed",
    tokens: ["cyber_policy", "content_filter", "content_policy_violation"],
    phrase: "refusal",
  },
  {
    id: "context full",
    reason: "context_overflow",
    tokens: [
      "context_length_exceeded",
      "context_window_exceeded",
      "context_window_exceeded_error",
      "prompt_too_long",
      "request_too_large",
    ],
    statuses: [413],
    phrase: "context",
    unless: hasLimit,
  },
  { id: "rate limit state", reason: "engine_limit", when: isRejected },
  { id: "limit", reason: "engine_limit", tokens: LIMIT_TOKENS, statuses: [429], phrase: "limit" },
  {
    id: "login or key",
    reason: "engine_auth",
    tokens: [
      "authentication_failed",
      "authentication_error",
      "provider_auth_error",
      "oauth_org_not_allowed",
      "verification_required",
      "cloud_credential_error",
      "unauthorized",
      "unauthenticated",
      "api_key_invalid",
      "invalid_api_key",
      "invalid_grant",
      "auth",
      "authentication",
    ],
    statuses: [401],
    phrase: "auth",
    when: (e) => e.acp_error?.code === -32000,
  },
  {
    id: "403 of a login",
    reason: "engine_auth",
    when: (_, f) => f.statuses.has(403) && /token|key|credential|log ?in|oauth|permission|account|organization/i.test(f.text),
  },

  { id: "killed", reason: "interrupted", when: (e) => !endedItsTurn(e) && isKilled(e) },
  { id: "time limit of a wrapper", reason: "relay_timeout", when: (e) => !endedItsTurn(e) && e.exit?.code === 124 },
  { id: "not runnable", reason: "failed", when: (e) => e.exit?.code === 127 || e.exit?.code === 126, phrase: "start" },
  { id: "gemini exit: auth", reason: "engine_auth", when: (e) => geminiExit(e, 41) },
  { id: "gemini exit: turns", reason: "max_iterations", when: (e) => geminiExit(e, 53) },
  { id: "gemini exit: input, sandbox, config, tool", reason: "failed", when: (e) => geminiExit(e, 42, 44, 52, 54) },
  { id: "inner process killed", reason: "interrupted", phrase: "killed" },
  { id: "aborted", reason: "cancelled", phrase: "aborted", when: (e) => geminiExit(e, 130) },
  {
    id: "server or connection",
    reason: "relay_timeout",
    tokens: [
      "server_error",
      "internal_server_error",
      "response_stream_disconnected",
      "response_stream_connection_failed",
      "http_connection_failed",
      "timeout_error",
      "connection",
      "service",
      "unavailable",
      "deadline_exceeded",
      "econnreset",
      "econnrefused",
      "etimedout",
      "enotfound",
      "eai_again",
      "epipe",
    ],
    statuses: [408, ...Array.from({ length: 100 }, (_, n) => 500 + n)],
    phrase: "connection",
    unless: onlyConnectionClosed,
  },
  { id: "connection lost, process alive", reason: "relay_timeout", when: (e) => !endedItsTurn(e) && e.exit?.code === null },
  {
    id: "engine ended by itself",
    reason: "interrupted",
    when: (e) => !endedItsTurn(e) && e.acp_error !== null && e.exit?.code === 0,
  },
  { id: "unexplained error", reason: "failed", when: (_, facts) => facts.source !== null },
];

export function ruleHits(rule: StopRule, evidence: StopEvidence, facts: ErrorFacts): boolean {
  const hit =
    rule.when?.(evidence, facts) === true ||
    rule.tokens?.some((token) => facts.tokens.has(token)) === true ||
    rule.statuses?.some((status) => facts.statuses.has(status)) === true ||
    (rule.phrase !== undefined && PHRASES[rule.phrase].test(facts.text));
  return hit && rule.unless?.(evidence, facts) !== true;
}

/** By a signal, or with the status that a shell gives for one. 130 of gemini is its own cancel. */
function isKilled({ exit, agent_profile }: StopEvidence): boolean {
  if (exit === null) return false;
  if (exit.signal !== null || (exit.code !== null && exit.code < 0)) return true;
  return exit.code !== null && exit.code > 128 && exit.code <= 192 && !(agent_profile === "gemini" && exit.code === 130);
}

function geminiExit({ exit, agent_profile }: StopEvidence, ...codes: readonly number[]): boolean {
  return agent_profile === "gemini" && exit?.code != null && codes.includes(exit.code);
}

/** A rejected window that lies in the past was one of an earlier turn. */
function isRejected({ rate_limit, seen_at }: StopEvidence): boolean {
  if (rate_limit?.status !== "rejected") return false;
  return rate_limit.resets_at_epoch === null || rate_limit.resets_at_epoch * 1000 > msOf(seen_at);
}

/**
 * The Claude adapter rejects every turn whose answer holds "Please run /login", also when the model only quotes it. Without
 * a typed kind, and with an answer that is more than that sentence, the model was working and the login is fine.
 */
function quotesLogin({ acp_error, last_message }: StopEvidence, facts: ErrorFacts): boolean {
  if (acp_error?.code !== -32000 || last_message === null || facts.tokens.has("authentication_failed")) return false;
  const lastLine = last_message.trim().split("\n").at(-1) ?? "";
  return last_message.includes("/login") && !/^[^"'`]{0,80}please run \/login\.?$/i.test(lastLine.trim());
}
