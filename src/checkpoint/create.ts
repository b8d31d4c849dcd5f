import { type FetchCommits, fetchOne, unbundleCheckpoints } from "./bundle-in.ts";
import { bundleCheckpoints, rememberHarmless } from "./bundle-out.ts";
import { capture, connectedOf, isConnected, treeNow } from "./capture.ts";
import type { Checkpoints, Repository } from "./checkpoint.ts";
import { commitAll } from "./commit-all.ts";
import { patchPage } from "./diff-patch.ts";
import { diffSummary } from "./diff-summary.ts";
import { dirtyFiles } from "./dirty-files.ts";
import { diskUse, standing } from "./disk-use.ts";
import { driftSince } from "./drift.ts";
import { operationSince } from "./drift-operation.ts";
import type { AskRemote } from "./drift-remote.ts";
import { fetchThroughScratch } from "./fetch-scratch.ts";
import { foreignCommits } from "./foreign-commits.ts";
import { createGit, type Git, listRemote } from "./git.ts";
import { configReader } from "./git-config.ts";
import { commitOf, reviveBranch } from "./head.ts";
import { holdingsOf } from "./holdings-of.ts";
import { withoutIgnored } from "./ignored.ts";
import type { Limits } from "./limits.ts";
import { locksLeft, setLockAside } from "./locks-left.ts";
import { mirrorRemotes } from "./mirror-remotes.ts";
import { actMark, observeActs } from "./observe-acts.ts";
import { checkpointsLeft, freeCheckpoints, mendRemoval, removeWorktree } from "./reclaim.ts";
import { refPacker } from "./refs.ts";
import { normaliseRemote } from "./remote-url.ts";
import { openRepoGit, type RepoGit } from "./repo-git.ts";
import { discoverRepository, rememberFacts, rememberRoots } from "./repository.ts";
import { applyRestore } from "./restore-apply.ts";
import { planRestore } from "./restore-plan.ts";
import { restoreWhole } from "./restore-whole.ts";
import { changedBetween, contentsAt } from "./tree.ts";
import { addWorktree, branchProblem, rebuildWorktree } from "./worktree.ts";
import { realOf, worktreeState } from "./worktree-state.ts";

const REMOTE_LIMIT_MS = 5_000;

export interface CheckpointsOptions {
  /** The user's environment; its `GIT_*` variables are not used. */
  readonly env: Readonly<Record<string, string>>;
  /** The user's home folder: no repository of ours. */
  readonly home: string;
  /** Caps of what a checkpoint takes of untracked files; default 50 MB a file, 500 MB a checkpoint, 2,000 MB a run. */
  readonly limits?: Limits;
  /** Told after each git process with the name of its command; only the crash tests listen. */
  readonly afterGit?: (command: string) => void;
}

