/** When finished runs are put away and freed by themselves. Null: never; all three null: the policy is off. */
export interface RetentionPolicy {
  /** Days after its stop that a run is archived. */
  readonly archive_after_days: number | null;
  /** Days after its stop that a run's files are freed, if all of them exist elsewhere; it is archived with that. */
  readonly reclaim_after_days: number | null;
  /** What the files of all finished runs of a host may take together, in GB (1,024³ bytes). */
  readonly max_total_gb: number | null;
}

/** A policy and how often it is looked after. */
export interface Retention {
  readonly policy: RetentionPolicy;
  readonly every_ms: number;
}
