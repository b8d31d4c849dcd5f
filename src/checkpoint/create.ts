import { LoopkeeperError } from "../run/errors.ts";
import { capture, isConnected } from "./capture.ts";
import type { Checkpoints, Repository } from "./checkpoint.ts";
import { diffSummary, patchOf } from "./diff-summary.ts";
import { dirtyFiles } from "./dirty-files.ts";
import { createGit } from "./git.ts";
import { commitOf } from "./head.ts";
import { actMark, observeActs } from "./observe-acts.ts";
import { normaliseRemote } from "./remote-url.ts";
import { openRepoGit, type RepoGit } from "./repo-git.ts";
import { discoverRepository } from "./repository.ts";
import { changedBetween, contentsAt } from "./tree.ts";
import { addWorktree, rebuildWorktree, worktreeState } from "./worktree.ts";

export interface CheckpointsOptions {
  /** The user's environment; its `GIT_*` variables are not used. */
  readonly env: Readonly<Record<string, string>>;
  /** The user's home folder: no repository of ours. */
  readonly home: string;
}

export function createCheckpoints(options: CheckpointsOptions): Checkpoints {
  const git = createGit(options.env);
  const discover = (path: string) => discoverRepository(git, options.home, path);
  const open = (repo: Repository) => openRepoGit(git, repo, options);
  const within = async <T>(repo: Repository, work: (git: RepoGit) => Promise<T>): Promise<T> => work(await open(repo));
  const notYet = async (): Promise<never> => {
    throw new LoopkeeperError("internal", "This part of the checkpoint layer is not there yet.");
  };
  return {
    discover,
    normaliseRemote,
    resolve: (repo, revision) => within(repo, (bound) => commitOf(bound, revision)),
    dirtyFiles: (repo) => within(repo, dirtyFiles),
    addWorktree: (repo, input) => within(repo, (bound) => addWorktree(bound, input)),
    rebuildWorktree: (repo, input) => within(repo, (bound) => rebuildWorktree(bound, input)),
    worktreeState,
    capture: (repo, input) => within(repo, (bound) => capture(bound, input)),
    isPresent: (repo, commit) => within(repo, (bound) => isConnected(bound, commit)),
    diffSummary: (repo, from, to, limit) => within(repo, (bound) => diffSummary(bound, from, to, limit)),
    patch: (repo, from, to, limits) => within(repo, (bound) => patchOf(bound, from, to, limits)),
    changedPaths: (repo, from, to) => within(repo, (bound) => changedBetween(bound, from, to)),
    contentAt: (repo, tree, paths) => within(repo, (bound) => contentsAt(bound, tree, paths)),
    actMark: (repo) => within(repo, actMark),
    observeActs: (repo, mark, input) => within(repo, (bound) => observeActs(bound, mark, input)),
    drift: notYet,
    planRestore: notYet,
    applyRestore: notYet,
    restoreWhole: notYet,
    commitAll: notYet,
  };
}
