import type { Repository } from "../checkpoint/checkpoint.ts";
import type { Drift } from "../checkpoint/drift-shapes.ts";
import { type DriftWish, driftRefusal, refuseOccupied, staleLockRefusal } from "../resume/drift-gate.ts";
import { lockLine } from "../resume/drift-lines.ts";
import { monotonicMs, msOf, now, sleep } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import type { RunRecord } from "../run/run.ts";
import { type Said, said } from "../run/said.ts";
import { inQuotes } from "../run/shell-quoted.ts";
import type { ToolContext } from "./context.ts";
import { refuseIf } from "./guards.ts";

type Lock = Drift["locks"][number];

const WHERE_IT_IS: Said = {
  agent: "`repo`: where it is",
  page: "its path with loopkeeper resume --repo",
  shell: "`--repo`: where it is",
};

/** How long a lock that somebody may still hold is waited for: a commit or a refresh of an editor is over sooner. */
const WAIT_MS = 5_000;
const POLL_MS = 200;

/** Throws when a run may not go on with what changed since its stop; gives the locks to set aside when its restore is made. */
export async function passDrift(ctx: ToolContext, run: RunRecord, drift: Drift, wish: DriftWish): Promise<readonly Lock[]> {
  refuseOccupied(run, drift);
  await refuseReplaced(ctx, run, drift);
  refuseIf(driftRefusal(run, drift, wish));
  return settledLocks(ctx, run, drift, wish);
}

/** In place: a repository at the same path that has neither the run's checkpoints nor its history is somebody else's. */
async function refuseReplaced(ctx: ToolContext, run: RunRecord, drift: Drift): Promise<void> {
  if (run.workspace_kind !== "in_place" || drift.checkpoint_known !== false) return;
  const found = await ctx.checkpoints.discover(run.workspace_path);
  const sameRemote = run.repo_remote !== null && found.remote === run.repo_remote;
  if (sameRemote || (run.root_commit !== null && found.root_commit === run.root_commit)) return;
  throw new LoopkeeperError(
    "repository_problem",
    said`another repository is at ${run.workspace_path} now: it has neither the run's checkpoints nor its first commit. Nothing was changed. Put the run's repository back, or give ${WHERE_IT_IS}.`,
  );
}

/**
 * The locks of git's that may be set aside when the restore is made. A lock in use is waited for, then refused. One that a
 * dead git left is removed only with consent, `on_drift: "restore"`; an explicit `keep` leaves it and goes on.
 */
async function settledLocks(ctx: ToolContext, run: RunRecord, drift: Drift, wish: DriftWish): Promise<readonly Lock[]> {
  if (drift.locks.length === 0) return [];
  const repo = await ctx.checkpoints.discover(run.workspace_path);
  const left = await waitForHeld(ctx, repo, run, drift.locks);
  const held = left.find((lock) => lock.state !== "stale");
  if (held !== undefined) {
    throw new LoopkeeperError(
      "repository_problem",
      held.holder === null
        ? `${lockLine(held)}. Nothing was changed. If no git works there, remove it yourself (rm ${inQuotes(held.path)}), then call again.`
        : `a git is at work in ${run.workspace_path}: ${lockLine(held)}. Nothing was changed. Wait for it to end, then call again.`,
    );
  }
  const [stale] = left;
  if (stale !== undefined) refuseIf(staleLockRefusal(stale, wish));
  return wish.on_drift === "restore" ? left : [];
}

async function waitForHeld(ctx: ToolContext, repo: Repository, run: RunRecord, seen: readonly Lock[]): Promise<readonly Lock[]> {
  const since = monotonicMs();
  let locks = seen;
  while (locks.some((lock) => lock.state !== "stale") && monotonicMs() - since < WAIT_MS && !ctx.caller.signal.aborted) {
    await sleep(POLL_MS, ctx.caller.signal);
    locks = await ctx.checkpoints.locks(repo, stoppedMs(run));
  }
  return locks;
}

/** Sets the locks aside, each looked at once more. Gives the paths that are gone. */
export async function removeLocks(
  ctx: ToolContext,
  repo: Repository,
  run: RunRecord,
  locks: readonly Lock[],
): Promise<readonly string[]> {
  const gone: string[] = [];
  for (const lock of locks) {
    if ((await ctx.checkpoints.setLockAside(repo, lock, stoppedMs(run))) === null)
      throw new LoopkeeperError("repository_problem", `${lock.path} came into use again. Nothing was changed. Call again.`);
    gone.push(lock.path);
  }
  return gone;
}

function stoppedMs(run: RunRecord): number {
  return msOf(run.stop?.at ?? now());
}
