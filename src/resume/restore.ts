import type {
  Captured,
  Checkpoints,
  HeadMove,
  OwnedPath,
  PathContent,
  Repository,
  RestorePlan,
  RestoreResult,
} from "../checkpoint/checkpoint.ts";
import { now } from "../run/clock.ts";
import { LoopkeeperError, refused } from "../run/errors.ts";
import { newCheckpointId } from "../run/id.ts";
import { setting, tool } from "../run/names.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import { type Said, said } from "../run/said.ts";
import type { Store } from "../store/store.ts";
import { checkpointRecord } from "./checkpoint-record.ts";
import { operationAtRestore } from "./drift-gate.ts";
import { ownCommits } from "./drift-since.ts";
import { loadOwned, type Owned, type OwnedEntry, type OwnedState, sameContent, saveOwned } from "./ownership.ts";
import { remakeWorktree } from "./remake-worktree.ts";
import { changedSince, headMovedByRun, ownSince, type Timeline, timelineOf } from "./timeline.ts";

/** Takes back what a run changed, and nothing else. Reset, entry restore and drift restore all go through here. */

interface Deps {
  readonly store: Pick<
    Store,
    "acts" | "checkpoint" | "checkpoints" | "iterations" | "runArtifacts" | "setRunArtifacts" | "apply"
  >;
  readonly checkpoints: Checkpoints;
}

export interface RunRestore {
  readonly repo: Repository;
  readonly target: CheckpointRecord;
  readonly paths: readonly OwnedPath[];
  readonly entries: readonly OwnedPath[];
  readonly overwrite: readonly string[];
  /** A merge, rebase... under way is the run's own, and goes back with its files. */
  readonly own_operation: boolean;
  readonly owned: OwnedState;
  readonly plan: RestorePlan;
}

const CHECKPOINTS_LISTED: Said = { ...tool("run_explain_stop"), page: "Checkpoints" };

/** The name under which a HEAD that cannot be moved back stands among the conflicts. */
export const HEAD_CONFLICT = "HEAD";

/** More than a run can have: each iteration takes one. */
const ALL = 100_000;

/** What taking the run's paths (and HEAD, where the run itself moved it) back to `target` would do. */
export async function planRunRestore(
  deps: Deps,
  run: RunRecord,
  target: CheckpointRecord,
  overwrite: readonly string[] | "all",
): Promise<RunRestore> {
  const { commit, tree } = taken(target);
  const repo = await workspaceOf(deps, run);
  const timeline = timelineOf(await deps.store.checkpoints(run.run_id, ALL));
  const own_operation = await isOwnOperation(deps, run, repo, timeline);
  if (!own_operation) refuseOperation(repo, "that the run did not start");
  if (!(await deps.checkpoints.isPresent(repo, commit))) throw lost(target);
  const owned = await loadOwned(deps.store, run.run_id);
  const all = overwrite === "all";
  const wanted = { repo, target, timeline, all };
  const mine = await ownedPaths(deps, wanted, owned.files, tree);
  const forced = all ? mine.map((entry) => entry.path) : overwrite;
  const staged = target.index_tree === null ? [] : await ownedEntries(deps, wanted, owned.entries, target.index_tree, forced);
  const ownTree = run.workspace_kind === "worktree" && all;
  const head = ownTree ? await moveBack(deps, repo, target) : await headMove(deps, run, repo, target, timeline);
  const along = ownTree ? await comingAlong(deps, repo, target, head.move) : { paths: [], entries: [] };
  const paths = withMore(mine, along.paths);
  const entries = withMore(staged, along.entries);
  const plan = await deps.checkpoints.planRestore(repo, {
    run_id: run.run_id,
    checkpoint: commit,
    paths,
    entries,
    overwrite: forced,
    head: head.move,
    own_operation: own_operation && !head.conflict,
  });
  if (plan.operation === null && repo.operation !== "bisect") refuseOperation(repo, "of the run, with changes of others in it,");
  const stays = head.conflict || (head.move !== null && plan.head === null);
  const conflicts = stays ? [...plan.conflicts, HEAD_CONFLICT] : plan.conflicts;
  return { repo, target, paths, entries, overwrite: forced, own_operation, owned, plan: { ...plan, conflicts } };
}

function taken(target: CheckpointRecord): { readonly commit: string; readonly tree: string } {
  const { commit, tree } = target;
  if (commit !== null && tree !== null) return { commit, tree };
  throw new LoopkeeperError(
    "repository_problem",
    said`checkpoint ${target.id} could not be taken at its time (${target.failure ?? "unknown"}); choose another one from ${CHECKPOINTS_LISTED}.`,
  );
}

function lost(target: CheckpointRecord): LoopkeeperError {
  return new LoopkeeperError(
    "repository_problem",
    said`checkpoint ${target.id} is lost: its objects are gone from the repository. Choose another one from ${CHECKPOINTS_LISTED}.`,
  );
}

