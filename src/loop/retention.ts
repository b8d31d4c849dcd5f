import { carryOut, type RetentionContext } from "../resume/retention.ts";
import { sessionsThrough } from "../resume/run-size.ts";
import { bytesText } from "../run/bytes.ts";
import type { LoopContext } from "./context.ts";

/** How much longer a worker waits for its next pass while it drives runs: one that is never idle passes all the same. */
const BUSY_FACTOR = 24;

/**
 * One pass of the retention policy, when it is on and its time has come on this host. A pass that a death breaks off is made
 * again at the next time: what it had freed is marked, and the run that it died in is as after a reclaim that was broken off.
 */
export async function retain(ctx: LoopContext, options: { readonly idle: boolean; readonly signal: AbortSignal }): Promise<void> {
  const wanted = ctx.retention();
  if (wanted === null) return;
  const every = wanted.every_ms * (options.idle ? 1 : BUSY_FACTOR);
  if (!(await ctx.store.retention.beginPass(ctx.identity.host, every))) return;
  const { rows } = await carryOut(contextOf(ctx, options.signal), { policy: wanted.policy, apply: true, all: false });
  const done = rows.filter((row) => row.done);
  const freed = bytesText(done.reduce((sum, row) => sum + row.freed_bytes, 0));
  if (rows.length > 0) ctx.log("info", "retention passed", { done: done.length, kept: rows.length - done.length, freed });
}

function contextOf(ctx: LoopContext, signal: AbortSignal): RetentionContext {
  const { store, checkpoints, engines, log } = ctx;
  return {
    store,
    checkpoints,
    engines,
    log,
    host: ctx.identity.host,
    caller: { signal },
    sessions: sessionsThrough(engines, (run) => ctx.agentsOf(run.settings.config_path).resolve(run.agent)),
  };
}
