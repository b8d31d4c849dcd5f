import { probe } from "./capture.ts";
import type { Drift, ForeignCommit } from "./checkpoint.ts";
import { commitOf, fullBranch, readHead, trackingOf } from "./head.ts";
import { indexLockAge } from "./index-lock.ts";
import { findMerge } from "./merged.ts";
import { readMeta } from "./meta.ts";
import { operationOf } from "./op-state.ts";
import type { RepoGit } from "./repo-git.ts";
import { changedBetween } from "./tree.ts";

export interface DriftInput {
  readonly branch: string | null;
  readonly checkpoint: {
    readonly commit: string;
    readonly tree: string;
    readonly head: string | null;
    readonly branch: string | null;
  };
  readonly base_branch: string | null;
  readonly own_commits: readonly string[];
}

/** Asks the remote for refs; null when it was not asked or gave no answer. */
export type AskRemote = (url: string, refs: readonly string[]) => Promise<string | null>;

const MAX_FILES = 200;
const MAX_COMMITS = 50;

/**
 * Compares now with a checkpoint. `workspace` is null when the folder is missing; `any` is whatever working tree of the
 * repository can answer for branches. Nothing here throws for what is missing: what could not be looked at is null.
 */
export async function driftSince(
  any: RepoGit | null,
  workspace: RepoGit | null,
  input: DriftInput,
  ask: AskRemote | null,
): Promise<Drift> {
  const stopHead = input.checkpoint.head;
  const branch = input.branch === null ? input.checkpoint.branch : fullBranch(input.branch);
  const stands = workspace === null ? null : await quiet(() => readHead(workspace));
  const local = any === null ? null : await quiet(() => localMove(any, branch, input));
  const remote = any === null || ask === null ? null : await quiet(() => remoteMove(any, branch, input, ask));
  const merged = any === null ? null : await quiet(() => findMerge(any, input.base_branch, stopHead, input.own_commits));
  const files = workspace === null ? null : await quiet(() => changedFiles(workspace, input.checkpoint.tree));
  const tips = [stands?.head ?? null, local?.to ?? null, remote?.to ?? null];
  const commits = any === null ? null : await quiet(() => commitsByOthers(any, stopHead, tips, input.own_commits));
  return {
    workspace_missing: workspace === null,
    head_moved: stands === null ? null : stands.head !== stopHead || stands.branch !== input.checkpoint.branch,
    branch_moved: local === null && remote === null ? null : moves(local) || moves(remote),
    branch: { local, remote, remote_checked: remote !== null, merged: merged ?? null },
    files_changed: files?.slice(0, MAX_FILES) ?? [],
    files_changed_total: files?.length ?? null,
    commits_by_others: commits ?? [],
    operation_in_progress: workspace === null ? null : await operationOf(workspace.repo.git_dir),
    index_lock_age_s: workspace === null ? null : await indexLockAge(workspace.repo.git_dir),
  };
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

async function remoteMove(
  git: RepoGit,
  branch: string | null,
  input: DriftInput,
  ask: AskRemote,
): Promise<Drift["branch"]["remote"]> {
  const { remote_name } = git.repo;
  if (branch === null || remote_name === null) return null;
  const url = (await git.run(["ls-remote", "--get-url", "--", remote_name])).text;
  const answer = await ask(url, [branch]);
  if (answer === null) return null;
  const line = answer.split("\n").find((one) => one.endsWith(`\t${branch}`));
  const to = line?.split("\t")[0] ?? null;
  const meta = await readMeta(git, input.checkpoint.commit);
  const from = meta !== null && meta.branch === branch ? meta.upstream : await trackingOf(git, branch);
  return { from, to, deleted: from !== null && to === null };
}

async function changedFiles(git: RepoGit, tree: string): Promise<string[]> {
  const now = await probe(git);
  return (await changedBetween(git, tree, now.tree)).map((change) => change.path);
}

/** Commits that came on top since the stop and are not the run's own. A remote's commits count when they were fetched. */
async function commitsByOthers(
  git: RepoGit,
  stopHead: string | null,
  tips: readonly (string | null)[],
  own: readonly string[],
): Promise<ForeignCommit[]> {
  const here: string[] = [];
  for (const tip of new Set(tips)) if (tip !== null && tip !== stopHead && (await commitOf(git, tip)) !== null) here.push(tip);
  if (here.length === 0) return [];
  const since = stopHead === null ? [] : ["--not", stopHead];
  const args = ["log", "-z", "-n", String(MAX_COMMITS + own.length), "--format=%H%x09%an%x09%s", ...here, ...since];
  const listed = await git.run(args);
  const mine = new Set(own);
  const commits = listed.text.split("\0").flatMap((line) => {
    const [sha = "", author = "", ...subject] = line.split("\t");
    return sha === "" || mine.has(sha) ? [] : [{ sha, author, subject: subject.join("\t") }];
  });
  return commits.slice(0, MAX_COMMITS);
}

/** Null instead of an error: a look that failed is one that was not made. */
async function quiet<T>(look: () => Promise<T>): Promise<T | null> {
  try {
    return await look();
  } catch {
    return null;
  }
}