/** The tree to take back. A worktree whose folder is gone is made again first, as the run left it: that takes nothing from anybody. */
async function workspaceOf(deps: Deps, run: RunRecord): Promise<Repository> {
  if (run.workspace_kind === "worktree") {
    const state = await deps.checkpoints.worktreeState(run.workspace_path, run.repo_common_dir);
    if (state === "missing") await remakeWorktree(deps, run);
    else if (state !== "present")
      throw new LoopkeeperError(
        "repository_problem",
        said`the run's worktree ${run.workspace_path} is not whole (${state}); ${tool("run_resume")} repairs it, with ${setting("on_drift", "keep")} for the files that are there.`,
      );
  }
  return deps.checkpoints.discover(run.workspace_path);
}

/** Whether the run itself left a merge, a rebase... under way, as its last stop saw it. */
async function isOwnOperation(deps: Deps, run: RunRecord, repo: Repository, { records }: Timeline): Promise<boolean> {
  if (repo.operation === null) return false;
  const stop = records.findLast((record) => record.kind === "stop" && record.commit !== null);
  return stop?.commit != null && deps.checkpoints.isOperationOf(repo, { run_id: run.run_id, checkpoint: stop.commit });
}

function refuseOperation(repo: Repository, whose: string): void {
  if (repo.operation === null) return;
  const { word, message } = operationAtRestore(`${repo.operation} ${whose}`, repo.top);
  throw refused(word, message);
}

interface Wanted {
  readonly repo: Repository;
  readonly target: CheckpointRecord;
  readonly timeline: Timeline;
  /** Every path of the run, whoever changed it since. */
  readonly all: boolean;
}

/** The run's paths with what the target holds. */
async function ownedPaths(deps: Deps, wanted: Wanted, owned: Owned, tree: string): Promise<readonly OwnedPath[]> {
  const { target, timeline, all } = wanted;
  const chosen = [...owned].filter(([, entry]) => all || changedSince(entry, target.id, timeline));
  const contents = await deps.checkpoints.contentAt(
    wanted.repo,
    tree,
    chosen.map(([path]) => path),
  );
  return chosen.flatMap(([path, entry], n) => {
    const content = contents[n] ?? null;
    // Left as the target has it: whatever somebody made of it since is no business of this restore.
    if (!all && entry.pending === undefined && sameContent(entry.last, content)) return [];
    // A path that is not the run's alone counts as left at the target: whatever is there now is then somebody else's, a conflict.
    return ownSince(entry, target.id, timeline) ? ownedPath(path, content, entry) : { path, target: content, last: content };
  });
}

/** The run's index entries; those that others had a hand in are left out, unless their path is to be overwritten. */
async function ownedEntries(
  deps: Deps,
  wanted: Wanted,
  owned: Owned,
  tree: string,
  forced: readonly string[],
): Promise<readonly OwnedPath[]> {
  const { target, timeline, all } = wanted;
  const own = [...owned].filter(([, entry]) => all || changedSince(entry, target.id, timeline));
  const mine = new Map(own.filter(([, entry]) => ownSince(entry, target.id, timeline)));
  const names = [...new Set([...mine.keys(), ...forced])];
  const contents = await deps.checkpoints.contentAt(wanted.repo, tree, names);
  return names.map((path, n) => {
    const content = contents[n] ?? null;
    const entry = mine.get(path);
    return entry === undefined ? { path, target: content, last: content } : ownedPath(path, content, entry);
  });
}

function ownedPath(path: string, target: PathContent, entry: OwnedEntry): OwnedPath {
  return { path, target, last: entry.last, ...(entry.pending === undefined ? {} : { pending: entry.pending }) };
}

/** HEAD and branch go back only if the run itself moved them and nobody committed on top. */
async function headMove(
  deps: Deps,
  run: RunRecord,
  repo: Repository,
  target: CheckpointRecord,
  timeline: Timeline,
): Promise<{ readonly move: HeadMove | null; readonly conflict: boolean }> {
  if (target.head === repo.head && target.branch === repo.branch) return { move: null, conflict: false };
  const own = await ownCommits(deps, run);
  const iterations = await deps.store.iterations(run.run_id, ALL);
  if (!headMovedByRun(timeline, target, repo, { iterations, own_commits: own })) return { move: null, conflict: true };
  const move = { from: repo.head, to: target.head };
  if (target.branch === repo.branch) return { move, conflict: false };
  const tip = target.branch === null ? null : await deps.checkpoints.resolve(repo, target.branch);
  const left = timeline.records.some((record) => record.branch === target.branch && record.head === tip);
  if (tip !== null && !left && !own.includes(tip)) return { move: null, conflict: true };
  return { move: { ...move, branch: { from: repo.branch, to: target.branch, tip } }, conflict: false };
}

