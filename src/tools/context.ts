import type { Checkpoints } from "../checkpoint/checkpoint.ts";
import type { Agents, Engines } from "../engine/engine.ts";
import type { Audience } from "../run/said.ts";
import type { RequestRecord, Store } from "../store/store.ts";

/** What a door tells about one call. */
export interface Caller {
  /** Whose words answers and errors are said in. */
  readonly audience: Audience;
  /** Aborts when the client cancelled the call or went away: ends the waiting, never a run. */
  readonly signal: AbortSignal;
  /** Tells the client that the call is alive; a door without progress ignores it. */
  progress(update: { readonly progress: number; readonly total?: number; readonly message: string }): void;
}

/** Settings that tools need; read once at start. */
export interface ToolSettings {
  readonly note_lookback_hours: number;
  readonly silence_s: number;
  readonly tool_silence_s: number;
  readonly command_timeout_s: number;
  readonly fetch_remote: boolean;
  readonly config_path: string | null;
  /** This host where several share the store; null in the embedded store. */
  readonly host: string | null;
  /** Folder that holds the worktrees of runs. */
  readonly workspaces: string;
}

/** Everything a tool may use. Only what tools really call is here. */
export interface ToolContext {
  readonly owner: string;
  readonly store: Store;
  readonly checkpoints: Checkpoints;
  readonly agents: Agents;
  readonly engines: Pick<
    Engines,
    | "processIdentity"
    | "isAlive"
    | "killMarked"
    | "hasSession"
    | "processesIn"
    | "sessionSize"
    | "freeSession"
    | "freeableSession"
  >;
  readonly settings: ToolSettings;
  /** This host, as drivers name it. */
  readonly host: string;
  /** Folder the door was started in: where a repository is looked for last. */
  readonly cwd: string;
  /** The run whose process this door is, or null: writing tools are refused inside a run. */
  readonly inside_run: string | null;
  readonly caller: Caller;
  /** Makes sure that a worker process is alive; returns without waiting for its work. */
  wakeWorker(): Promise<void>;
}

/** One writing call's identity, to be stored in one transaction with its effect. */
export interface RequestSeed {
  record(runId: string, own: Readonly<Record<string, unknown>>): RequestRecord;
}

/** What one call of a tool gets beside its arguments. */
export interface Call {
  readonly ctx: ToolContext;
  /** Null when the caller gave no request_id. */
  readonly request: RequestSeed | null;
}
