import { chmodSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createCheckpoints } from "./checkpoint/create.ts";
import { type Config, readConfigFile } from "./config.ts";
import { crashPointsOf } from "./crash-points.ts";
import { watched } from "./crash-watch.ts";
import { createAgents, createEngines } from "./engine/create.ts";
import type { Agents, Engines } from "./engine/engine.ts";
import { userEnvironment } from "./engine/environment.ts";
import { createLog, type Log } from "./log.ts";
import { LoopkeeperError, messageOf, systemCode } from "./run/errors.ts";
import { openStore } from "./store/open.ts";
import type { Store } from "./store/store.ts";
import type { Caller, ToolContext } from "./tools/context.ts";
import type { ToolRuntime } from "./tools/runtime.ts";
import { WorkerWaker } from "./worker-waker.ts";

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
  const ours = readdirSync(home).every((name) =>
    /^(loopkeeper\.db.*|logs|workspaces|agents|artifacts|serve-token.*|serve\.json.*|console\.html)$/.test(name),
  );
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