/**
 * In the run's own worktree a wish for the stop's state takes HEAD and branch along, whoever moved them: commits that leave
 * the branch keep a hidden ref and are named.
 */
async function moveBack(
  deps: Deps,
  repo: Repository,
  target: CheckpointRecord,
): Promise<{ readonly move: HeadMove | null; readonly conflict: boolean }> {
  if (target.head === repo.head && target.branch === repo.branch) return { move: null, conflict: false };
  const move = { from: repo.head, to: target.head };
  if (target.branch === repo.branch) return { move, conflict: false };
  const tip = target.branch === null ? null : await deps.checkpoints.resolve(repo, target.branch);
  return { move: { ...move, branch: { from: repo.branch, to: target.branch, tip } }, conflict: false };
}

/** Files that are as the commit has them which HEAD leaves: they go with it, as in a checkout. Edited ones stay, as conflicts. */
async function comingAlong(
  deps: Deps,
  repo: Repository,
  target: CheckpointRecord,
  move: HeadMove | null,
): Promise<{ readonly paths: readonly OwnedPath[]; readonly entries: readonly OwnedPath[] }> {
  if (move === null || move.from === null || move.to === null || target.tree === null) return { paths: [], entries: [] };
  const changes = await deps.checkpoints.changedPaths(repo, move.from, move.to);
  const names = changes.map((change) => change.path);
  const at = async (tree: string): Promise<readonly OwnedPath[]> => {
    const contents = await deps.checkpoints.contentAt(repo, tree, names);
    return changes.map((change, n) => ({ path: change.path, target: contents[n] ?? null, last: change.from }));
  };
  return { paths: await at(target.tree), entries: target.index_tree === null ? [] : await at(target.index_tree) };
}

/** The run's own paths come first: what it left there is known better. */
function withMore(own: readonly OwnedPath[], more: readonly OwnedPath[]): readonly OwnedPath[] {
  const known = new Set(own.map((entry) => entry.path));
  return [...own, ...more.filter((entry) => !known.has(entry.path))];
}

/** Applies a plan and remembers what the run's paths hold afterwards. The safety checkpoint brings it all back. */
export async function applyRunRestore(
  deps: Deps,
  run: RunRecord,
  restore: RunRestore,
  lease: { readonly fence?: number },
): Promise<RestoreResult> {
  const going = new Set([...restore.plan.restore, ...restore.plan.remove]);
  const files = restore.paths.filter((owned) => going.has(owned.path));
  const result = await deps.checkpoints.applyRestore(restore.repo, {
    run_id: run.run_id,
    ...(restore.target.commit === null ? {} : { checkpoint: restore.target.commit }),
    plan: restore.plan,
    paths: restore.paths,
    entries: restore.entries,
    overwrite: restore.overwrite,
    own_operation: restore.own_operation,
    safety_id: newCheckpointId(),
    onSafety: async (safety) => {
      // Both before the first write: a process that dies in the middle leaves a checkpoint that can be named and gone back to.
      const at = now();
      await deps.store.apply({
        run_id: run.run_id,
        at,
        ...lease,
        bump_revision: false,
        checkpoints: [safetyRecord(run, safety, at)],
        events: [{ type: "checkpoint_taken", at, data: { checkpoint: safety.id, kind: "reset" } }],
      });
      await saveOwned(deps.store, run.run_id, {
        files: expecting(restore.owned.files, files),
        entries: expecting(restore.owned.entries, restore.entries),
      });
    },
  });
  const entries = restore.entries.filter((owned) => result.entries.includes(owned.path));
  await saveOwned(deps.store, run.run_id, {
    files: settled(restore.owned.files, files, result.safety.id),
    entries: settled(restore.owned.entries, entries, result.safety.id),
  });
  return result;
}

/** Ownership while a restore is under way: a path may be as it was, or as it is to be. */
function expecting(owned: Owned, going: readonly OwnedPath[]): Owned {
  const next = new Map(owned);
  for (const { path, target } of going) {
    const before = owned.get(path);
    if (before !== undefined) next.set(path, { ...before, pending: target });
  }
  return next;
}

/** Ownership after a restore: what it put in place counts as the run's, so that going back to the safety checkpoint works. */
function settled(owned: Owned, gone: readonly OwnedPath[], safetyId: string): Owned {
  const next = new Map(owned);
  for (const { path, target } of gone)
    next.set(path, {
      last: target,
      changed_after: safetyId,
      foreign_before: owned.get(path)?.foreign_before ?? null,
      unattributed_after: owned.get(path)?.unattributed_after ?? null,
    });
  return next;
}

/** The record of a restore's safety checkpoint. */
function safetyRecord(run: RunRecord, safety: Captured, at: string): CheckpointRecord {
  return checkpointRecord(safety, {
    kind: "reset",
    iteration: run.iteration,
    step: run.stop?.step ?? null,
    attempt: null,
    at,
  });
}
