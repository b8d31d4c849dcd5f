import type { RunRecord } from "../run/run.ts";
import { allStays, checkpointsPart, type ReclaimTold, removalBegan, sessionsPart, wentFree } from "./reclaim-parts.ts";
import { type Free, judge, type ReasonDeps } from "./reclaim-reasons.ts";
import { type RunSize, type Sessions, sizeOf } from "./run-size.ts";

/** What a reclaim would do: judged and told by the pieces that carry it out (reclaim.ts). Looks only, and changes nothing. */

interface Deps extends ReasonDeps {
  readonly sessions: Sessions;
}

export interface ReclaimOutlook extends ReclaimTold {
  /** A removal was broken off: what goes is known only when the worktree is whole again, and that is the first thing to be done. */
  readonly broken_off: boolean;
}

/** `size`: what the run takes now, where it was measured already. */
export async function reclaimOutlook(deps: Deps, run: RunRecord, size: RunSize | null = null): Promise<ReclaimOutlook> {
  const before = size ?? (await sizeOf(deps, run));
  if (await halfRemoved(deps, run)) return { ...allStays([brokenOff(run)], true, before), broken_off: true };
  const judged = await judge(deps, run);
  if (judged.kept !== null) return { ...allStays(judged.kept, judged.passing, before), broken_off: false };
  return { ...(await wouldGo(deps, run, judged.free, before)), broken_off: false };
}

async function wouldGo(deps: Deps, run: RunRecord, { repo, commits }: Free, before: RunSize): Promise<ReclaimTold> {
  const { run_id } = run;
  const sessions = await sessionsPart(deps.store, run, (session) => deps.sessions.freeable(run, session));
  const checkpoints = await checkpointsPart(deps.store, run, (keep) =>
    deps.checkpoints.checkpointsLeft(repo, { run_id, keep, commits }),
  );
  const left = await deps.checkpoints.diskUse(repo, { run_id, worktree: null, only: checkpoints.left });
  const after: RunSize = {
    ...before,
    worktree: 0,
    checkpoints: left.checkpoints,
    session: before.session === null ? null : before.session - sessions.bytes,
    copies: 0,
  };
  return wentFree(run, before, after, [sessions, checkpoints]);
}

function brokenOff(run: RunRecord): string {
  return `worktree ${run.workspace_path}: its removal was broken off; it is made whole first, and then judged anew`;
}

async function halfRemoved(deps: Deps, run: RunRecord): Promise<boolean> {
  if (!(await removalBegan(deps.store, run))) return false;
  return (await deps.checkpoints.worktreeState(run.workspace_path, run.repo_common_dir)) !== "missing";
}
