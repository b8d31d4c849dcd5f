import type { Repository } from "../checkpoint/checkpoint.ts";
import type { Drift } from "../checkpoint/drift-shapes.ts";
import type { ClassifiedStop, CommandResult } from "../engine/engine.ts";
import { monotonicMs, now, sleep } from "../run/clock.ts";
import { LeaseLostError, messageOf } from "../run/errors.ts";
import { newToken } from "../run/id.ts";
import type { RunRecord, StepRecord } from "../run/run.ts";
import type { RunChange } from "../store/store.ts";
import type { LoopContext } from "./context.ts";
import { JournalBuffer } from "./journal.ts";

/** Why the driver must break off what it is doing. */
export type BreakOff =
  | { readonly kind: "owner"; readonly why: string | null }
  | { readonly kind: "lease_lost" }
  | { readonly kind: "shutdown" }
  | { readonly kind: "budget"; readonly evidence: string }
  | { readonly kind: "storage"; readonly evidence: string };

/** Carries a stop out of whatever depth it was found at; the main flow records it. */
export class StopRun extends Error {
  override readonly name = "StopRun";
  readonly stop: ClassifiedStop;
  readonly ceiling: "run" | "step" | null;
  constructor(stop: ClassifiedStop, ceiling: "run" | "step" | null = null) {
    super(stop.evidence);
    this.stop = stop;
    this.ceiling = ceiling;
  }
}

/** A stop that the loop itself decided. */
export function loopStop(reason: ClassifiedStop["reason"], evidence: string, more: Partial<ClassifiedStop> = {}): ClassifiedStop {
  return {
    reason,
    source: "loop",
    evidence,
    resets_at: null,
    resets_at_source: null,
    resets_at_zone: null,
    resets_at_confidence: null,
    question: null,
    ...more,
  };
}

/** The stop that a break-off means. */
export function breakOffStop(reason: BreakOff | null): ClassifiedStop {
  switch (reason?.kind) {
    case "budget":
      return loopStop("budget", reason.evidence);
    case "storage":
      return loopStop("storage", reason.evidence);
    case "shutdown":
      return loopStop("interrupted", "the worker was told to end", { source: "recovery" });
    case "lease_lost":
      return loopStop("interrupted", "the driver lost its lease", { source: "recovery" });
    case "owner":
    case undefined:
      return loopStop("cancelled", reason?.why ?? "the owner called run_stop", { source: "owner" });
  }
}

const RENEW_MS = 2_000;
const WATCH_MS = 250;
/** A store out of reach for this long means that another driver may take over: the engine has to be gone by then. */
const STORE_OUT_OF_REACH_MS = 10_000;

/** One run being driven: its present record, its lease, and the watch that tells when to break off. */
export class Drive {
  readonly ctx: LoopContext;
  readonly fence: number;
  readonly journal: JournalBuffer;
  run: RunRecord;
  steps: readonly StepRecord[];
  /** Set once the workspace is there. */
  workspace: Repository | null = null;
  /** Why the run's files are not in the workspace, on another host than theirs; null when they are. */
  files_missing: string | null = null;
  /** What is missing from the copies of this run, by copy: it stands in the stop's record unless a later copy succeeds. */
  readonly gaps = new Map<"session" | "tree" | "secrets", string>();
  /** The copy of the session that is being made: a second one waits for it. Never rejects. */
  copying: Promise<void> = Promise.resolve();
  /** What others changed between the last stop and this drive, looked at before anything was made or started. */
  drift: Drift | null = null;
  /** What the preparation did that the engine has to know, in words. */
  readonly told: string[] = [];
  readonly #abort = new AbortController();
  #breakOff: BreakOff | null = null;
  #turnStartedMs: number | null = null;
  readonly #closed = new AbortController();
  readonly #watch: Promise<void>;

