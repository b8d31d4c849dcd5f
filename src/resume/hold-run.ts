import { monotonicMs, now, sleep } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { newToken } from "../run/id.ts";
import { AGAIN, tool } from "../run/names.ts";
import type { RunRecord } from "../run/run.ts";
import { said } from "../run/said.ts";
import type { ProcessIdentity, Store } from "../store/store.ts";

/** As a driver renews its lease: an observer takes over what it saw unrenewed for 15 s. */
const RENEW_MS = 2_000;
/** How long another call on the same run is waited for. */
const WAIT_MS = 10_000;
const POLL_MS = 100;

/** What holding a run needs of this process. */
export interface HoldContext {
  readonly owner: string;
  readonly store: Store;
  readonly engines: {
    processIdentity(): Promise<ProcessIdentity>;
    isAlive(identity: ProcessIdentity): Promise<boolean | null>;
  };
  /** `signal` ends the waiting for another holder. */
  readonly caller: { readonly signal: AbortSignal };
}

/**
 * Does `work` on a run that is not live while nobody else can start, resume or reset it, nor use its working tree. Every
 * write of the work must name the fence. When this process dies in between, a worker takes the lease from it, and the
 * run is as its last write left it.
 */
export async function holding<T>(
  ctx: HoldContext,
  run: RunRecord,
  work: (lease: { readonly fence: number }) => Promise<T>,
): Promise<T> {
  const lease = await takeLease(ctx, run);
  const { fence } = lease;
  const over = new AbortController();
  const renewing = renew(ctx, run.run_id, fence, over.signal);
  try {
    const at = now();
    await ctx.store.apply({
      run_id: run.run_id,
      at,
      fence,
      expected_revision: run.revision,
      bump_revision: false,
      tree_hold: run.workspace_path,
      events: [{ type: "run_held", at, data: { fence } }],
    });
    return await work(lease);
  } finally {
    over.abort();
    await renewing;
    await ctx.store.releaseLease(run.run_id, fence);
  }
}

async function takeLease(ctx: HoldContext, run: RunRecord): Promise<{ readonly fence: number }> {
  const worker = `door-${newToken().slice(0, 8)}`;
  const identity = await ctx.engines.processIdentity();
  const since = monotonicMs();
  for (;;) {
    const lease = (await ctx.store.leaseIdle(run.run_id, worker, identity)) ?? (await fromDeadHolder(ctx, run.run_id, worker));
    if (lease !== null) return { fence: lease.fence };
    const seen = await ctx.store.run(run.run_id, ctx.owner);
    if (seen?.revision !== run.revision || monotonicMs() - since > WAIT_MS || ctx.caller.signal.aborted) throw busy(run, seen);
    await sleep(POLL_MS, ctx.caller.signal);
  }
}

/** A call that died while it held the run must not block the next one until a worker has noticed. */
async function fromDeadHolder(ctx: HoldContext, runId: string, worker: string): Promise<{ readonly fence: number } | null> {
  const lease = (await ctx.store.leases()).find((held) => held.run_id === runId);
  if (lease === undefined || (await ctx.engines.isAlive(lease.identity)) !== false) return null;
  return ctx.store.takeOver(lease, worker, await ctx.engines.processIdentity());
}

function busy(run: RunRecord, seen: RunRecord | null): LoopkeeperError {
  if (seen !== null && seen.revision !== run.revision)
    return new LoopkeeperError(
      "revision_conflict",
      said`run ${run.run_id} moved to revision ${seen.revision} meanwhile (it was at ${run.revision}); nothing was changed. Look at ${tool("run_status")}, then ${AGAIN}.`,
    );
  return new LoopkeeperError(
    "already_running",
    said`another call is changing run ${run.run_id} now; nothing was changed. Look at ${tool("run_status")}, then ${AGAIN}.`,
  );
}

async function renew(ctx: HoldContext, runId: string, fence: number, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await sleep(RENEW_MS, over);
    // A renewal that failed shows at the work's next write, which names the fence.
    if (!over.aborted) await ctx.store.renewLease(runId, fence).catch(() => false);
  }
}
