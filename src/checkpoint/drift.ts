import { isoOf } from "../run/clock.ts";
import { operationSince } from "./drift-operation.ts";
import { type AskRemote, type RemoteView, remoteGrowth, remoteMove, viewRemote, withRemoteObjects } from "./drift-remote.ts";
import type { Drift, DriftInput, ForeignCommit, GitLock, WorktreeState } from "./drift-shapes.ts";
import { commitOf, commitsOf, fullBranch, readHead, trackingOf } from "./head.ts";
import { headLogSince } from "./head-log.ts";
import { locksLeft } from "./locks-left.ts";
import { changedSince } from "./look-aside.ts";
import { findMerge } from "./merged.ts";
import type { RepoGit } from "./repo-git.ts";

export interface DriftPlaces {
  /** Whatever working tree of the repository can answer for branches; null when there is none. */
  readonly any: RepoGit | null;
  /** The run's own working tree; null when it is not there as one. */
  readonly workspace: RepoGit | null;
  readonly state: WorktreeState;
}

const MAX_FILES = 200;
const MAX_COMMITS = 50;

/** Compares now with a checkpoint. Nothing here throws for what is missing: what could not be looked at is null. */
export async function driftSince(places: DriftPlaces, input: DriftInput, ask: AskRemote | null): Promise<Drift> {
  const { any, workspace } = places;
  const stopHead = input.checkpoint.head;
  const branch = input.branch === null ? input.checkpoint.branch : fullBranch(input.branch);
  const stands = workspace === null ? null : await quiet(() => readHead(workspace));
  const local = any === null ? null : await quiet(() => localMove(any, branch, input));
  const bases = any === null ? [] : ((await quiet(() => basesOf(any, branch, input.base_branch))) ?? []);
  const view = any === null || ask === null ? null : await quiet(() => viewRemote(any, branch, bases, ask));
  const remote =
    any === null || view === null || branch === null
      ? null
      : await quiet(() => remoteMove(any, branch, bases, input.checkpoint.commit, view));
  const far = any === null || view === null ? any : ((await quiet(() => withRemoteObjects(any))) ?? any);
  const merged =
    far === null ? null : await quiet(() => findMerge(far, { bases, tip: stopHead, own: input.own_commits, remote: view?.refs }));
  const files = workspace === null ? null : await quiet(() => changedSince(workspace, input.checkpoint.tree));
  const followed = any === null || branch === null ? null : await quiet(() => trackingOf(any, branch));
  const commits =
    far === null
      ? null
      : await quiet(() => commitsByOthers(far, input, [local?.to ?? null, remote?.to ?? null, followed], stands?.head ?? null));
  const operation = workspace === null ? null : await operationOrUnknown(workspace, input);
  const moved = stands !== null && (stands.head !== stopHead || stands.branch !== input.checkpoint.branch);
  return {
    workspace: places.state,
    workspace_missing: workspace === null,
    head_moved: stands === null ? null : moved,
    head: stands === null ? null : { from: standOf(input.checkpoint), to: standOf(stands) },
    head_log: workspace === null || !moved ? [] : ((await quiet(() => headLogSince(workspace, input))) ?? []),
    branch_moved: local === null && remote === null ? null : moves(local) || moves(remote),
    branch: { local, remote, remote_checked: remote !== null, merged: merged ?? null },
    checkpoint_known: any === null ? null : await quiet(async () => (await commitOf(any, input.checkpoint.commit)) !== null),
    has_remote: any !== null && any.repo.remote_name !== null,
    remote_growth: far === null || remote === null ? null : await quiet(() => remoteGrowth(far, remote)),
    remote_answer: view?.text ?? null,
    base_unseen: far === null || view === null ? null : await quiet(() => unseenBase(far, bases, view)),
    files_changed: files?.slice(0, MAX_FILES).map((change) => change.path) ?? [],
    files_changed_total: files?.length ?? null,
    commits_by_others: commits?.listed ?? [],
    commits_by_others_total: commits?.total ?? null,
    operation_in_progress: operation?.operation_in_progress ?? null,
    operation_by_run: operation?.operation_by_run ?? null,
    operation_ended: operation?.operation_ended ?? null,
    locks: (await quiet(() => locksOf(places, branch, input.stopped_ms))) ?? [],
  };
}

function standOf(at: { readonly head: string | null; readonly branch: string | null }): {
  head: string | null;
  branch: string | null;
} {
  return { head: at.head, branch: at.branch };
}

