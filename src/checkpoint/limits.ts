/** What checkpoints take of untracked files; tracked ones are never left out. */
export interface Limits {
  /** Largest untracked file that is captured, in bytes. */
  readonly file_bytes: number;
  /** Total of untracked files per checkpoint, in bytes. */
  readonly total_bytes: number;
  /** What all checkpoints of one run may write of large files together, in bytes. */
  readonly run_bytes: number;
}

export const LIMITS: Limits = { file_bytes: 50 * 2 ** 20, total_bytes: 500 * 2 ** 20, run_bytes: 2_000 * 2 ** 20 };
export const NO_LIMITS: Limits = {
  file_bytes: Number.POSITIVE_INFINITY,
  total_bytes: Number.POSITIVE_INFINITY,
  run_bytes: Number.POSITIVE_INFINITY,
};
