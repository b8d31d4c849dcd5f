import { monotonicMs, sleep } from "../run/clock.ts";
import { LoopkeeperError, messageOf } from "../run/errors.ts";
import { isLive, isOfHost } from "../run/run.ts";
import type { LeaseRecord } from "../store/store.ts";
import type { LoopContext } from "./context.ts";
import type { Drive } from "./drive.ts";
import { driveRun } from "./loop.ts";
import { recoverRun } from "./recover.ts";
import { retain } from "./retention.ts";
import { resumeDue } from "./scheduled.ts";
import { DEAD_MS, Stillness, signOf } from "./stillness.ts";

const POLL_MS = 200;
const BEAT_MS = 2_000;
/** How often it is looked whether the retention policy is due. */
const RETAIN_LOOK_MS = 2_000;
const RETAIN_PAUSE_MS = 60_000;

/**
 * The worker process: claims queued runs, drives up to `max_live_runs` at once, recovers runs whose driver died, and ends
 * itself after a while without anything to do. Resolves when it has ended.
 */
export async function runWorker(
  ctx: LoopContext,
  options: { readonly version: string; readonly shutdown: AbortSignal },
): Promise<void> {
  do {
    await signIn(ctx, options.version);
    try {
      if (await olderWorker(ctx)) return;
      await new Worker(ctx, options).run();
    } finally {
      await ctx.store
        .removeWorker(ctx.worker_id)
        .catch((error: unknown) => ctx.log("warn", "the worker could not sign off", { error: messageOf(error) }));
    }
    // A door that saw this worker alive just before it signed off started none: its run must not wait for the next door.
  } while (!options.shutdown.aborted && (await ctx.homeExists()) && (await hasWork(ctx)));
}

/** By the store's clock, so that the later of two is told by all in the same way. */
async function signIn(ctx: LoopContext, version: string): Promise<void> {
  const started_at = await ctx.store.clock();
  await ctx.store.registerWorker({ worker_id: ctx.worker_id, identity: ctx.identity, version, started_at });
}

/** Runs that need a worker of this host. */
async function hasWork(ctx: LoopContext): Promise<boolean> {
  return (await ctx.store.liveRuns()).some((run) => isOfHost(run, ctx.identity.host));
}

/** Two doors may have launched a worker each; the one that signed in later leaves again. */
async function olderWorker(ctx: LoopContext): Promise<boolean> {
  const workers = await ctx.store.workers();
  const own = workers.find((worker) => worker.worker_id === ctx.worker_id);
  for (const other of workers) {
    if (own === undefined || other === own || other.identity.host !== ctx.identity.host) continue;
    const earlier = other.started_at < own.started_at || (other.started_at === own.started_at && other.worker_id < own.worker_id);
    if (earlier && (await ctx.engines.isAlive(other.identity)) === true) return true;
  }
  return false;
}

class Worker {
  readonly #ctx: LoopContext;
  readonly #shutdown: AbortSignal;
  readonly #version: string;
  readonly #driving = new Map<string, { readonly done: Promise<void>; drive: Drive | null }>();
  readonly #leases = new Stillness();
  /** Set when another worker was started because this one had been silent: it ends what it drives and leaves. */
  #leaving = false;
  #beatMs = 0;
  #reapMs = 0;
  #busyMs = monotonicMs();
  #retainMs = 0;
  #retaining: Promise<void> | null = null;

  constructor(ctx: LoopContext, options: { readonly version: string; readonly shutdown: AbortSignal }) {
    this.#ctx = ctx;
    this.#shutdown = options.shutdown;
    this.#version = options.version;
  }

