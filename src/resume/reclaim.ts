import { now } from "../run/clock.ts";
import { newCheckpointId } from "../run/id.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import { ALL, type Free, judge, type ReasonDeps } from "./reclaim-reasons.ts";
import { bytesText, freeable, type RunSize, type Sessions, sessionsOf, sizeOf } from "./run-size.ts";

/**
 * Frees what a run holds on disk - its worktree, the agent's own files of it, the copies for another host, checkpoints whose
 * content is elsewhere - when all of it exists elsewhere. Otherwise nothing is freed, and each thing that exists nowhere else is
 * named. Each step can be the last one of a process that dies: the run is not marked before all of them, and a second try goes on.
 */

interface Deps extends ReasonDeps {
  readonly sessions: Sessions;
}

export interface Reclaimed {
  readonly freed: readonly string[];
  /** What was not freed, each with its reason. */
  readonly kept: readonly string[];
  /** The workspace is gone, or was never the run's to free. */
  readonly done: boolean;
  /** What keeps it goes away by itself soon. */
  readonly passing: boolean;
  /** Records of checkpoints that are no longer there. */
  readonly gone: readonly CheckpointRecord[];
  readonly freed_bytes: number;
  readonly kept_bytes: number;
}

export async function reclaimRun(deps: Deps, run: RunRecord, lease: { readonly fence: number }): Promise<Reclaimed> {
  const before = await sizeOf(deps, run);
  const kept = (reasons: readonly string[], passing: boolean): Reclaimed => ({
    freed: [],
    kept: reasons,
    done: false,
    passing,
    gone: [],
    freed_bytes: 0,
    kept_bytes: freeable(before),
  });
  await finishRemoval(deps, run);
  const judged = await judge(deps, run);
  if (judged.kept !== null) return kept(judged.kept, judged.passing);
  const why = await removeWorktree(deps, run, judged.free, lease);
  if (why !== null) return kept([`worktree ${run.workspace_path}: ${why}`], false);
  const sessions = await freeSessions(deps, run);
  await dropCopies(deps, run, lease);
  const checkpoints = await freeCheckpoints(deps, run, judged.free);
  const after = await sizeOf(deps, run);
  return { ...told(run, before, after, [sessions, checkpoints]), done: true, passing: false, gone: checkpoints.gone };
}

interface Part {
  readonly freed: readonly string[];
  readonly kept: readonly string[];
}

function told(
  run: RunRecord,
  before: RunSize,
  after: RunSize,
  parts: readonly Part[],
): Omit<Reclaimed, "done" | "gone" | "passing"> {
  const inPlace = run.workspace_kind === "in_place";
  const worktree = before.worktree === null || before.worktree === 0 ? "" : ` (${bytesText(before.worktree)})`;
  return {
    freed: [
      ...(inPlace ? [] : [`worktree ${run.workspace_path}${worktree}`]),
      ...parts.flatMap((part) => part.freed),
      `the copies of its conversation and its tree${before.copies === 0 ? "" : ` (${bytesText(before.copies)})`}`,
    ],
    kept: [
      ...(inPlace ? [`${run.workspace_path}: it is the repository's own working tree`] : []),
      ...parts.flatMap((part) => part.kept),
      ...(run.branch === null ? [] : [`branch ${run.branch.replace(/^refs\/heads\//u, "")}: branches are not deleted`]),
    ],
    freed_bytes: Math.max(0, freeable(before) - freeable(after)),
    kept_bytes: freeable(after),
  };
}

/** A removal that a power cut broke off has left a folder without some of its files: it is made whole, and begun anew. */
async function finishRemoval(deps: Deps, run: RunRecord): Promise<void> {
  if (run.workspace_kind === "in_place") return;
  const [last] = await deps.store.events(run.run_id, { types: ["reclaim_begun", "reclaim_kept", "run_claimed"], limit: 1 });
  if (last?.type !== "reclaim_begun") return;
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

async function freeSessions(deps: Deps, run: RunRecord): Promise<Part> {
  const freed: string[] = [];
  const kept: string[] = [];
  for (const session of await sessionsOf(deps.store, run)) {
    const result = await deps.sessions.free(run, session);
    if (result.kept !== null) kept.push(`the agent's own files of session ${session}: ${result.kept}`);
    else if (result.freed > 0) freed.push(`the agent's own files of session ${session} (${bytesText(result.freed)})`);
  }
  return { freed, kept };
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

/** The starts and the stop are what the run's record points to: they stay readable. */
async function freeCheckpoints(
  deps: Deps,
  run: RunRecord,
  free: Free,
): Promise<Part & { readonly gone: readonly CheckpointRecord[] }> {
  const known = (await deps.store.checkpoints(run.run_id, ALL)).filter((record) => record.state === "present");
  const stop = run.stop?.uncommitted?.checkpoint;
  const keep = known.filter((record) => record.kind === "entry" || record.id === stop).map((record) => record.id);
  const left = new Set(await deps.checkpoints.freeCheckpoints(free.repo, { run_id: run.run_id, keep, commits: free.commits }));
  const gone = known.filter((record) => !left.has(record.id));
  const more = left.size - keep.filter((id) => left.has(id)).length;
  return {
    gone,
    freed: gone.length === 0 ? [] : [`${gone.length} checkpoints whose files are all in a branch, a tag or at the remote`],
    kept: [
      ...(left.size > more ? [`${left.size - more} checkpoints: where the run and its steps began, and its stop`] : []),
      ...(more > 0 ? [`${more} checkpoints: states between commits that exist nowhere else`] : []),
    ],
  };
}
