import { canonicalJson, sha256 } from "../run/id.ts";
import type { PlanEntry, Report } from "../run/run.ts";

/** After this many iterations in a row that changed nothing the run stops as `no_progress`. */
export const NO_PROGRESS_ITERATIONS = 3;

/** What counts as progress. Wording never does: an agent that only says the same thing differently makes none. */
export interface ProgressFacts {
  readonly tree: string | null;
  readonly head: string | null;
  /** Acts so far in the attempt. */
  readonly acts: number;
  readonly plan: readonly PlanEntry[];
  readonly verify_codes: readonly (number | null)[];
  readonly report: Report | null;
}

export function progressKey(facts: ProgressFacts): string {
  const statuses = facts.plan.map((entry) => entry.status);
  return sha256(
    canonicalJson([facts.tree, facts.head, facts.acts, statuses, facts.verify_codes, facts.report?.completed.length ?? 0]),
  );
}

/** True when the last three keys each equal the one before it; the first iteration is compared with the attempt's entry. */
export function noProgress(entryKey: string, keys: readonly string[]): boolean {
  const all = [entryKey, ...keys];
  if (keys.length < NO_PROGRESS_ITERATIONS) return false;
  const last = all.slice(-(NO_PROGRESS_ITERATIONS + 1));
  return last.every((key) => key === last[0]);
}
