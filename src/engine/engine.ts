import type { NewJournalEntry } from "../run/event.ts";
import type { PermissionLevel, PlanEntry, Question, Report, ResetConfidence, StopSource } from "../run/run.ts";
import type { StopReason } from "../run/stop-reason.ts";

/** Shapes between the loop and whatever coding agent it drives. Nothing outside this folder knows ACP. */

/** One agent as the catalog and the configuration describe it, ready to be started. */
export interface AgentSpec {
  readonly name: string;
  readonly profile: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface AgentListing {
  readonly name: string;
  readonly found: boolean;
  readonly how: string;
}

export interface Agents {
  /** `agent_unknown` with the known names; `agent_unavailable` with how to get it; null name = the default one. */
  resolve(name: string | null): Promise<AgentSpec>;
  list(): Promise<readonly AgentListing[]>;
}

/** What an engine said about why it cannot go on, classified. */
export interface ClassifiedStop {
  readonly reason: StopReason;
  readonly source: StopSource;
  readonly evidence: string;
  readonly resets_at: string | null;
  readonly resets_at_source: string | null;
  readonly resets_at_zone: string | null;
  readonly resets_at_confidence: ResetConfidence | null;
  readonly question: Question | null;
}

export interface TurnUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Cost of the whole engine session so far as the engine tells it, or null. */
  readonly session_cost_usd: number | null;
}

/** How one prompt ended. */
export type TurnEnd =
  /** The engine ended its turn by itself; `refusal` and errors hidden behind `end_turn` are `stopped`. */
  | { readonly kind: "ended"; readonly stop_reason: "end_turn" | "max_tokens" | "max_turn_requests"; readonly usage: TurnUsage }
  /** The turn cannot go on for a reason that stops the run. */
  | { readonly kind: "stopped"; readonly stop: ClassifiedStop; readonly usage: TurnUsage }
  /** The engine process died or its connection broke without our doing. */
  | {
      readonly kind: "died";
      readonly code: number | null;
      readonly signal: string | null;
      readonly evidence: string;
      readonly usage: TurnUsage;
    }
  /** No update came within the silence limit. */
  | { readonly kind: "silent"; readonly after_s: number; readonly usage: TurnUsage }
  /** We cancelled it. */
  | { readonly kind: "cancelled"; readonly usage: TurnUsage };

/** A tool call of the engine, for acts and for what was under way at a stop. */
export interface ToolCallSeen {
  readonly id: string;
  readonly title: string;
  readonly kind: string | null;
  readonly command: string | null;
  readonly paths: readonly string[];
  readonly status: "pending" | "in_progress" | "completed" | "failed";
  /** It was not permitted, so nothing of it ever ran. */
  readonly held: boolean;
}

export function isOpen(call: Pick<ToolCallSeen, "status">): boolean {
  return call.status === "pending" || call.status === "in_progress";
}

/** What the driver is told while a turn goes on. Calls come in order and must not throw. */
export interface EngineListener {
  /** Redaction has been done; messages and thoughts are coalesced. */
  entry(entry: Omit<NewJournalEntry, "iteration">): void;
  plan(entries: readonly PlanEntry[]): void;
  report(report: Report): void;
  toolCall(call: ToolCallSeen): void;
  /** The engine replaced its conversation by a summary; `how` says what showed it. */
  compacted(how: string): void;
  /** A sign that the engine took the prompt: words, calls, a plan; lists of commands and settings are none. */
  answered(): void;
}

export interface EngineLaunch {
  readonly agent: AgentSpec;
  readonly run_id: string;
  /** Marks every process of this attempt in its environment. */
  readonly nonce: string;
  readonly cwd: string;
  readonly permissions: PermissionLevel;
  readonly allow: readonly string[];
  readonly allowed_commands: readonly string[];
  /** Exact command allowed once, the answer to the last permission question. */
  readonly allow_once: string | null;
  readonly model: string | null;
  readonly mode: string | null;
  readonly silence_s: number;
  readonly tool_silence_s: number;
  readonly listener: EngineListener;
}

export interface WantedSession {
  /** Session to go on with; null for a new one. */
  readonly resume: string | null;
  /** Short texts to look for among the earlier prompts of that session. */
  readonly look_for?: readonly string[];
}

