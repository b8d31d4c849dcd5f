import type { Repository } from "./checkpoint.ts";

/** What is asked before the workspace of a run is freed. */
export interface ReclaimQuestion {
  readonly run_id: string;
  /** Where the run first began. */
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
  /** Ignored files that are neither copies of the repository's nor made again by a package manager. */
  readonly ignored: readonly string[];
  /** Submodules. */
  readonly nested: readonly string[];
  readonly operation: string | null;
  readonly locked: boolean;
  readonly commits: readonly { readonly sha: string; readonly subject: string }[];
  readonly stashes: readonly string[];
}

/** The part of Checkpoints that frees what a run holds. */
export interface Reclaiming {
  /** What of a run exists nowhere else; its worktree may be gone. */
  holdings(repo: Repository, workspace: Repository | null, question: ReclaimQuestion): Promise<Holdings>;
  /** Removes a clean worktree without any force, after saving it once more. The reason when it was left as it is. */
  removeWorktree(
    repo: Repository,
    workspace: Repository,
    input: { readonly run_id: string; readonly checkpoint_id: string },
  ): Promise<string | null>;
  /** Frees checkpoints that hold nothing but a commit; gives the ids of those that are gone. */
  freeCheckpoints(repo: Repository, runId: string, ids: readonly string[]): Promise<readonly string[]>;
}
