import type { Checkpoints, Repository } from "../checkpoint/checkpoint.ts";
import type { Holdings } from "../checkpoint/holdings.ts";
import { isOfHost, type RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { driftSinceStop, ownCommits } from "./drift-since.ts";
import { loadOwned, sameContent } from "./ownership.ts";
import { oneLine } from "./shown.ts";

/** Why a run's files stay: the one rule of `run_archive` and of the retention policy. Looks only, and changes nothing. */

export interface ReasonDeps {
  readonly store: Store;
  readonly checkpoints: Checkpoints;
  readonly engines: { processesIn(folder: string): Promise<readonly number[] | null> };
  readonly host: string;
}

/** Where the files are, when nothing keeps them. */
export interface Free {
  readonly repo: Repository;
  /** Null when the folder is gone, or the run worked in place. */
  readonly worktree: Repository | null;
  /** The run's own commits, and those that it stood on. */
  readonly commits: readonly string[];
}

export type Judged =
  | {
      readonly kept: readonly string[];
      /** Nothing but what goes away by itself soon keeps it: a process that works in it, a lock of git's. */
      readonly passing: boolean;
    }
  | { readonly kept: null; readonly free: Free };

export const ALL = 100_000;
const NAMED = 5;

/** What of the run exists nowhere else or is in use, by name; `kept: null` when all of it can go. */
export async function judge(deps: ReasonDeps, run: RunRecord): Promise<Judged> {
  if (!isOfHost(run, deps.host))
    return keep(`everything: the run's files are on host ${run.settings.host ?? "another"}; call it there`);
  const repo = await discoverOrNull(deps, run.repo_path);
  if (repo === null || repo.common_dir !== run.repo_common_dir)
    return keep(`everything: the repository ${run.repo_path} is not there, so nobody can tell what exists elsewhere`);
  const inPlace = run.workspace_kind === "in_place";
  const state = inPlace ? "present" : await deps.checkpoints.worktreeState(run.workspace_path, run.repo_common_dir);
  if (state !== "present" && state !== "missing")
    return keep(
      `${run.workspace_path}: git does not know it as this run's worktree, so nobody can tell what in it exists elsewhere`,
    );
  const workspace = state === "present" ? await discoverOrNull(deps, run.workspace_path) : null;
  if (state === "present" && workspace === null) return keep(`${run.workspace_path}: it could not be opened`);
  const commits = await commitsOf(deps, run);
  const place = { repo, workspace, commits };
  const { lasting, passing } = await reasons(deps, run, place);
  if (lasting.length + passing.length > 0) return { kept: [...lasting, ...passing], passing: lasting.length === 0 };
  return { kept: null, free: { repo, worktree: inPlace ? null : workspace, commits } };
}

function keep(reason: string): Judged {
  return { kept: [reason], passing: false };
}

async function discoverOrNull(deps: ReasonDeps, path: string): Promise<Repository | null> {
  return deps.checkpoints.discover(path).catch(() => null);
}

async function commitsOf(deps: ReasonDeps, run: RunRecord): Promise<readonly string[]> {
  const records = await deps.store.checkpoints(run.run_id, ALL);
  return [...new Set([...(await ownCommits(deps, run)), ...records.flatMap((record) => record.head ?? [])])];
}

interface Reasons {
  readonly lasting: readonly string[];
  readonly passing: readonly string[];
}

interface Place {
  readonly repo: Repository;
  readonly workspace: Repository | null;
  readonly commits: readonly string[];
}

async function reasons(deps: ReasonDeps, run: RunRecord, { repo, workspace, commits }: Place): Promise<Reasons> {
  const acts = await deps.store.acts(run.run_id, ALL);
  const records = await deps.store.checkpoints(run.run_id, ALL);
  const drift = run.stop === null ? null : await driftSinceStop(deps, run, run.stop, false).catch(() => null);
  const stopHead = records.find((record) => record.id === run.stop?.uncommitted?.checkpoint)?.head ?? null;
  const made = acts.flatMap((act) => (act.kind === "branch" && act.ref !== null ? [act.ref.replace(/^refs\/heads\//u, "")] : []));
  const inPlace = run.workspace_kind === "in_place";
  const ownBranch = !inPlace && run.branch !== null ? [run.branch] : [];
  const first = records.findLast((record) => record.head !== null)?.head ?? null;
  const held = await deps.checkpoints.holdings(repo, workspace, {
    run_id: run.run_id,
    worktree: inPlace ? null : run.workspace_path,
    base: run.base_commit ?? first,
    branches: [...new Set([...ownBranch, ...made])],
    commits,
    merged: drift?.branch.merged != null && stopHead !== null ? [stopHead] : [],
  });
  const tree = `worktree ${run.workspace_path}`;
  return {
    lasting: [
      ...(workspace === null ? lostTree(run) : []),
      ...(inPlace ? await ownEdits(deps, run, repo) : treeReasons(tree, held)),
      ...(held.fixed ? [`${tree}: it is locked; git worktree unlock lets it go`] : []),
      ...commitReasons(held),
      ...(held.stashes.length === 0 ? [] : [`stashes: ${some(held.stashes)}`]),
    ],
    passing: [
      ...(held.locked && !inPlace ? [`${tree}: another git process holds its index.lock`] : []),
      ...(workspace === null || inPlace ? [] : await processReasons(deps, run)),
    ],
  };
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

function treeReasons(tree: string, held: Holdings): string[] {
  return [
    ...(held.uncommitted.length === 0 ? [] : [`${tree}: not committed: ${some(held.uncommitted)}`]),
    ...(held.ignored.length === 0 ? [] : [`${tree}: ignored files that exist nowhere else: ${some(held.ignored)}`]),
    ...(held.nested.length === 0 ? [] : [`${tree}: submodules are not looked into: ${some(held.nested)}`]),
    ...(held.operation === null ? [] : [`${tree}: a ${held.operation} is under way`]),
  ];
}

/** In place: edits that are still as the run left them and in no commit. Those of others are not the run's to keep or free. */
async function ownEdits(deps: ReasonDeps, run: RunRecord, repo: Repository): Promise<string[]> {
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

async function processReasons(deps: ReasonDeps, run: RunRecord): Promise<string[]> {
  const pids = await deps.engines.processesIn(run.workspace_path);
  if (pids === null) return [`worktree ${run.workspace_path}: it is not known whether a process works in it`];
  return pids.length === 0 ? [] : [`worktree ${run.workspace_path}: processes work in it: ${some(pids.map(String))}`];
}

function some(names: readonly string[]): string {
  const shown = names.slice(0, NAMED).map((name) => oneLine(name, 100));
  return `${shown.join(", ")}${names.length > NAMED ? ` and ${names.length - NAMED} more` : ""}`;
}
