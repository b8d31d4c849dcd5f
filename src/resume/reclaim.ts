import type { Checkpoints, Repository } from "../checkpoint/checkpoint.ts";
import type { Holdings } from "../checkpoint/holdings.ts";
import { newCheckpointId } from "../run/id.ts";
import { isOfHost, type RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { driftSinceStop, ownCommits } from "./drift-since.ts";
import { loadOwned, sameContent } from "./ownership.ts";
import { oneLine } from "./shown.ts";

/**
 * Frees what a run holds on disk - its worktree, the copies for another host, checkpoints that are nothing but a commit - when
 * all of it exists elsewhere. Otherwise nothing is freed, and each thing that exists nowhere else is named.
 */

interface Deps {
  readonly store: Store;
  readonly checkpoints: Checkpoints;
  readonly engines: { processesIn(folder: string): Promise<readonly number[] | null> };
  readonly host: string;
}

export interface Reclaimed {
  readonly freed: readonly string[];
  /** What was not freed, each with its reason. */
  readonly kept: readonly string[];
  /** The workspace is gone, or was never the run's to free. */
  readonly done: boolean;
  /** Checkpoints that are no longer there. */
  readonly checkpoints: readonly string[];
}

const ALL = 100_000;
const NAMED = 5;

export async function reclaimRun(deps: Deps, run: RunRecord, lease: { readonly fence: number }): Promise<Reclaimed> {
  const kept = (...reasons: readonly string[]): Reclaimed => ({ freed: [], kept: reasons, done: false, checkpoints: [] });
  if (!isOfHost(run, deps.host))
    return kept(`everything: the run's files are on host ${run.settings.host ?? "another"}; call it there`);
  const repo = await discoverOrNull(deps, run.repo_path);
  if (repo === null || repo.common_dir !== run.repo_common_dir)
    return kept(`everything: the repository ${run.repo_path} is not there, so nobody can tell what exists elsewhere`);
  const state =
    run.workspace_kind === "in_place" ? "present" : await deps.checkpoints.worktreeState(run.workspace_path, run.repo_common_dir);
  if (state !== "present" && state !== "missing")
    return kept(
      `${run.workspace_path}: git does not know it as this run's worktree, so nobody can tell what in it exists elsewhere`,
    );
  const workspace = state === "present" ? await discoverOrNull(deps, run.workspace_path) : null;
  if (state === "present" && workspace === null) return kept(`${run.workspace_path}: it could not be opened`);
  const reasons = await reasonsToKeep(deps, run, repo, workspace);
  if (reasons.length > 0) return kept(...reasons);
  const id = newCheckpointId();
  const freed: string[] = [];
  const stays: string[] = [];
  if (run.workspace_kind === "in_place") {
    stays.push(`${run.workspace_path}: it is the repository's own working tree`);
  } else if (workspace !== null) {
    const why = await deps.checkpoints.removeWorktree(repo, workspace, { run_id: run.run_id, checkpoint_id: id });
    if (why !== null) return kept(`worktree ${run.workspace_path}: ${why}`);
    freed.push(`worktree ${run.workspace_path}`);
  }
  await dropCopies(deps, run, lease);
  freed.push("the copies of its conversation and its tree");
  // The start and the stop are what the run's record points to: they stay readable.
  const known = (await deps.store.checkpoints(run.run_id, ALL)).filter((checkpoint) => checkpoint.state === "present");
  const between = known.filter((checkpoint) => checkpoint.kind === "iteration").map((checkpoint) => checkpoint.id);
  const gone = await deps.checkpoints.freeCheckpoints(repo, run.run_id, [id, ...between]);
  const left = known.filter((checkpoint) => !gone.includes(checkpoint.id)).length;
  if (left < known.length) freed.push(`${known.length - left} checkpoints that were nothing but a commit`);
  if (left > 0) stays.push(`${left} checkpoints: the start, the stop, and states between commits that exist nowhere else`);
  if (run.branch !== null) stays.push(`branch ${run.branch.replace(/^refs\/heads\//u, "")}: branches are not deleted`);
  return { freed, kept: stays, done: true, checkpoints: gone };
}

async function discoverOrNull(deps: Deps, path: string): Promise<Repository | null> {
  return deps.checkpoints.discover(path).catch(() => null);
}

async function reasonsToKeep(deps: Deps, run: RunRecord, repo: Repository, workspace: Repository | null): Promise<string[]> {
  const acts = await deps.store.acts(run.run_id, ALL);
  const records = await deps.store.checkpoints(run.run_id, ALL);
  const drift = run.stop === null ? null : await driftSinceStop(deps, run, run.stop, false).catch(() => null);
  const stopHead = records.find((record) => record.id === run.stop?.uncommitted?.checkpoint)?.head ?? null;
  const made = acts.flatMap((act) => (act.kind === "branch" && act.ref !== null ? [act.ref.replace(/^refs\/heads\//u, "")] : []));
  const ownBranch = run.workspace_kind === "worktree" && run.branch !== null ? [run.branch] : [];
  const first = records.findLast((record) => record.head !== null)?.head ?? null;
  const held = await deps.checkpoints.holdings(repo, workspace, {
    run_id: run.run_id,
    base: run.base_commit ?? first,
    branches: [...new Set([...ownBranch, ...made])],
    commits: [...(await ownCommits(deps, run)), ...records.flatMap((record) => (record.head === null ? [] : [record.head]))],
    merged: drift?.branch.merged != null && stopHead !== null ? [stopHead] : [],
  });
  const inPlace = run.workspace_kind === "in_place";
  return [
    ...(workspace === null ? lostTree(run) : []),
    ...(inPlace ? await ownEdits(deps, run, repo) : treeReasons(run, held)),
    ...commitReasons(held),
    ...(held.stashes.length === 0 ? [] : [`stashes: ${some(held.stashes)}`]),
    ...(workspace === null || inPlace ? [] : await processReasons(deps, run)),
  ];
}

/** Of a worktree whose folder is gone the stop checkpoint may be all there is. */
function lostTree(run: RunRecord): string[] {
  const left = run.stop?.uncommitted;
  if (left == null)
    return run.started_at === null
      ? []
      : ["checkpoints: the worktree is gone, and its last state is not known to exist elsewhere"];
  return left.total_files === 0
    ? []
    : [
        `checkpoint ${left.checkpoint ?? ""}: the worktree is gone, and ${left.total_files} uncommitted files are only in there (${some(left.files.map((file) => file.path))})`,
      ];
}

function treeReasons(run: RunRecord, held: Holdings): string[] {
  const tree = `worktree ${run.workspace_path}`;
  return [
    ...(held.uncommitted.length === 0 ? [] : [`${tree}: not committed: ${some(held.uncommitted)}`]),
    ...(held.ignored.length === 0 ? [] : [`${tree}: ignored files that exist nowhere else: ${some(held.ignored)}`]),
    ...(held.nested.length === 0 ? [] : [`${tree}: submodules are not looked into: ${some(held.nested)}`]),
    ...(held.operation === null ? [] : [`${tree}: a ${held.operation} is under way`]),
    ...(held.locked ? [`${tree}: another git process holds its index.lock`] : []),
  ];
}

/** In place: edits that are still as the run left them and in no commit. Those of others are not the run's to keep or free. */
async function ownEdits(deps: Deps, run: RunRecord, repo: Repository): Promise<string[]> {
  const owned = [...(await loadOwned(deps.store, run.run_id)).files];
  const tree = run.stop?.uncommitted?.checkpoint ?? null;
  const stop = tree === null ? null : await deps.store.checkpoint(run.run_id, tree);
  if (owned.length === 0 || stop?.tree == null) return [];
  const paths = owned.map(([path]) => path);
  const committed = repo.head === null ? [] : await deps.checkpoints.contentAt(repo, repo.head, paths);
  const open = owned.filter(([, entry], n) => !sameContent(entry.last, committed[n] ?? null)).map(([path]) => path);
  return open.length === 0 ? [] : [`${run.workspace_path}: edits of the run that are not committed: ${some(open)}`];
}

function commitReasons(held: Holdings): string[] {
  if (held.commits.length === 0) return [];
  const named = held.commits.map((commit) => `${commit.sha.slice(0, 10)} "${oneLine(commit.subject, 60)}"`);
  return [`commits that are neither pushed nor merged nor on another branch: ${some(named)}`];
}

async function processReasons(deps: Deps, run: RunRecord): Promise<string[]> {
  const pids = await deps.engines.processesIn(run.workspace_path);
  if (pids === null) return [`worktree ${run.workspace_path}: it is not known whether a process works in it`];
  return pids.length === 0 ? [] : [`worktree ${run.workspace_path}: processes work in it: ${some(pids.map(String))}`];
}

function some(names: readonly string[]): string {
  const shown = names.slice(0, NAMED).map((name) => oneLine(name, 100));
  return `${shown.join(", ")}${names.length > NAMED ? ` and ${names.length - NAMED} more` : ""}`;
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