/** One live engine process with one session. */
export interface Engine {
  readonly session_id: string;
  /** `native` only when the engine really loaded the session it was asked for. */
  readonly context: "new" | "native";
  /** Why a wanted session could not be loaded (then `context` is `new`). */
  readonly why_not_native: string | null;
  /** Those of `look_for` that the loaded session holds; null when the engine did not show its past. */
  readonly found: readonly string[] | null;
  readonly title: string;
  /** True once the injected report server was asked for its tools. */
  canReport(): boolean;
  prompt(text: string): Promise<TurnEnd>;
  /** Ends the turn under way; `prompt` then answers `cancelled`. Gives the engine at most 2 s, then returns anyway. */
  cancel(): Promise<void>;
  /** Ends the engine and every process it started (read before killing, repeated until two scans are empty). */
  stop(): Promise<void>;
}

export type EngineStart = { readonly ok: true; readonly engine: Engine } | { readonly ok: false; readonly stop: ClassifiedStop };

export interface CommandResult {
  /** Null when it was killed or timed out. */
  readonly exit_code: number | null;
  readonly timed_out: boolean;
  /** Last part of stdout and stderr together, redacted, at most 4,000 characters. */
  readonly tail: string;
}

/** One session of an engine, and the directory that it works in. */
export interface SessionOf {
  readonly agent: AgentSpec;
  readonly session_id: string;
  readonly cwd: string;
}

export interface PackedSession {
  readonly profile: string;
  readonly session_id: string;
  readonly cwd: string;
  /** Files by their names within the engine's own folder, each as ids of its parts in order. */
  readonly files: readonly { readonly name: string; readonly bytes: number; readonly parts: readonly string[] }[];
}

export interface FreedSession {
  /** Bytes that were freed. */
  readonly freed: number;
  /** Why the session's files stay; null when none is left. */
  readonly kept: string | null;
}

/** What the loop needs of this folder. */
export interface Engines {
  /** Starts the process, opens or loads the session, sets model and mode. Never throws for a fault of the engine. */
  start(launch: EngineLaunch, session: WantedSession): Promise<EngineStart>;
  /** Runs one shell command of the run (setup, verify): no stdin, marked environment, its whole tree killed at the limit. */
  runCommand(input: {
    readonly command: string;
    readonly cwd: string;
    readonly run_id: string;
    readonly nonce: string;
    readonly timeout_s: number;
    readonly signal?: AbortSignal;
  }): Promise<CommandResult>;
  /** Kills every process of a run that its marker shows, as after a crash of its driver. Answers how many. */
  killMarked(runId: string): Promise<number>;
  /** Processes that work in a folder; null where the system does not tell. */
  processesIn(folder: string): Promise<readonly number[] | null>;
  /** Identity of a process, and whether it is still that process. */
  processIdentity(): Promise<{
    readonly host: string;
    readonly boot_id: string;
    readonly pid: number;
    readonly start_time: string;
  }>;
  isAlive(identity: {
    readonly host: string;
    readonly boot_id: string;
    readonly pid: number;
    readonly start_time: string;
  }): Promise<boolean | null>;
  /** Reads the engine's own files of a session part by part; null when there are none or the profile knows of none. */
  packSession(
    input: SessionOf & {
      /** Stores a part and answers its id. */
      put(part: Uint8Array): Promise<string>;
      /** Ids of parts that are stored: an unchanged file all of whose parts are among them is not read again. */
      readonly known: ReadonlySet<string>;
    },
  ): Promise<PackedSession | null>;
  /** Puts a packed session where the engine looks for it. Files that are there and are further on stay as they are. */
  unpackSession(
    input: SessionOf & { readonly packed: PackedSession; readonly packed_at: string; part(id: string): Promise<Uint8Array> },
  ): Promise<void>;
  /** Whether the engine's own files of the session are here; null when that cannot be told without starting it. */
  hasSession(input: SessionOf): Promise<boolean | null>;
  /** Bytes of the engine's own files of the session that are here; null when it is not known where they are. */
  sessionSize(input: SessionOf): Promise<number | null>;
  /**
   * Removes the engine's own files of this one session, unless one of them changed after `untouched_since` (an instant): a person
   * who went on with the conversation keeps all of it.
   */
  freeSession(input: SessionOf & { readonly untouched_since: string }): Promise<FreedSession>;
  /** What `freeSession` would answer now. Removes nothing. */
  freeableSession(input: SessionOf & { readonly untouched_since: string }): Promise<FreedSession>;
}
