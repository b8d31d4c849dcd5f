import { monotonicMs } from "../run/clock.ts";
import type { Question } from "../run/run.ts";
import type { StopEvidence } from "./classify-stop.ts";
import type { EngineLaunch } from "./engine.ts";
import type { Journal } from "./journal.ts";
import type { EngineProfile } from "./profiles/profile.ts";
import type { ToolCallState } from "./tool-calls.ts";

/** What is known of one engine session while its process lives. Written by what arrives, read by the turn. */
export interface SessionState {
  readonly launch: EngineLaunch;
  readonly profile: EngineProfile;
  readonly journal: Journal;
  /** While it opens, updates are a replay of what was recorded before. */
  phase: "opening" | "open";
  replayed: number;
  /** Looked for among the prompts of a replay, and what was found of it. */
  readonly look_for: readonly string[];
  readonly found: Set<string>;
  replayed_tail: string;
  session_id: string;
  readonly calls: Map<string, ToolCallState>;
  /** The answer that may still be used once. */
  allow_once: string | null;
  last_activity_ms: number;
  session_cost_usd: number | null;
  /** Tokens in the context as last told in this turn. */
  context_used: number;
  rate_limit: StopEvidence["rate_limit"];
  session_failure: StopEvidence["session_failure"];
  thread_status: string | null;
  last_message: string;
  /** What a person has to be asked; it ends the turn. */
  escalation: Question | null;
  /** Called when the turn has to end because of `escalation`. */
  onEscalation: () => void;
}

export function newSessionState(
  launch: EngineLaunch,
  profile: EngineProfile,
  journal: Journal,
  look_for: readonly string[] = [],
): SessionState {
  return {
    launch,
    profile,
    journal,
    phase: "opening",
    replayed: 0,
    look_for,
    found: new Set(),
    replayed_tail: "",
    session_id: "",
    calls: new Map(),
    allow_once: launch.allow_once,
    last_activity_ms: monotonicMs(),
    session_cost_usd: null,
    context_used: 0,
    rate_limit: null,
    session_failure: null,
    thread_status: null,
    last_message: "",
    escalation: null,
    onEscalation: () => {},
  };
}

/** Forgets what belongs to the turn before. */
export function beginTurn(state: SessionState): void {
  state.calls.clear();
  state.context_used = 0;
  state.last_activity_ms = monotonicMs();
  state.rate_limit = null;
  state.session_failure = null;
  state.thread_status = null;
  state.last_message = "";
  state.escalation = null;
}

export function markActivity(state: SessionState): void {
  state.last_activity_ms = monotonicMs();
}
