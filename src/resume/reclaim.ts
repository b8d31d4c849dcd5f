import { now } from "../run/clock.ts";
import { newCheckpointId } from "../run/id.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import { allStays, checkpointsPart, type ReclaimTold, removalBegan, sessionsPart, wentFree } from "./reclaim-parts.ts";
import { type Free, judge, type ReasonDeps } from "./reclaim-reasons.ts";
import { type Sessions, sizeOf } from "./run-size.ts";

/**
 * Frees what a run holds on disk - its worktree, the agent's own files of it, the copies for another host, checkpoints whose
 * content is elsewhere - when all of it exists elsewhere. Otherwise nothing is freed, and each thing that exists nowhere else is
 * named. Each step can be the last one of a process that dies: the run is not marked before all of them, and a second try goes on.
 */

interface Deps extends ReasonDeps {
  readonly sessions: Sessions;
}

export interface Reclaimed extends ReclaimTold {
  /** Records of checkpoints that are no longer there. */
  readonly gone: readonly CheckpointRecord[];
}

export async function reclaimRun(deps: Deps, run: RunRecord, lease: { readonly fence: number }): Promise<Reclaimed> {
  const before = await sizeOf(deps, run);
  const kept = (reasons: readonly string[], passing: boolean): Reclaimed => ({ ...allStays(reasons, passing, before), gone: [] });
  await finishRemoval(deps, run);
  const judged = await judge(deps, run);
  if (judged.kept !== null) return kept(judged.kept, judged.passing);
  const why = await removeWorktree(deps, run, judged.free, lease);
  if (why !== null) return kept([`worktree ${run.workspace_path}: ${why}`], false);
  const sessions = await sessionsPart(deps.store, run, (session) => deps.sessions.free(run, session));
  await dropCopies(deps, run, lease);
  const { repo, commits } = judged.free;
  const checkpoints = await checkpointsPart(deps.store, run, (keep) =>
    deps.checkpoints.freeCheckpoints(repo, { run_id: run.run_id, keep, commits }),
  );
  const after = await sizeOf(deps, run);
  return { ...wentFree(run, before, after, [sessions, checkpoints]), gone: checkpoints.gone };
}

/** A removal that a power cut broke off has left a folder without some of its files: it is made whole, and begun anew. */
async function finishRemoval(deps: Deps, run: RunRecord): Promise<void> {
  if (!(await removalBegan(deps.store, run))) return;
  const repo = await deps.checkpoints.discover(run.repo_path).catch(() => null);
  if (repo !== null && repo.common_dir === run.repo_common_dir) await deps.checkpoints.mendRemoval(repo, run.workspace_path);
}

/** The reason when it was left as it is. */
async function removeWorktree(deps: Deps, run: RunRecord, free: Free, lease: { readonly fence: number }): Promise<string | null> {
  if (run.workspace_kind === "in_place") return null;
  const { run_id, workspace_path: worktree } = run;
  const events = [{ type: "reclaim_begun", at: now(), data: { worktree } }] as const;
  await deps.store.apply({ run_id, at: now(), fence: lease.fence, bump_revision: false, events });
  const why = await deps.checkpoints.removeWorktree(free.repo, free.worktree, {
    run_id,
    checkpoint_id: newCheckpointId(),
    worktree,
  });
  // Without it the next try would take files that a person deletes from now on for those of a removal that was broken off.
  if (why !== null) {
    const kept = [{ type: "reclaim_kept", at: now(), data: { why } }] as const;
    await deps.store.apply({ run_id, at: now(), fence: lease.fence, bump_revision: false, events: kept });
  }
  return why;
}

/** The record and the transcript stay; only what would carry the run on goes. */
async function dropCopies(deps: Deps, run: RunRecord, lease: { readonly fence: number }): Promise<void> {
  for (const name of ["session", "tree"] as const) {
    const copy = await deps.store.copies.get(run.run_id, name);
    if (copy === null || copy.parts.length === 0) continue;
    const { host, iteration, at } = copy;
    const head = { about: "", host, iteration, at, bytes: 0 };
    await deps.store.copies.set({ run_id: run.run_id, name, fence: lease.fence, head, contents: "", parts: [] });
  }
}