  async run(): Promise<void> {
    while (!this.#shutdown.aborted) {
      try {
        await this.#round();
      } catch (error) {
        this.#ctx.log("error", "a round of the worker failed", { error: messageOf(error) });
        if (error instanceof LoopkeeperError && error.code === "store_unavailable") {
          if (!(await this.#ctx.homeExists())) return;
          await sleep(2_000, this.#shutdown);
        }
      }
      if (!(await this.#ctx.homeExists())) return;
      if (this.#leaving && this.#driving.size === 0 && this.#retaining === null) return;
      this.#retain();
      if (await this.#idleTooLong()) break;
      await sleep(POLL_MS, this.#shutdown);
    }
    await this.#handOver();
  }

  async #round(): Promise<void> {
    const nowMs = monotonicMs();
    if (nowMs - this.#beatMs > BEAT_MS) {
      this.#beatMs = nowMs;
      if (!(await this.#ctx.store.beatWorker(this.#ctx.worker_id))) await this.#signedOff();
    }
    if (this.#leaving) return;
    if (nowMs - this.#reapMs > 1_000) {
      this.#reapMs = nowMs;
      await this.#reap();
    }
    while (this.#driving.size < this.#ctx.settings.max_live_runs && !this.#shutdown.aborted) {
      const claimed = await this.#ctx.store.claimQueued(this.#ctx.worker_id, this.#ctx.identity);
      if (claimed === null) return;
      this.#start(claimed.run.run_id, (onDrive) => driveRun(this.#ctx, claimed, onDrive));
    }
  }

  /** It was silent for so long (a debugger, a stopped process) that a door took it for dead. */
  async #signedOff(): Promise<void> {
    await signIn(this.#ctx, this.#version);
    this.#leaving = await olderWorker(this.#ctx);
    this.#ctx.log("warn", "this worker had been signed off", { leaving: this.#leaving });
  }

  #start(runId: string, work: (onDrive: (drive: Drive) => void) => Promise<void>): void {
    const entry: { done: Promise<void>; drive: Drive | null } = { done: Promise.resolve(), drive: null };
    this.#driving.set(runId, entry);
    entry.done = work((drive) => {
      entry.drive = drive;
      // The order to end may have come while the run was being claimed.
      if (this.#shutdown.aborted) drive.interrupt({ kind: "shutdown" });
    })
      .catch((error: unknown) => this.#ctx.log("error", "driving a run failed", { run_id: runId, error: messageOf(error) }))
      .finally(() => {
        this.#driving.delete(runId);
        this.#busyMs = monotonicMs();
      });
  }

  /** Takes over runs whose driver's process is gone, or whose lease was not renewed for 15 s of this process's running time. */
  async #reap(): Promise<void> {
    const leases = await this.#ctx.store.leases();
    this.#leases.look(new Map(leases.map((lease) => [lease.run_id, signOf(lease)])));
    for (const lease of leases) {
      if (this.#driving.has(lease.run_id)) continue;
      const evidence = await this.#deadBecause(lease);
      if (evidence === null) continue;
      const taken = await this.#ctx.store.takeOver(lease, this.#ctx.worker_id, this.#ctx.identity);
      if (taken === null) continue;
      if (isLive(taken.run.state)) this.#start(lease.run_id, () => recoverRun(this.#ctx, taken, evidence));
      else await this.#ctx.store.releaseLease(lease.run_id, taken.fence);
    }
    await this.#attend();
  }

  /** Runs without a driver: orphans are recovered, and what waits for a time is continued when it has come. */
  async #attend(): Promise<void> {
    const runs = await this.#ctx.store.liveRuns();
    for (const run of runs) {
      if (this.#driving.has(run.run_id)) continue;
      if (run.state === "running" || run.state === "stopping") {
        const taken = await this.#ctx.store.leaseIdle(run.run_id, this.#ctx.worker_id, this.#ctx.identity);
        if (taken !== null)
          this.#start(run.run_id, () =>
            recoverRun(this.#ctx, { run, fence: taken.fence }, "its driver let go of it without recording a stop"),
          );
      }
    }
    await resumeDue(
      this.#ctx,
      runs.filter((run) => isOfHost(run, this.#ctx.identity.host)),
    );
  }

  async #deadBecause(lease: LeaseRecord): Promise<string | null> {
    const alive = await this.#ctx.engines.isAlive(lease.identity);
    if (alive === false) return `the process that drove it is gone (pid ${lease.identity.pid} on ${lease.identity.host})`;
    return this.#leases.isDead(lease.run_id)
      ? `its driver on ${lease.identity.host} did not renew its lease for ${DEAD_MS / 1000} s`
      : null;
  }

  async #idleTooLong(): Promise<boolean> {
    if (this.#driving.size > 0 || this.#retaining !== null) {
      this.#busyMs = monotonicMs();
      return false;
    }
    if (monotonicMs() - this.#busyMs < this.#ctx.settings.worker_idle_ms) return false;
    // A run that waits for a time would be forgotten if the worker went away.
    return !(await hasWork(this.#ctx));
  }

  /** Beside the rounds: freeing a worktree may take a while, and runs must not wait for it. */
  #retain(): void {
    const nowMs = monotonicMs();
    if (this.#retaining !== null || this.#leaving || nowMs - this.#retainMs < RETAIN_LOOK_MS) return;
    this.#retainMs = nowMs;
    this.#retaining = retain(this.#ctx, { idle: this.#driving.size === 0, signal: this.#shutdown })
      .catch((error: unknown) => {
        // A configuration that cannot be read is not read again at once: it would fill the log.
        this.#retainMs = monotonicMs() + RETAIN_PAUSE_MS;
        this.#ctx.log("warn", "the retention policy could not be carried out", { error: messageOf(error) });
      })
      .finally(() => {
        this.#retaining = null;
      });
  }

  /** Told to end: each run is stopped as `interrupted` with its tree and context saved; the next resume goes on from there. */
  async #handOver(): Promise<void> {
    for (const { drive } of this.#driving.values()) drive?.interrupt({ kind: "shutdown" });
    await Promise.all([...[...this.#driving.values()].map((entry) => entry.done), this.#retaining]);
  }
}
