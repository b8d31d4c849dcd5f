import type { Checkpoints } from "../checkpoint/checkpoint.ts";
import { msOf } from "../run/clock.ts";
import { isLive, type RunRecord, type WorkspaceKind } from "../run/run.ts";
import { RESUMABLE_STOP_REASONS } from "../run/stop-reason.ts";
import type { Store } from "../store/store.ts";
import { driftSince } from "./drift-since.ts";
import { type LeftEdits, successorNote } from "./note.ts";

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

/** More than that many runs begun since one that stopped only now: nobody has such a repository. */
const SEEN_RUNS = 200;

/**
 * The immediate predecessor: the newest finished run of the same owner on the same repository. Only it counts; a done run,
 * or one that briefs no one, ends the search. Null when there is none.
 */
export async function findPredecessor(deps: Deps, place: NewRunPlace): Promise<Predecessor | null> {
  const runs = await deps.store.runsOfRepository({
    owner: place.owner,
    common_dir: place.common_dir,
    remote: place.remote,
    limit: SEEN_RUNS,
  });
  const finished = runs.filter((run) => !isLive(run.state) && run.stopped_at !== null);
  const [run] = finished.toSorted((a, b) => msOf(b.stopped_at ?? b.created_at) - msOf(a.stopped_at ?? a.created_at));
  if (run === undefined) return null;
  const refused = whyNotBriefed(run, place);
  const left = await leftEdits(deps, run, place);
  if (refused !== null) return { run, briefed: false, why: refused, work_in_tree: left.in_tree, note: null };
  const [acts, steps, iterations] = await Promise.all([
    deps.store.acts(run.run_id, 50),
    deps.store.steps(run.run_id),
    deps.store.iterations(run.run_id, 1),
  ]);
  const stop = run.stop;
  if (stop === null) return { run, briefed: false, why: "its stop was not recorded", work_in_tree: left.in_tree, note: null };
  const note = successorNote({ run, stop, steps, acts, drift: null, unfinished: iterations[0]?.finished === false }, left);
  return { run, briefed: true, why: `it stopped as ${stop.reason} at ${stop.at}`, work_in_tree: left.in_tree, note };
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

/** Whether both its commits and its uncommitted edits are in what the new run will work on, and where they are if not. */
async function leftEdits(deps: Deps, run: RunRecord, place: NewRunPlace): Promise<LeftEdits> {
  const left = run.stop?.uncommitted;
  const checkpoint = left?.checkpoint == null ? null : await deps.store.checkpoint(run.run_id, left.checkpoint);
  const known = place.common_dir === run.repo_common_dir && checkpoint !== null;
  const about = {
    revision: known ? `refs/loopkeeper/runs/${run.run_id}/${checkpoint.id}` : null,
    branch: run.workspace_kind === "worktree" ? run.branch : null,
  };
  if (place.base_run === run.run_id) return { ...about, in_tree: true, missing: [] };
  if (checkpoint === null) return { ...about, in_tree: false, missing: [] };
  const sameTree = place.workspace === "in_place" && place.workspace_path === run.workspace_path;
  if (!sameTree) {
    const nothingLeft = (left?.total_files ?? 0) === 0;
    return { ...about, in_tree: nothingLeft && checkpoint.head === place.base_commit, missing: [] };
  }
  const drift = await driftSince(deps, run, checkpoint, { own_commits: [], remote: false });
  if (drift === null) return { ...about, in_tree: false, missing: [] };
  const changed = new Set(drift.files_changed);
  const theirs = (left?.files ?? []).filter((file) => file.owner === "this_run").map((file) => file.path);
  const missing = theirs.filter((path) => changed.has(path));
  return { ...about, in_tree: missing.length === 0, missing: missing.length === theirs.length ? [] : missing };
}
