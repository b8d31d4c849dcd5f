import { RUN_ID_VARIABLE, RUN_NONCE_VARIABLE } from "../run/report.ts";

/** Environment of a child process: names to values, nothing undefined. */
export type Environment = Readonly<Record<string, string>>;

/** Which run, and which attempt of it, a process belongs to. */
export interface Marker {
  readonly run_id: string;
  readonly nonce: string;
}

// An agent that finds these believes that it was started by another agent: it changes its behaviour or refuses to start.
const NESTING = new Set([
  "CLAUDECODE",
  "CLAUDE_CODE_ENTRYPOINT",
  "CLAUDE_CODE_SSE_PORT",
  "CLAUDE_CODE_SESSION_ID",
  "CLAUDE_CODE_CHILD_SESSION",
  "CLAUDE_CODE_CHILD_NOTES_DIR",
  "CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS",
  "CLAUDE_CODE_EXECPATH",
  "CLAUDE_AGENT_SDK_VERSION",
  "CLAUDE_PROJECT_DIR",
  "CODEX_SANDBOX",
  "CODEX_SANDBOX_NETWORK_DISABLED",
  "CODEX_THREAD_ID",
  "GEMINI_CLI",
  "OPENCODE",
  "OPENCODE_PID",
  "OPENCODE_SERVER_PASSWORD",
  "AI_AGENT",
  "AGENT",
]);

// Secrets of Loopkeeper itself, and the markers of an enclosing run: a child must see only its own.
const OWN = new Set([
  "LOOPKEEPER_KEY",
  "LOOPKEEPER_DATABASE_URL",
  "LOOPKEEPER_TOKEN",
  "LOOPKEEPER_REPORT_SOCKET",
  "LOOPKEEPER_REPORT_TOKEN",
]);

/** The environment of every process of a run. */
export function runEnvironment(base: Environment, marker: Marker, additions: Environment = {}): Record<string, string> {
  return { ...userEnvironment(base, additions), ...markerVariables(marker) };
}

/**
 * The user's own environment (home and login included) without the variables of an
 * enclosing agent and without GIT_* (a GIT_DIR or GIT_INDEX_FILE of the caller would send git to another repository).
 */
export function userEnvironment(base: Environment, additions: Environment = {}): Record<string, string> {
  const kept = Object.entries(base).filter(([name]) => !NESTING.has(name) && !OWN.has(name) && !name.startsWith("GIT_"));
  return { ...Object.fromEntries(kept), ...additions };
}

export function markerVariables(marker: Marker): Record<string, string> {
  return { [RUN_ID_VARIABLE]: marker.run_id, [RUN_NONCE_VARIABLE]: marker.nonce };
}
