import { join } from "node:path";
import { type Config, retentionOf } from "./config.ts";
import type { Engines } from "./engine/engine.ts";
import { launchDetached } from "./engine/launch-detached.ts";
import type { Log } from "./log.ts";
import { Stillness, signOf } from "./loop/stillness.ts";
import { monotonicMs, msOf } from "./run/clock.ts";
import { messageOf } from "./run/errors.ts";
import { isOfHost } from "./run/run.ts";
import type { LeaseRecord, Store, WorkerRecord } from "./store/store.ts";

interface Parts {
  readonly config: Config;
  readonly log: Log;
  readonly store: Store;
  readonly engines: Engines;
}

/**
 * How long a worker that was launched may take to sign in before another one is launched. A second one only leaves again, while
 * one that died on its way must be replaced soon enough for its runs to be noticed within 20 s.
 */
const SIGN_IN_MS = 10_000;
/** A worker that is there for runs looks after the retention policy often; only for its sake one is started at most once a day. */
const RETENTION_MS = 24 * 3_600_000;
const RETENTION_LOOK_MS = 60_000;

/** Starts a worker process when none of this host is alive. */
export class WorkerWaker {
  readonly #parts: Parts;
  readonly #still = new Stillness();
  #launchedMs = Number.NEGATIVE_INFINITY;
  #retentionLookMs = Number.NEGATIVE_INFINITY;

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
      const { store } = this.#parts;
      const [live, leases, workers] = await Promise.all([store.liveRuns(), store.leases(), store.workers()]);
      const { host } = await this.#parts.engines.processIdentity();
      this.#still.look(new Map([...leases.map(leaseSign), ...workers.map(workerSign)]));
      for (const worker of workers) if (worker.identity.host === host) await this.#signOffSilent(worker, leases);
      if (live.some((run) => isOfHost(run, host)) || leases.length > 0 || (await this.#retentionDue(host))) await this.wake();
    } catch (error) {
      this.#parts.log("warn", "the watch over workers failed", { error: messageOf(error) });
    }
  }

  async #retentionDue(host: string): Promise<boolean> {
    if (monotonicMs() - this.#retentionLookMs < RETENTION_LOOK_MS) return false;
    this.#retentionLookMs = monotonicMs();
    const { config, store } = this.#parts;
    const wanted = retentionOf(config.config_path);
    if (wanted === null) return false;
    const [last, at] = await Promise.all([store.retention.lastPass(host), store.clock()]);
    return last === null || msOf(at) - msOf(last) >= Math.max(wanted.every_ms, RETENTION_MS);
  }

  /**
   * A worker that lives and gives no sign of it (it was stopped, or hangs) would keep its runs for ever. It is signed off and
   * what it drives is let go of, so that another one recovers it; should it wake up, the fence refuses all that it writes.
   */
  async #signOffSilent(worker: WorkerRecord, leases: readonly LeaseRecord[]): Promise<void> {
    const { store, engines, log } = this.#parts;
    if (!this.#still.isDead(workerSign(worker)[0])) return;
    log("warn", "a worker is silent and is replaced", { worker: worker.worker_id, pid: worker.identity.pid });
    await store.removeWorker(worker.worker_id);
    for (const lease of leases) {
      if (lease.worker_id !== worker.worker_id || !this.#still.isDead(leaseSign(lease)[0])) continue;
      const taken = await store.takeOver(lease, "door", await engines.processIdentity());
      if (taken !== null) await store.releaseLease(lease.run_id, taken.fence);
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

const leaseSign = (lease: LeaseRecord): [string, string] => [`lease ${lease.run_id}`, signOf(lease)];
const workerSign = (worker: WorkerRecord): [string, string] => [`worker ${worker.worker_id}`, worker.beat_at];
