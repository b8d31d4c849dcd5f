import { chmodSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createCheckpoints } from "./checkpoint/create.ts";
import { type Config, readConfigFile } from "./config.ts";
import { crashPointsOf } from "./crash-points.ts";
import { watched } from "./crash-watch.ts";
import { createAgents, createEngines } from "./engine/create.ts";
import type { Agents, Engines } from "./engine/engine.ts";
import { userEnvironment } from "./engine/environment.ts";
import { launchDetached } from "./engine/launch-detached.ts";
import { createLog, type Log } from "./log.ts";
import { monotonicMs } from "./run/clock.ts";
import { LoopkeeperError, messageOf, systemCode } from "./run/errors.ts";
import { isOfHost } from "./run/run.ts";
import { openStore } from "./store/open.ts";
import type { Store } from "./store/store.ts";
import type { Caller, ToolContext } from "./tools/context.ts";
import type { ToolRuntime } from "./tools/runtime.ts";

/** The composition root: the only file that constructs things. */

export interface Parts {
  readonly config: Config;
  readonly log: Log;
  readonly store: Store;
  readonly engines: Engines;
  readonly checkpoints: ReturnType<typeof createCheckpoints>;
}

/** The owner of everything in a local home. */
const LOCAL_OWNER = "local";

export async function openParts(config: Config, log: Log, role: "door" | "worker" = "door"): Promise<Parts> {
  makeHome(config.home);
  const points = crashPointsOf(config.crash, role);
  const store = await openStore({
    url: config.database_url,
    path: join(config.home, "loopkeeper.db"),
    key: config.key,
    onError: (error) => log("warn", "the store reported a fault", { error: messageOf(error) }),
  });
  const parts = {
    store,
    engines: createEngines({ env: config.env, self: config.self, log }),
    checkpoints: createCheckpoints({
      env: userEnvironment(config.env),
      home: config.user_home,
      limits: config.checkpoint_limits,
      ...(points === null ? {} : { afterGit: (command: string) => points.done(`git ${command}`) }),
    }),
  };
  return { config, log, ...(points === null ? parts : watched(parts, points)) };
}

export function logOf(config: Config, name: string): Log {
  return createLog({ level: config.log_level, file: null, name });
}

function makeHome(home: string): void {
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    closeToOthers(home);
    mkdirSync(join(home, "logs"), { recursive: true, mode: 0o700 });
    mkdirSync(join(home, "workspaces"), { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new LoopkeeperError(
      "store_unavailable",
      `LOOPKEEPER_HOME ${home} cannot be made (${systemCode(error) ?? "unknown"}). Make it writable, or set LOOPKEEPER_HOME to another folder.`,
    );
  }
}

/** A home that was made with other rights is closed, unless it also holds things that are not Loopkeeper's. */
function closeToOthers(home: string): void {
  const ours = readdirSync(home).every((name) => /^(loopkeeper\.db.*|logs|workspaces|agents|artifacts)$/.test(name));
  if (ours && (statSync(home).mode & 0o077) !== 0) chmodSync(home, 0o700);
}

/** Agents as the configuration file has them now; the file may have changed since this process started. */
export function agentsOf(config: Config, configPath: string | null): Agents {
  const file = configPath === null ? null : readConfigFile(configPath);
  return createAgents({
    env: config.env,
    home: config.home,
    self: config.self,
    configured: file?.agents ?? {},
    default_agent: file?.default_agent ?? null,
  });
}

/** How often a door looks whether live runs have lost their driver, in milliseconds. */
const WATCH_MS = 5_000;

/** What a door needs to answer calls: connected parts, and the watch that wakes a worker when one is missing. */
export async function connectTools(config: Config, log: Log): Promise<ToolRuntime> {
  const parts = await openParts(config, log);
  const { host } = await parts.engines.processIdentity();
  const waker = new WorkerWaker(parts);
  const watch = setInterval(() => void waker.wakeIfNeeded(), WATCH_MS);
  watch.unref();
  await waker.wakeIfNeeded();
  return {
    contextFor: (caller) => contextFor(parts, waker, host, caller),
    close: async () => {
      clearInterval(watch);
      await parts.store.close();
    },
  };
}

function contextFor(parts: Parts, waker: WorkerWaker, host: string, caller: Caller): ToolContext {
  const { config } = parts;
  return {
    owner: LOCAL_OWNER,
    store: parts.store,
    checkpoints: parts.checkpoints,
    agents: agentsOf(config, config.config_path),
    engines: parts.engines,
    settings: {
      note_lookback_hours: config.note_lookback_hours,
      silence_s: config.silence_s,
      tool_silence_s: config.tool_silence_s,
      command_timeout_s: config.command_timeout_s,
      fetch_remote: config.fetch_remote,
      config_path: config.config_path,
      host: parts.store.kind === "postgres" ? host : null,
      workspaces: join(config.home, "workspaces"),
    },
    host,
    cwd: config.cwd,
    inside_run: config.inside_run,
    caller,
    wakeWorker: () => waker.wake(),
  };
}

/**
 * How long a worker that was launched may take to sign in before another one is launched. A second one only leaves again, while
 * one that died on its way must be replaced soon enough for its runs to be noticed within 20 s.
 */
const SIGN_IN_MS = 10_000;

/** Starts a worker process when none of this host is alive. */
class WorkerWaker {
  readonly #parts: Parts;
  #launchedMs = Number.NEGATIVE_INFINITY;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async wake(): Promise<void> {
    if (await this.#anyAlive()) return;
    // A worker that was just launched needs a moment to sign in; launching a second one meanwhile would be for nothing.
    if (monotonicMs() - this.#launchedMs < SIGN_IN_MS) return;
    this.#launchedMs = monotonicMs();
    const { config } = this.#parts;
    launchDetached({
      command: config.self.command,
      args: [...config.self.args, "worker"],
      cwd: config.home,
      env: config.env,
      log_file: join(config.home, "logs", "worker.log"),
    });
  }

  /** For runs whose worker died or ended: whatever door lives notices it. */
  async wakeIfNeeded(): Promise<void> {
    if (this.#parts.config.inside_run !== null) return;
    try {
      const [live, leases] = await Promise.all([this.#parts.store.liveRuns(), this.#parts.store.leases()]);
      const { host } = await this.#parts.engines.processIdentity();
      if (live.some((run) => isOfHost(run, host)) || leases.length > 0) await this.wake();
    } catch (error) {
      this.#parts.log("warn", "the watch over workers failed", { error: messageOf(error) });
    }
  }

  async #anyAlive(): Promise<boolean> {
    const { store, engines } = this.#parts;
    const own = await engines.processIdentity();
    for (const worker of await store.workers()) {
      if (worker.identity.host !== own.host) continue;
      // What could not be looked at counts as alive: a second worker would only leave again.
      if ((await engines.isAlive(worker.identity)) !== false) {
        this.#launchedMs = Number.NEGATIVE_INFINITY;
        return true;
      }
      await store.removeWorker(worker.worker_id);
      // It may be the one that was launched just now: it signed in and died, so nothing is to be waited for.
      this.#launchedMs = Number.NEGATIVE_INFINITY;
    }
    return false;
  }
}