  constructor(ctx: LoopContext, run: RunRecord, fence: number, steps: readonly StepRecord[]) {
    this.ctx = ctx;
    this.run = run;
    this.fence = fence;
    this.steps = steps;
    this.journal = new JournalBuffer(ctx.store, run.run_id, fence, (error) => this.#storeFailed(error));
    this.#watch = this.#keepWatch();
  }

  /** Aborts when the driver must break off; see `breakOff`. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get breakOff(): BreakOff | null {
    return this.#breakOff;
  }

  /** The workspace, once prepared. */
  get repo(): Repository {
    if (this.workspace === null) throw new Error("the workspace is not prepared yet");
    return this.workspace;
  }

  /** Applies a change under this driver's lease and keeps the run's record current. */
  async apply(change: Omit<RunChange, "run_id" | "fence" | "at">): Promise<RunRecord> {
    await this.journal.flush();
    this.run = await this.ctx.store.apply({ ...change, run_id: this.run.run_id, fence: this.fence, at: now() });
    if (change.steps !== undefined) this.steps = await this.ctx.store.steps(this.run.run_id);
    return this.run;
  }

  /** Runs one of the owner's commands (setup, check) in the workspace; a break-off ends it. */
  runCommand(command: string): Promise<CommandResult> {
    return this.ctx.engines.runCommand({
      command,
      cwd: this.repo.top,
      run_id: this.run.run_id,
      nonce: newToken(),
      timeout_s: this.run.settings.command_timeout_s,
      signal: this.signal,
    });
  }

  /** Breaks off with a reason; only the first one counts, but a lost lease overrides it since nothing may be written then. */
  interrupt(reason: BreakOff): void {
    if (this.#breakOff === null || reason.kind === "lease_lost") this.#breakOff = reason;
    this.#abort.abort();
  }

  turnStarted(): void {
    this.#turnStartedMs = monotonicMs();
  }

  /** Ends the turn's clock and answers its length in milliseconds. */
  turnEnded(): number {
    const started = this.#turnStartedMs;
    this.#turnStartedMs = null;
    return started === null ? 0 : Math.round(monotonicMs() - started);
  }

  /** Stops watching and renewing; the lease itself is released by the caller. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#watch;
    await this.journal.close();
  }

  async #keepWatch(): Promise<void> {
    let renewedMs = monotonicMs();
    let reachedMs = monotonicMs();
    while (!this.#closed.signal.aborted) {
      await sleep(WATCH_MS, this.#closed.signal);
      if (this.#closed.signal.aborted) return;
      try {
        if (monotonicMs() - renewedMs >= RENEW_MS) {
          renewedMs = monotonicMs();
          if (!(await this.ctx.store.renewLease(this.run.run_id, this.fence))) this.interrupt({ kind: "lease_lost" });
        }
        await this.#look();
        reachedMs = monotonicMs();
      } catch (error) {
        this.ctx.log("warn", "the store did not answer the driver's watch", { run_id: this.run.run_id, error: messageOf(error) });
        if (monotonicMs() - reachedMs > STORE_OUT_OF_REACH_MS) this.interrupt({ kind: "lease_lost" });
      }
    }
  }

  async #look(): Promise<void> {
    const seen = await this.ctx.store.run(this.run.run_id, this.run.owner);
    if (seen === null || seen.fence !== this.fence) {
      this.interrupt({ kind: "lease_lost" });
      return;
    }
    if (seen.state === "stopping" && seen.stop_request !== null) this.interrupt({ kind: "owner", why: seen.stop_request.why });
    const minutes = seen.settings.budget?.minutes;
    if (minutes !== undefined && this.#turnStartedMs !== null) {
      const spentMs = seen.usage.active_ms + (monotonicMs() - this.#turnStartedMs);
      if (spentMs > minutes * 60_000) this.interrupt({ kind: "budget", evidence: `time cap of ${minutes} minutes reached` });
    }
  }

  #storeFailed(error: unknown): void {
    if (error instanceof LeaseLostError) this.interrupt({ kind: "lease_lost" });
    else this.interrupt({ kind: "storage", evidence: `the journal could not be written: ${messageOf(error)}` });
  }
}