export function createCheckpoints(options: CheckpointsOptions): Checkpoints {
  const git = gitOf(options);
  const config = configReader(git, options);
  const discovery = { git, home: options.home, config, roots: rememberRoots(), facts: rememberFacts() };
  const pack = refPacker();
  const harmless = rememberHarmless();
  const discover = (path: string) => discoverRepository(discovery, path);
  const open = (repo: Repository) => openRepoGit(git, config, repo, options);
  const within = async <T>(repo: Repository, work: (git: RepoGit) => Promise<T>): Promise<T> => work(await open(repo));
  const opened = async (path: string): Promise<RepoGit | null> => {
    try {
      return await open(await discover(path));
    } catch {
      return null;
    }
  };
  const fetchCommits: FetchCommits = (bound, url, commits, into) => fetchThroughScratch(options.env, bound, url, commits, into);
  const ask: AskRemote = (url, refs) => listRemote(options.env, url, refs, REMOTE_LIMIT_MS);
  const drift: Checkpoints["drift"] = async (input) => {
    const { remote, workspace_path: path } = input;
    const inPlace = input.workspace_kind === "in_place";
    const state = inPlace ? "present" : await worktreeState(path, input.repo_common_dir);
    const own = async (git: RepoGit | null, top: string) =>
      git?.repo.common_dir === (await realOf(input.repo_common_dir)) && git.repo.top === (await realOf(top)) ? git : null;
    // Looked for from a folder that is gone, git finds whatever repository lies around it.
    const workspace = state === "present" ? await own(await opened(path), path) : null;
    const any = workspace ?? (await own(await opened(input.repo_path), input.repo_path));
    const asking = typeof remote === "string" ? () => Promise.resolve(remote) : remote ? ask : null;
    return driftSince({ any, workspace, state: workspace === null && inPlace ? "missing" : state }, input, asking);
  };
  return {
    discover,
    normaliseRemote,
    resolve: (repo, revision) => within(repo, (bound) => commitOf(bound, revision)),
    dirtyFiles: (repo) => within(repo, dirtyFiles),
    mirrorRemotes: async (repo) => mirrorRemotes(await config(repo)),
    branchProblem: (repo, branch) => within(repo, (bound) => branchProblem(bound, branch)),
    addWorktree: (repo, input) => within(repo, (bound) => addWorktree(bound, input)),
    rebuildWorktree: (repo, input) => within(repo, (bound) => rebuildWorktree(bound, input)),
    worktreeState,
    reviveBranch: (repo, stand) => within(repo, (bound) => reviveBranch(bound, stand)),
    locks: (repo, stopped_ms) => locksLeft({ ...repo, stopped_ms }),
    setLockAside: (repo, lock, stopped_ms) => setLockAside(lock, { ...repo, stopped_ms }),
    capture: (repo, input) => within(repo, (bound) => capture(bound, input)),
    isPresent: (repo, commit) => within(repo, (bound) => isConnected(bound, commit)),
    presentOf: (repo, commits) => within(repo, (bound) => connectedOf(bound, commits)),
    bundle: (repo, input) => within(repo, (bound) => bundleCheckpoints(bound, input, harmless)),
    unbundle: (repo, input) => within(repo, (bound) => unbundleCheckpoints(bound, input, fetchCommits)),
    fetchCommit: (repo, commit) => within(repo, (bound) => fetchOne(bound, commit, fetchCommits)),
    packRefs: (repo) => within(repo, pack),
    diffSummary: (repo, from, to, limit, { skip = 0, path = null } = {}) =>
      within(repo, (bound) => diffSummary(bound, { from, to, path }, { skip, limit })),
    patchPage: (repo, from, to, { path, from_path = null, ...page }) =>
      within(repo, (bound) => patchPage(bound, { from, to, path, from_path }, page)),
    treeNow: (repo) => within(repo, treeNow),
    changedPaths: (repo, from, to) => within(repo, (bound) => changedBetween(bound, from, to)),
    withoutIgnored: (repo, input) => within(repo, (bound) => withoutIgnored(bound, input)),
    contentAt: (repo, tree, paths) => within(repo, (bound) => contentsAt(bound, tree, paths)),
    actMark: (repo) => within(repo, actMark),
    observeActs: (repo, mark, input) => within(repo, (bound) => observeActs(bound, mark, input)),
    foreignCommits: (repo, input) => within(repo, (bound) => foreignCommits(bound, input)),
    drift: (input) => drift(input),
    isOperationOf: (repo, { run_id, checkpoint }) =>
      within(repo, async (bound) => (await operationSince(bound, run_id, checkpoint)).operation_by_run === true),
    planRestore: (repo, input) => within(repo, (bound) => planRestore(bound, input)),
    applyRestore: (repo, input) => within(repo, (bound) => applyRestore(bound, input)),
    restoreWhole: (repo, input) => within(repo, (bound) => restoreWhole(bound, input)),
    holdings: (repo, workspace, question) =>
      within(repo, async (bound) => holdingsOf(bound, workspace === null ? null : await open(workspace), question)),
    removeWorktree: (repo, workspace, input) =>
      within(repo, async (bound) => removeWorktree(bound, workspace === null ? null : await open(workspace), input)),
    mendRemoval: (repo, worktree) => within(repo, (bound) => mendRemoval(bound, worktree, opened)),
    freeCheckpoints: (repo, input) => within(repo, (bound) => freeCheckpoints(bound, input)),
    checkpointsLeft: (repo, input) => within(repo, (bound) => checkpointsLeft(bound, input)),
    diskUse: (repo, input) => within(repo, (bound) => diskUse(bound, input)),
    standing: (repo, worktree) => within(repo, (bound) => standing(bound, worktree)),
    commitAll: (repo, message) => within(repo, (bound) => commitAll(bound, message)),
  };
}

function gitOf({ env, afterGit }: CheckpointsOptions): Git {
  const git = createGit(env);
  if (afterGit === undefined) return git;
  return async (args, call) => {
    const output = await git(args, call);
    afterGit(args[0] ?? "");
    return output;
  };
}
