import type { Explanation } from "../../../src/tools/run-explain-stop.ts";
import { plural } from "../ledger/words.ts";

/** What others changed since the stop, as words; what could not be looked at is said too. */
export function driftLines(drift: Explanation["drift"]): readonly string[] {
  const { branch } = drift;
  const lines = [
    drift.workspace_missing ? "its worktree is gone (it is made again from the stop's checkpoint)" : null,
    branch.merged === null ? null : `its branch was merged into ${branch.merged.into}`,
    branch.remote?.deleted === true ? "its branch was deleted at the remote" : null,
    drift.commits_by_others.length === 0 ? null : `${plural(drift.commits_by_others.length, "commit")} by ${authors(drift)}`,
    drift.commits_by_others.length === 0 && drift.head_moved === true ? "HEAD moved" : null,
    drift.commits_by_others.length === 0 && drift.branch_moved === true ? "its branch moved" : null,
    drift.files_changed.length === 0
      ? null
      : `${plural(drift.files_changed.length, "file")} changed: ${some(drift.files_changed)}`,
    drift.operation_in_progress === null ? null : `a ${drift.operation_in_progress} is in progress`,
    ...drift.notes,
  ].filter((line) => line !== null);
  if (lines.length > 0) return lines;
  return [drift.head_moved === null ? "the workspace could not be looked at" : "nobody touched the workspace"];
}

function authors(drift: Explanation["drift"]): string {
  return [...new Set(drift.commits_by_others.map((commit) => commit.author))].slice(0, 3).join(", ");
}

function some(paths: readonly string[]): string {
  return `${paths.slice(0, 3).join(", ")}${paths.length > 3 ? ` and ${paths.length - 3} more` : ""}`;
}
