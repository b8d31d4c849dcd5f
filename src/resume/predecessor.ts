import type { Checkpoints } from "../checkpoint/checkpoint.ts";
import { msOf } from "../run/clock.ts";
import { isLive, type RunRecord, type WorkspaceKind } from "../run/run.ts";
import { RESUMABLE_STOP_REASONS } from "../run/stop-reason.ts";
import type { Store } from "../store/store.ts";
import { driftSince } from "./drift-since.ts";
import { successorNote } from "./note.ts";

/** What a new run is told about the run before it on the same repository. */
export interface Predecessor {
  readonly run: RunRecord;
  readonly briefed: boolean;
  /** Why it is, or is not, briefed from. */
  readonly why: string;
  readonly work_in_tree: boolean;
  readonly note: string | null;
}

interface Deps {
  readonly store: Pick<Store, "runsOfRepository" | "acts" | "steps" | "checkpoint" | "iterations">;
  readonly checkpoints: Pick<Checkpoints, "discover" | "contentAt" | "resolve" | "drift">;
}

export interface NewRunPlace {
  readonly owner: string;
  readonly common_dir: string;
  readonly remote: string | null;
  readonly workspace: WorkspaceKind;
  readonly workspace_path: string;
  readonly base_commit: string | null;
  readonly base_run: string | null;
  readonly now_ms: number;
  readonly lookback_hours: number;
  readonly brief: "auto" | "none";
}

/**
 * The immediate predecessor: the newest finished run of the same owner on the same repository. Only it counts; a done run,
 * or one that briefs no one, ends the search. Null when there is none.
 */
export async function findPredecessor(deps: Deps, place: NewRunPlace): Promise<Predecessor | null> {
  const runs = await deps.store.runsOfRepository({
    owner: place.owner,
    common_dir: place.common_dir,
    remote: place.remote,
    limit: 50,
  });
  const finished = runs.filter((run) => !isLive(run.state) && run.stopped_at !== null);
  const [run] = finished.toSorted((a, b) => msOf(b.stopped_at ?? b.created_at) - msOf(a.stopped_at ?? a.created_at));
  if (run === undefined) return null;
  const refused = whyNotBriefed(run, place);
  const inTree = await workInTree(deps, run, place);
  if (refused !== null) return { run, briefed: false, why: refused, work_in_tree: inTree, note: null };
  const [acts, steps, iterations] = await Promise.all([
    deps.store.acts(run.run_id, 50),
    deps.store.steps(run.run_id),
    deps.store.iterations(run.run_id, 1),
  ]);
  const stop = run.stop;
  if (stop === null) return { run, briefed: false, why: "its stop was not recorded", work_in_tree: inTree, note: null };
  const note = successorNote(
    { run, stop, steps, acts, drift: null, unfinished: iterations[0]?.finished === false },
    { work_in_tree: inTree, branch: run.workspace_kind === "worktree" ? run.branch : null },
  );
  return { run, briefed: true, why: `it stopped as ${stop.reason} at ${stop.at}`, work_in_tree: inTree, note };
}

function whyNotBriefed(run: RunRecord, place: NewRunPlace): string | null {
  if (place.brief === "none") return "brief is none";
  if (run.archived_at !== null) return "it is archived";
  if (run.was_reset !== null) return "it was reset to its start";
  if (run.stop_reason === null || !RESUMABLE_STOP_REASONS.includes(run.stop_reason))
    return `it stopped as ${run.stop_reason ?? "unknown"}, which is a verdict or the owner's will`;
  const ageMs = place.now_ms - msOf(run.stopped_at ?? run.created_at);
  if (ageMs > place.lookback_hours * 3_600_000) return `it stopped more than ${place.lookback_hours} h ago`;
  return null;
}

/** True when both its commits and its uncommitted edits are in what the new run will work on. */
async function workInTree(deps: Deps, run: RunRecord, place: NewRunPlace): Promise<boolean> {
  if (place.base_run === run.run_id) return true;
  const left = run.stop?.uncommitted;
  const checkpoint = left?.checkpoint == null ? null : await deps.store.checkpoint(run.run_id, left.checkpoint);
  if (checkpoint === null) return false;
  const sameTree = place.workspace === "in_place" && place.workspace_path === run.workspace_path;
  if (!sameTree) return (left?.total_files ?? 0) === 0 && checkpoint.head === place.base_commit;
  const drift = await driftSince(deps, run, checkpoint, { own_commits: [], remote: false });
  if (drift === null) return false;
  const theirs = new Set((left?.files ?? []).filter((file) => file.owner === "this_run").map((file) => file.path));
  return !drift.files_changed.some((path) => theirs.has(path));
}
