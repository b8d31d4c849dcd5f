/** Something a run did that others can see or that outlives its working tree. */
export const ACT_KINDS = ["commit", "branch", "push", "pull_request", "merge", "tag", "issue", "other"] as const;
export type ActKind = (typeof ACT_KINDS)[number];

export interface Act {
  readonly kind: ActKind;
  /** One line, e.g. a commit's subject or the command of a push. */
  readonly what: string;
  /** Commit id, ref or URL that names it. */
  readonly ref: string | null;
  readonly iteration: number;
  readonly at: string;
  /** `landed`: seen to be there. `unobserved`: begun, its outcome never seen. */
  readonly status: "landed" | "unobserved";
}
