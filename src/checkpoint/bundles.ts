/** Checkpoints on their way from one clone to another. */

/** A checkpoint as it is in a bundle: without what was left out of it, it is another commit. */
export interface BundledCheckpoint {
  readonly id: string;
  readonly commit: string;
  readonly tree: string;
  readonly index_tree: string;
  /** Paths that are in no commit and look like secrets. */
  readonly left_out: readonly string[];
}

export interface Bundled {
  readonly checkpoints: readonly BundledCheckpoint[];
  /** Tip of the run's branch, which is in it too. */
  readonly branch: string | null;
  /** Size of the file; 0 when there was nothing to write. */
  readonly bytes: number;
  /** No file was written: it would have been larger than allowed. */
  readonly too_big: boolean;
  /** A commit that the other clone must have, beside what the remote has. */
  readonly needs: string | null;
}

export interface Bundles<Repository> {
  /**
   * Writes checkpoints, and the commits of `branch`, into a git bundle at `file`, without what the run's remote is known to have and
   * without files that look like secrets. `base`: a commit that another clone surely has, used when it gets too big or, with
   * `thin`, when there is no remote.
   */
  bundle(
    repo: Repository,
    input: {
      readonly run_id: string;
      readonly checkpoints: readonly { readonly id: string; readonly commit: string }[];
      readonly branch: string | null;
      readonly base: string | null;
      readonly thin: boolean;
      readonly max_bytes: number;
      readonly file: string;
    },
  ): Promise<Bundled>;
  /**
   * Brings a bundle's checkpoints into this clone under their hidden refs, and the run's branch where it is missing or only behind.
   * `fetch` allows commits that it builds on to be fetched from the clone's remote; `repository_problem` with the command otherwise.
   */
  unbundle(
    repo: Repository,
    input: { readonly run_id: string; readonly file: string; readonly branch: string | null; readonly fetch: boolean },
  ): Promise<void>;
  /** Fetches one commit from the clone's remote and keeps it under a hidden ref; false when it cannot be had. */
  fetchCommit(repo: Repository, commit: string): Promise<boolean>;
  /** Packs the hidden refs, so that many checkpoints do not slow down anybody's git. */
  packRefs(repo: Repository): Promise<void>;
}
