/** Shapes of what others did since a stop: worktrees, HEAD, branches, operations, locks. Instants in ISO 8601 or epoch milliseconds, as named. */

export interface ForeignCommit {
  readonly sha: string;
  readonly author: string;
  readonly subject: string;
}

/**
 * What stands where a run's worktree should be. `missing`: nothing. `unregistered`: the worktree's folder, which git no longer
 * knows. `unfinished`: a rebuild that was broken off. `occupied`: something else, which is never touched.
 */
export type WorktreeState = "present" | "missing" | "unregistered" | "unfinished" | "occupied";

/** A lock file of git's that is there: while it is, no git command that writes the index, HEAD or that ref can work. */
export interface GitLock {
  readonly path: string;
  readonly age_s: number;
  /** The process that works under it, as far as it could be seen. */
  readonly holder: { readonly pid: number; readonly command: string } | null;
  /** `live`: a process holds it. `stale`: none does, and it is older than the run's stop. `unclear`: none is seen, but it is newer. */
  readonly state: "live" | "stale" | "unclear";
}

/** What became of a worktree that was made again. */
export interface Rebuilt {
  /** `made`: an empty folder, its files follow by `restoreWhole`. `registered`: the folder's files are as they were. `linked`: its entry was there and holds index and HEAD too. */
  readonly how: "made" | "registered" | "linked";
  /** What its owner has to know, in words. */
  readonly told: readonly string[];
}

export interface WholeInput {
  readonly run_id: string;
  readonly commit: string;
  /** The folder's files stay as they are; only index, HEAD and an operation under way come from the checkpoint. */
  readonly keep_files?: boolean;
}

/** What a look at drift compares with, and what it has to know of the run. */
export interface DriftInput {
  readonly run_id: string;
  readonly branch: string | null;
  readonly checkpoint: {
    readonly commit: string;
    readonly tree: string;
    readonly head: string | null;
    readonly branch: string | null;
  };
  /** Short name of the branch that the run's work most likely goes into; null to look for the usual ones alone. */
  readonly base_branch: string | null;
  readonly own_commits: readonly string[];
  /** Instant of the stop in epoch milliseconds. */
  readonly stopped_ms: number;
}

/** A line of HEAD's reflog: who moved it and how. */
export interface HeadEvent {
  readonly who: string;
  readonly what: string;
  readonly at: string;
}

/** Where a working tree stands: commit and full branch name, null before the first commit and when detached. */
export interface Stand {
  readonly head: string | null;
  readonly branch: string | null;
}

/** What differs between a checkpoint and now. What could not be looked at is null, never false. */
export interface Drift {
  readonly workspace: WorktreeState;
  readonly workspace_missing: boolean;
  readonly head_moved: boolean | null;
  readonly head: { readonly from: Stand; readonly to: Stand } | null;
  readonly head_log: readonly HeadEvent[];
  readonly branch_moved: boolean | null;
  readonly branch: {
    readonly local: { readonly from: string | null; readonly to: string | null } | null;
    readonly remote: { readonly from: string | null; readonly to: string | null; readonly deleted: boolean } | null;
    readonly remote_checked: boolean;
    readonly merged: { readonly into: string; readonly sha: string; readonly how: string } | null;
  };
  /** Whether the repository has the checkpoint at all: another one at the same place does not. */
  readonly checkpoint_known: boolean | null;
  /** Whether there is a remote that could be asked. */
  readonly has_remote: boolean;
  /** Of a remote branch that moved: commits on top, and whether earlier ones are gone from it; null where the commits are not here. */
  readonly remote_growth: { readonly commits: number | null; readonly rewritten: boolean | null } | null;
  /** What the remote said, for a later look that shall not ask again. */
  readonly remote_answer: string | null;
  /** A base branch whose commit at the remote is not here, so that a merge into it could not be seen. */
  readonly base_unseen: string | null;
  readonly files_changed: readonly string[];
  readonly files_changed_total: number | null;
  readonly commits_by_others: readonly ForeignCommit[];
  readonly commits_by_others_total: number | null;
  readonly operation_in_progress: string | null;
  /** Whether the run itself began the operation. */
  readonly operation_by_run: boolean | null;
  /** An operation that was under way at the stop and no longer is. */
  readonly operation_ended: string | null;
  readonly locks: readonly GitLock[];
}
