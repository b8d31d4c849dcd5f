import type { Act } from "../run/act.ts";
import type { CheckpointKind, SkippedPath, WorkspaceKind } from "../run/run.ts";
import type { Bundles } from "./bundles.ts";
import type { Drift, DriftInput, ForeignCommit, GitLock, Rebuilt, Stand, WholeInput, WorktreeState } from "./drift-shapes.ts";
import type { Reclaiming } from "./holdings.ts";

/**
 * Shapes of the checkpoint layer. Paths are repository-relative with `/`. A name that is not valid UTF-8 is written with
 * `\xNN` for each bad byte and `\\` for a backslash, so that text form and bytes convert both ways.
 */

/** A working tree with its git directories, found by our own walk (never by git, which obeys a planted core.worktree). */
export interface Repository {
  /** Real path of the working tree's top folder. */
  readonly top: string;
  readonly git_dir: string;
  readonly common_dir: string;
  readonly object_format: "sha1" | "sha256";
  /** Commit that HEAD names, or null before the first commit. */
  readonly head: string | null;
  /** Full ref name of the branch that HEAD names, or null when detached. */
  readonly branch: string | null;
  readonly root_commit: string | null;
  /** The remote's URL without user and password, and its normalised form (`host/owner/name`); null when there is none. */
  readonly remote_name: string | null;
  readonly remote_url: string | null;
  readonly remote: string | null;
  /** A git operation that is under way (`merge`, `rebase`, `cherry-pick`, `revert`, `bisect`), or null. */
  readonly operation: string | null;
}

export interface Captured {
  readonly id: string;
  readonly ref: string;
  readonly commit: string;
  /** Tree of the working tree: every tracked and untracked (not ignored) file that is covered. */
  readonly tree: string;
  readonly index_tree: string;
  readonly head: string | null;
  readonly branch: string | null;
  /** Paths that differ from HEAD. */
  readonly files: number;
  /** Bytes of the files that differ from HEAD. */
  readonly bytes: number;
  readonly skipped: readonly SkippedPath[];
  readonly operation: string | null;
}

export interface FileChange {
  readonly path: string;
  readonly from_path: string | null;
  readonly status: "added" | "modified" | "deleted" | "renamed" | "type_changed";
  readonly added: number | null;
  readonly removed: number | null;
  readonly binary: boolean;
  /** Old and new mode (`100644 -> 100755`); null when it is the same. */
  readonly mode: string | null;
}

export interface DiffSummary {
  readonly total_files: number;
  readonly added: number;
  readonly removed: number;
  /** There are files after the listed ones. */
  readonly truncated: boolean;
  readonly files: readonly FileChange[];
}

/** A part of a unified diff, in lines; a very long line comes in pieces. Bytes that are not UTF-8 are written `\xNN`. */
export interface PatchPage {
  readonly pieces: readonly { readonly text: string; readonly bytes: number }[];
  readonly more: boolean;
}

export interface RestorePlan {
  /** Paths that will get the target's content back. */
  readonly restore: readonly string[];
  /** Paths that will be removed because the target does not have them. */
  readonly remove: readonly string[];
  /** Paths of the wanted set that are left alone because somebody else changed them since. */
  readonly conflicts: readonly string[];
  /** Paths that cannot be covered (skipped in a checkpoint), never touched. */
  readonly uncovered: readonly string[];
  readonly head: HeadMove | null;
  readonly operation: OperationMove | null;
  /** Tree of the working tree as the plan saw it, whole. */
  readonly tree: string;
  /** Tree of the user's index as the plan saw it. */
  readonly index_tree: string;
  /** Hash over everything that the plan depends on; a confirm token holds it. */
  readonly fingerprint: string;
}

/** HEAD goes to another commit, and with `branch` to another branch (null: to none). */
export interface HeadMove {
  /** Commit that HEAD names now, and the one it will name; null before a first commit. */
  readonly from: string | null;
  readonly to: string | null;
  readonly branch?: {
    readonly from: string | null;
    readonly to: string | null;
    /** Where the branch to go to stands now; null when it is not there. */
    readonly tip: string | null;
  };
}

/** A merge, rebase, cherry-pick or revert that a restore ends or takes up: what is under way before and after it. */
export interface OperationMove {
  readonly from: string | null;
  readonly to: string | null;
  /** The branch that a rebase works on, while HEAD is on none: it stands where the rebase began. Commits. */
  readonly branch: { readonly ref: string; readonly from: string | null; readonly to: string } | null;
}

