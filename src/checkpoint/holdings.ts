/** What may go when a run is put away, and what of it exists nowhere else. */

export interface ReclaimQuestion {
  readonly run_id: string;
  /** The run's worktree, there or not: its entry in the repository's list may hold what nothing else does. Null in place. */
  readonly worktree: string | null;
  /** Commit that the run was started from; null when it is not known. */
  readonly base: string | null;
  /** Branches of the run itself: what only they hold exists nowhere else. */
  readonly branches: readonly string[];
  /** Every commit that the run made or stood on. */
  readonly commits: readonly string[];
  /** Commits whose content is known to be merged. */
  readonly merged: readonly string[];
}

/** What of a run exists nowhere else; everything empty means that its workspace can go. */
export interface Holdings {
  readonly uncommitted: readonly string[];
  /** Ignored files that are neither copies of the repository's nor made again by a package manager or a build. */
  readonly ignored: readonly string[];
  /** Submodules. */
  readonly nested: readonly string[];
  readonly operation: string | null;
  /** Git holds the index's lock. */
  readonly locked: boolean;
  /** Somebody told git never to remove this worktree (`git worktree lock`). */
  readonly fixed: boolean;
  readonly commits: readonly { readonly sha: string; readonly subject: string }[];
  readonly stashes: readonly string[];
}

/** Bytes on this disk; null where it could not be looked at. */
export interface DiskUse {
  /** All of the working tree's folder, ignored files included. */
  readonly worktree: number | null;
  /** Objects that nothing but the run's hidden refs keeps. */
  readonly checkpoints: number | null;
}

/** `keep`: ids of checkpoints that stay; `commits`: the run's own, where files may be too. */
export interface CheckpointsToFree {
  readonly run_id: string;
  readonly keep: readonly string[];
  readonly commits: readonly string[];
}

/** What the rest of the product asks of git before it frees something, and the freeing. */
export interface Reclaiming<Repository> {
  /** What of a run exists nowhere else; its worktree may be gone. */
  holdings(repo: Repository, workspace: Repository | null, question: ReclaimQuestion): Promise<Holdings>;
  /**
   * What a run takes of the disk. A walk over the worktree: nothing for a path that has to be quick. `only`: as if of its
   * checkpoints these alone were there.
   */
  diskUse(
    repo: Repository,
    input: { readonly run_id: string; readonly worktree: string | null; readonly only?: readonly string[] },
  ): Promise<DiskUse>;
  /** A text that changes when branches, HEAD, index or the top folder change; cheap, and no proof that nothing did. */
  standing(repo: Repository, worktree: string | null): Promise<string>;
  /**
   * Makes a worktree whole again whose removal was broken off: what is missing is written from the index, and nothing that is
   * there is touched. False when there was nothing to do, or it is not as a removal leaves it.
   */
  mendRemoval(repo: Repository, worktree: string): Promise<boolean>;
  /**
   * Removes a clean worktree without any force, after saving it once more; of one whose folder is gone (`workspace` null) what
   * git still lists. The reason when it was left as it is.
   */
  removeWorktree(
    repo: Repository,
    workspace: Repository | null,
    input: { readonly run_id: string; readonly checkpoint_id: string; readonly worktree: string },
  ): Promise<string | null>;
  /**
   * Frees the run's checkpoints, but those to `keep`, whose every file is in a branch, a tag or a remote's branch; gives the ids of
   * those that are still there. Commits that were left behind keep their refs.
   */
  freeCheckpoints(repo: Repository, input: CheckpointsToFree): Promise<readonly string[]>;
  /** The checkpoints that `freeCheckpoints` would leave. Changes nothing. */
  checkpointsLeft(repo: Repository, input: CheckpointsToFree): Promise<readonly string[]>;
}
