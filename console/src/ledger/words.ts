import type { LedgerRow } from "../../../src/tools/view-ledger.ts";
import { withLocalTimes } from "../ui/clock.ts";

/** Facts of a row as short words. */

export const money = (dollars: number): string => `$${dollars.toFixed(2)}`;

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

const ACTS: Readonly<Record<LedgerRow["at_stake"]["landed"][number]["kind"], readonly [string, string]>> = {
  commit: ["commit", "commits"],
  branch: ["branch", "branches"],
  push: ["push", "pushes"],
  pull_request: ["pull request", "pull requests"],
  merge: ["merge", "merges"],
  tag: ["tag", "tags"],
  issue: ["issue", "issues"],
  other: ["other act", "other acts"],
};

/** Why it stands as it does: its own question, what a person must do, or the cause. */
export function whyLine(row: LedgerRow): string | null {
  const { stop } = row;
  if (stop === null) return null;
  if (stop.question !== null)
    return stop.question.kind === "permission"
      ? `It wants to run: ${stop.question.command ?? stop.question.text}`
      : `“${stop.question.text}”`;
  const again = stop.same_stop_in_a_row > 1 ? ` (${stop.same_stop_in_a_row} times in a row)` : "";
  return `${stop.person_must ?? withLocalTimes(stop.headline)}${again}`;
}

/** What could be lost or done twice, counted. */
export function atStake({ at_stake: stake }: LedgerRow): readonly string[] {
  const landed = stake.landed.map(({ kind, count }) => plural(count, ...ACTS[kind]));
  return [
    ...(landed.length === 0 ? [] : [`landed ${landed.join(", ")}`]),
    ...(stake.unobserved === 0 ? [] : [`${plural(stake.unobserved, "act")} of unknown outcome`]),
    ...(stake.uncommitted_files === null || stake.uncommitted_files === 0
      ? []
      : [`${plural(stake.uncommitted_files, "file")} uncommitted`]),
  ];
}