export interface RestoreResult {
  readonly restored: readonly string[];
  readonly removed: readonly string[];
  readonly kept: readonly string[];
  readonly safety: Captured;
  /** Commits that a moved branch left behind, kept under a hidden ref. */
  readonly left_behind: { readonly ref: string; readonly commit: string } | null;
  /** Paths whose entry in the user's index was set. */
  readonly entries: readonly string[];
  /** Paths outside of the plan that somebody else changed while it was applied. */
  readonly changed_meanwhile: readonly string[];
}

/** A path's content in a tree: mode and object id, or null when the tree does not have it. */
export type PathContent = { readonly mode: string; readonly oid: string } | null;

export interface PathChange {
  readonly path: string;
  readonly from: PathContent;
  readonly to: PathContent;
}

/** One path that a run changed: what it was before the run touched it and what the run left. */
export interface OwnedPath {
  readonly path: string;
  /** Content at the target checkpoint. */
  readonly target: PathContent;
  /** Content as the run last left it. A path whose present content differs was changed by somebody else since. */
  readonly last: PathContent;
  /** What a restore that was broken off may have left instead. */
  readonly pending?: PathContent;
}

/** Everything the rest of the product asks of git. The only code that runs git is behind it. */
export interface Checkpoints extends Bundles<Repository>, Reclaiming<Repository> {
  /** The working tree that holds `path`. `repository_problem` when it is no repository, bare, or unsafe (home folder, `/`). */
  discover(path: string): Promise<Repository>;
  /** `host/owner/name` of a remote's URL in any spelling, or null when the text is none. */
  normaliseRemote(url: string): string | null;
  /** A revision's commit id, or null. */
  resolve(repo: Repository, revision: string): Promise<string | null>;

  /** How many files differ from HEAD or are untracked (not ignored); 0 when it could not be looked at. Changes nothing. */
  dirtyFiles(repo: Repository): Promise<number>;

  /** Names of remotes with `mirror` set: `git push` to them takes hidden refs along. */
  mirrorRemotes(repo: Repository): Promise<readonly string[]>;

  /** Why no new branch of this (short) name can be made, and what to do instead; null when it can. */
  branchProblem(repo: Repository, branch: string): Promise<string | null>;
  /** `again`: an earlier try was broken off; its branch is taken when it stands at `base`, and its folder is moved aside. */
  addWorktree(
    repo: Repository,
    input: { readonly path: string; readonly branch: string; readonly base: string; readonly again?: boolean },
  ): Promise<void>;
  /**
   * Makes a missing or unregistered worktree again at `path`: on `branch` where it stands at `head` or is gone, else detached.
   * One that is `made` is empty until `restoreWhole`. `repository_problem` when something else stands there.
   */
  rebuildWorktree(
    repo: Repository,
    input: { readonly path: string; readonly branch: string | null; readonly head: string },
  ): Promise<Rebuilt>;
  worktreeState(path: string, commonDir: string): Promise<WorktreeState>;
  /** Makes the branch that HEAD names again at `head` when it was deleted; false when nothing had to be done. */
  reviveBranch(repo: Repository, stand: Stand): Promise<boolean>;
  /** The lock files of git's that would hinder work there. */
  locks(repo: Repository, stopped_ms: number): Promise<readonly GitLock[]>;
  /** Moves a stale lock of git's aside; null when it is no longer one. */
  setLockAside(repo: Repository, lock: GitLock, stopped_ms: number): Promise<string | null>;

  /** Saves the working tree, index state, HEAD and branch under `refs/loopkeeper/runs/<runId>/<id>`; touches nothing of the user's. */
  capture(
    repo: Repository,
    input: { readonly run_id: string; readonly id: string; readonly kind: CheckpointKind; readonly thorough?: boolean },
  ): Promise<Captured>;
  /** True when all objects of the checkpoint are there. */
  isPresent(repo: Repository, commit: string): Promise<boolean>;
  /** Of these checkpoints the ones whose objects are all there. */
  presentOf(repo: Repository, commits: readonly string[]): Promise<ReadonlySet<string>>;

