/** An error of the prompt request (or of the connection to the engine: then without a code), as it was received. */
export interface AcpErrorSeen {
  readonly code: number | null;
  readonly message: string;
  readonly data: unknown;
}

/** Facts that only Loopkeeper itself can know; each decides alone, whatever the engine printed. */
export const OWN_FACTS = {
  stop_requested: { reason: "cancelled", source: "owner" },
  verdict_done: { reason: "done", source: "loop" },
  verdict_failed: { reason: "failed", source: "loop" },
  verdict_escalated: { reason: "escalated", source: "loop" },
  permission_unanswered: { reason: "escalated", source: "loop" },
  iterations_spent: { reason: "max_iterations", source: "loop" },
  budget_spent: { reason: "budget", source: "loop" },
  nothing_changed: { reason: "no_progress", source: "loop" },
  lease_lost: { reason: "interrupted", source: "recovery" },
  watchdog_fired: { reason: "relay_timeout", source: "loop" },
} as const;
export type OwnFact = keyof typeof OWN_FACTS;

/** Everything seen at the end of one turn. Null means: this channel said nothing. */
export interface StopEvidence {
  readonly agent_profile: string;
  readonly acp_error: AcpErrorSeen | null;
  readonly acp_stop_reason: string | null;
  /** The engine process, when it ended without our doing. */
  readonly exit: { readonly code: number | null; readonly signal: string | null; readonly stderr_tail: string } | null;
  /** The last rate limit state that the engine told (`_claude/rateLimit`); seconds since the epoch. */
  readonly rate_limit: { readonly status: string; readonly resets_at_epoch: number | null } | null;
  /** The last `sessionFailure` of the turn; `warning` is a retry, `error` is final. */
  readonly session_failure: { readonly category: string; readonly severity: string; readonly title: string } | null;
  /** The last thread status that a codex adapter told, e.g. `idle`, `systemError`. */
  readonly thread_status: string | null;
  /** Text of the engine's last message (of its standard output, when it speaks no ACP). */
  readonly last_message: string | null;
  /** Who wrote `last_message`, when the engine tells it: its model, or the engine itself (an error put in as a message). */
  readonly last_message_by?: "model" | "engine" | null;
  readonly own?: OwnFact | null;
  /** Instant of the evidence, ISO 8601. */
  readonly seen_at: string;
  /** IANA zone of the host that ran the engine. */
  readonly timezone: string;
}
