/** Iterations added to a run's ceiling, one ledger row each. */
export interface Grant {
  readonly iterations: number;
  readonly at: string;
}

/** The most iterations one start or one grant may give. */
export const MAX_ITERATIONS_PER_CALL = 200;
/** The ceiling of a run whose caller named none. */
export const DEFAULT_MAX_ITERATIONS = 10;

/** A run's ceiling: its first cap and all grants. The ledger is the truth; a stored total is only a copy of this sum. */
export function ceiling(firstCap: number, grants: readonly Pick<Grant, "iterations">[]): number {
  return grants.reduce((sum, grant) => sum + grant.iterations, firstCap);
}

/** Iterations that may still be begun; never negative. */
export function iterationsLeft(counts: { readonly iteration: number; readonly max_iterations: number }): number {
  return Math.max(0, counts.max_iterations - counts.iteration);
}
