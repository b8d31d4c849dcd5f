import type { Checkpoints } from "../checkpoint/checkpoint.ts";
import type { Agents, Engines } from "../engine/engine.ts";
import type { Retention } from "../run/retention.ts";
import type { ProcessIdentity, Store } from "../store/store.ts";

export interface LoopSettings {
  readonly max_live_runs: number;
  readonly worker_idle_ms: number;
  readonly fetch_remote: boolean;
}

/** Everything that driving runs needs; constructed in one place, passed down unchanged. */
export interface LoopContext {
  readonly store: Store;
  readonly checkpoints: Checkpoints;
  readonly engines: Engines;
  /** Agents as the configuration file at this path has them now: a new attempt reads the current one. */
  agentsOf(configPath: string | null): Agents;
  readonly settings: LoopSettings;
  readonly worker_id: string;
  readonly identity: ProcessIdentity;
  /** The retention policy as the configuration has it now; null when it is off. */
  retention(): Retention | null;
  /** False when the home's folder was deleted: a worker of it has nothing left to work for. */
  homeExists(): Promise<boolean>;
  log(level: "info" | "warn" | "error", message: string, data?: Readonly<Record<string, unknown>>): void;
}