function moves(ends: { readonly from: string | null; readonly to: string | null } | null): boolean {
  return ends !== null && ends.from !== ends.to;
}

async function localMove(git: RepoGit, branch: string | null, input: DriftInput): Promise<Drift["branch"]["local"]> {
  if (branch === null) return null;
  const to = await commitOf(git, branch);
  // A run that stopped on another branch or detached left no record of where this one stood.
  return { from: branch === input.checkpoint.branch ? input.checkpoint.head : to, to };
}

/** Branches that a pull request of this one may aim at: the given one, what the remote calls its HEAD, and the usual names. */
async function basesOf(git: RepoGit, branch: string | null, given: string | null): Promise<readonly string[]> {
  const { remote_name } = git.repo;
  const named =
    remote_name === null ? null : await git.run(["symbolic-ref", "-q", `refs/remotes/${remote_name}/HEAD`], { ok: [0, 1, 128] });
  const short = (ref: string) => ref.replace(/^refs\/(heads|remotes\/[^/]+)\//, "");
  const wanted = [given, named?.code === 0 ? named.text : null, "main", "master"].flatMap((one) =>
    one === null ? [] : [short(one)],
  );
  const own = branch === null ? null : short(branch);
  return [...new Set(wanted)].filter((one) => one !== own);
}

/** The first base whose commit at the remote is not here: a merge into it could not be seen. */
async function unseenBase(git: RepoGit, bases: readonly string[], view: RemoteView): Promise<string | null> {
  for (const base of bases) {
    const sha = view.refs.get(`refs/heads/${base}`);
    if (sha !== undefined && (await commitOf(git, sha)) === null) return base;
  }
  return null;
}

async function operationOrUnknown(git: RepoGit, input: DriftInput) {
  return quiet(() => operationSince(git, input.run_id, input.checkpoint.commit));
}

async function locksOf(places: DriftPlaces, branch: string | null, stopped_ms: number): Promise<readonly GitLock[]> {
  const { repo } = places.workspace ?? { repo: null };
  return repo === null ? [] : locksLeft({ ...repo, branch, stopped_ms });
}

/**
 * Commits that came onto the run's branch since the stop and are not its own; a remote's commits count when they were fetched.
 * Where HEAD stands on something else, only what was committed there since.
 */
async function commitsByOthers(
  git: RepoGit,
  input: DriftInput,
  branchTips: readonly (string | null)[],
  head: string | null,
): Promise<{ readonly listed: ForeignCommit[]; readonly total: number }> {
  const stood = input.checkpoint.head;
  const since = stood === null ? [] : ["--not", stood];
  // A tip that is where it was has nothing on top.
  const moved = branchTips.filter((tip) => tip !== stood);
  const onBranch = await logOf(git, await present(git, moved), since);
  const known = new Set([...branchTips, stood]);
  const elsewhere =
    head === null || known.has(head)
      ? []
      : await logOf(git, await present(git, [head]), [`--since=${isoOf(input.stopped_ms)}`, ...since]);
  const mine = new Set(input.own_commits);
  const all = new Map(
    [...onBranch, ...elsewhere].filter((commit) => !mine.has(commit.sha)).map((commit) => [commit.sha, commit]),
  );
  return { listed: [...all.values()].slice(0, MAX_COMMITS), total: all.size };
}

async function present(git: RepoGit, tips: readonly (string | null)[]): Promise<string[]> {
  const named = [...new Set(tips.filter((tip) => tip !== null))];
  const found = await commitsOf(git, named);
  return named.filter((_tip, n) => found[n] !== null);
}

const MAX_LOGGED = 600;

async function logOf(git: RepoGit, tips: readonly string[], limits: readonly string[]): Promise<ForeignCommit[]> {
  if (tips.length === 0) return [];
  const options = limits.filter((limit) => limit.startsWith("--since"));
  const range = limits.filter((limit) => !limit.startsWith("--since"));
  const args = ["log", "-z", "-n", String(MAX_LOGGED), "--format=%H%x09%an%x09%s", ...options, ...tips, ...range];
  return (await git.run(args)).text.split("\0").flatMap((line) => {
    const [sha = "", author = "", ...subject] = line.split("\t");
    return sha === "" ? [] : [{ sha, author, subject: subject.join("\t") }];
  });
}

/** Null instead of an error: a look that failed is one that was not made. */
async function quiet<T>(look: () => Promise<T>): Promise<T | null> {
  try {
    return await look();
  } catch {
    return null;
  }
}
