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
