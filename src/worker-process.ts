import { access } from "node:fs/promises";
import { join } from "node:path";
import { agentsOf, logOf, openParts, type Parts } from "./app.ts";
import { type Config, retentionOf } from "./config.ts";
import type { LoopContext } from "./loop/context.ts";
import { runWorker } from "./loop/worker.ts";
import { newToken } from "./run/id.ts";
import { VERSION } from "./version.ts";

/** `loopkeeper worker`: drives runs until it is told to end or has had nothing to do for a while. */
export async function runWorkerProcess(config: Config): Promise<void> {
  const log = logOf(config, "worker");
  const parts = await openParts(config, log, "worker");
  const shutdown = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => shutdown.abort());
  // A log file on a full disk, or a terminal that went away, is no reason to end runs.
  process.on("SIGHUP", () => log("info", "hang-up ignored"));
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
  const identity = await parts.engines.processIdentity();
  log("info", "worker started", { pid: identity.pid, version: VERSION });
  try {
    await runWorker(loopContext(parts, identity), { version: VERSION, shutdown: shutdown.signal });
  } finally {
    await parts.store.close();
    log("info", "worker ended");
  }
}

function loopContext(parts: Parts, identity: LoopContext["identity"]): LoopContext {
  const { config } = parts;
  return {
    store: parts.store,
    checkpoints: parts.checkpoints,
    engines: parts.engines,
    agentsOf: (configPath) => agentsOf(config, configPath),
    settings: {
      max_live_runs: config.max_live_runs,
      worker_idle_ms: config.worker_idle_minutes * 60_000,
      fetch_remote: config.fetch_remote,
    },
    worker_id: `worker-${newToken().slice(0, 12)}`,
    identity,
    retention: () => retentionOf(config.config_path),
    homeExists: () => exists(join(config.home, "workspaces")),
    log: parts.log,
  };
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