  /**
   * Difference of two commits or trees: at most `limit` files listed, after the first `skip`. `path` (a file or a folder) narrows
   * it. `repository_problem` when objects of a side are gone.
   */
  diffSummary(
    repo: Repository,
    from: string,
    to: string,
    limit: number,
    options?: { readonly skip?: number; readonly path?: string | null },
  ): Promise<DiffSummary>;
  /**
   * Unified diff from byte `from_byte` on, about `max_bytes` of it; `from_path`: what a renamed `path` was called. Refuses as
   * `diffSummary` does.
   */
  patchPage(
    repo: Repository,
    from: string,
    to: string,
    options: {
      readonly path: string | null;
      readonly from_path?: string | null;
      readonly from_byte: number;
      readonly max_bytes: number;
    },
  ): Promise<PatchPage>;
  /** The working tree as a git tree, now; nothing of the user's is touched and no ref is written. */
  treeNow(repo: Repository): Promise<string>;
  /** Every path that differs between two trees with its content on both sides; renames are a removal and an addition. */
  changedPaths(repo: Repository, from: string, to: string): Promise<readonly PathChange[]>;
  /**
   * Changes of an iteration that has just ended, without files that only went out of sight because an ignore rule changed.
   * `unknown`: paths that came into sight with a rule, so that nobody can tell what they held before.
   */
  withoutIgnored(
    repo: Repository,
    input: { readonly from: string; readonly changes: readonly PathChange[] },
  ): Promise<{ readonly changes: readonly PathChange[]; readonly unknown: readonly string[] }>;
  contentAt(repo: Repository, tree: string, paths: readonly string[]): Promise<readonly PathContent[]>;

  /** A mark of where reflogs and refs stand now; acts are what came after it. */
  actMark(repo: Repository): Promise<string>;
  /**
   * Commits that entered through this workspace's HEAD reflog since `mark`, and branches, pushes, tags, merges named by
   * `commands` (the run's own tool calls, `outcome` null when their end was never seen). Refs only confirm.
   */
  observeActs(
    repo: Repository,
    mark: string,
    input: {
      readonly iteration: number;
      readonly at: string;
      readonly commands: readonly { readonly command: string; readonly outcome: "ok" | "failed" | null }[];
    },
  ): Promise<readonly Act[]>;

  /** Commits of `head` that are not in `since` and not among `own`, newest first; empty when one of the two is gone. */
  foreignCommits(
    repo: Repository,
    input: { readonly since: string | null; readonly head: string; readonly own: readonly string[]; readonly limit: number },
  ): Promise<readonly ForeignCommit[]>;

  /** Compares now with a checkpoint. `remote: true` may ask the run's remote (ls-remote, 5 s, read only); a text is an earlier answer of it. */
  drift(
    input: DriftInput & {
      readonly repo_path: string;
      readonly repo_common_dir: string;
      readonly workspace_path: string;
      readonly workspace_kind: WorkspaceKind;
      readonly remote: boolean | string;
    },
  ): Promise<Drift>;

  /** What a restore of exactly these paths (and, if wanted, of HEAD) would do. Writes only a probe checkpoint. */
  planRestore(
    repo: Repository,
    input: {
      readonly run_id: string;
      readonly paths: readonly OwnedPath[];
      /** Entries of the index that the run changed. One that differs from `last` was staged by somebody else and stays. */
      readonly entries?: readonly OwnedPath[];
      /** Exact paths that may be overwritten although somebody else changed them. */
      readonly overwrite: readonly string[];
      readonly head: HeadMove | null;
      /** Commit of the target checkpoint: where exact bytes and modes are looked for first, and what the operation under way was. */
      readonly checkpoint?: string;
      /** The git operation under way is the run's own, and may be taken back too. */
      readonly own_operation?: boolean;
    },
  ): Promise<RestorePlan>;
  /** Whether the run itself began the git operation that is under way; `checkpoint`: the commit of its last stop. */
  isOperationOf(repo: Repository, input: { readonly run_id: string; readonly checkpoint: string }): Promise<boolean>;
  /**
   * Safety checkpoint, apply, verify: only the plan's paths change, every other byte of tree and index is checked to be
   * the same. `repository_problem` when anything moved since the plan, and nothing is changed then.
   */
  applyRestore(
    repo: Repository,
    input: {
      readonly run_id: string;
      readonly plan: RestorePlan;
      readonly safety_id: string;
      /** As given to `planRestore`. */
      readonly paths: readonly OwnedPath[];
      readonly entries?: readonly OwnedPath[];
      readonly checkpoint?: string;
      readonly own_operation?: boolean;
      /** Of what the plan was to overwrite: the paths whose entry in the index is set too, whoever staged it. */
      readonly overwrite?: readonly string[];
      /** Awaited between the safety checkpoint and the first write; when it throws, nothing is changed. */
      readonly onSafety?: (safety: Captured) => Promise<void>;
    },
  ): Promise<RestoreResult>;
  /**
   * Whole tree, index and operation state of a checkpoint into a new or rebuilt worktree, never elsewhere. A worktree that stands
   * at the checkpoint's HEAD keeps its branch; another is put on the captured branch, or on no branch when that one moved since.
   */
  restoreWhole(repo: Repository, input: WholeInput): Promise<Captured | null>;
  /** Commits everything that is not committed, without running hooks. The commit's id, or null when there is nothing to commit. */
  commitAll(repo: Repository, message: string): Promise<string | null>;
}
