import type { Drift } from "../checkpoint/drift-shapes.ts";
import { occupiedText } from "../checkpoint/worktree.ts";
import { LoopkeeperError } from "../run/errors.ts";
import type { RunRecord } from "../run/run.ts";
import type { Refusal } from "./refusals.ts";
import { oneLine } from "./shown.ts";

export interface DriftWish {
  readonly from: "stop" | "entry";
  readonly on_drift?: "keep" | "restore" | "refuse" | undefined;
}

const refusal = (word: string, message: string): Refusal => ({ code: "not_allowed", word, message });

/** Why a run may not go on with what changed since its stop, for this wish; null when it may. */
export function driftRefusal(run: RunRecord, drift: Drift, wish: DriftWish): Refusal | null {
  const gone = landedOrDeleted(drift);
  if (gone !== null && wish.on_drift !== "keep") {
    return refusal(
      "drift",
      `${gone}. Say on_drift: "keep" to go on all the same; a new run on a fresh base (coding_loop_start) is usually right.`,
    );
  }
  const changes = driftList(drift);
  if (wish.on_drift === "refuse" && changes.length > 0) {
    return refusal(
      "drift",
      `the repository changed since the stop: ${changes.join("; ")}. Say on_drift: "keep" or "restore"; run_explain_stop shows the changes.`,
    );
  }
  const operation = othersOperation(drift);
  if (operation !== null && (wish.on_drift === "restore" || wish.from === "entry")) {
    return refusal(
      "operation_in_progress",
      `a ${operation} that the run did not start is under way in ${run.workspace_path}, so nothing can be restored. Finish or abort it yourself, or say on_drift: "keep"${wish.from === "entry" ? ' with from: "stop"' : ""}.`,
    );
  }
  return null;
}

/** A merge, rebase... under way that the run did not start; files are not taken back in the middle of it. */
export function othersOperation(drift: Drift | null): string | null {
  return drift?.operation_by_run === true ? null : (drift?.operation_in_progress ?? null);
}

/** Something else where the run's worktree belongs is never overwritten: nothing goes on until it is moved away. */
export function refuseOccupied(run: RunRecord, drift: Drift): void {
  if (drift.workspace === "occupied") throw new LoopkeeperError("repository_problem", occupiedText(run.workspace_path));
}

/** True when only an explicit word continues the run, and a new one on a fresh base is the better way. */
export function wantsFreshBase(drift: Drift | null): boolean {
  return drift !== null && landedOrDeleted(drift) !== null;
}

function landedOrDeleted(drift: Drift): string | null {
  const { merged, remote } = drift.branch;
  if (merged !== null) return `its branch was merged into ${merged.into} (${merged.how}, ${merged.sha.slice(0, 12)})`;
  return remote?.deleted === true ? "its branch was deleted at the remote" : null;
}

const LISTED = 10;

/** Everything that counts as a change since the stop, one short phrase each. */
function driftList(drift: Drift): readonly string[] {
  const { local, remote } = drift.branch;
  const commits = drift.commits_by_others
    .slice(0, LISTED)
    .map((commit) => `commit ${commit.sha.slice(0, 10)} by ${oneLine(commit.author, 40)}: ${oneLine(commit.subject, 60)}`);
  const files = drift.files_changed.slice(0, LISTED).map((path) => oneLine(path, 100));
  const more = (drift.files_changed_total ?? 0) - files.length;
  return [
    ...(drift.workspace_missing ? [`the worktree is ${drift.workspace === "present" ? "missing" : drift.workspace}`] : []),
    ...commits,
    ...(drift.head_moved === true && commits.length === 0 ? ["HEAD stands elsewhere"] : []),
    ...(local !== null && local.to === null && local.from !== null ? ["its branch was deleted here"] : []),
    ...(remote !== null && remote.from !== remote.to ? ["its branch moved at the remote"] : []),
    ...(drift.operation_in_progress !== null && drift.operation_by_run !== true
      ? [`a ${drift.operation_in_progress} is under way`]
      : []),
    ...(drift.operation_ended === null ? [] : [`the ${drift.operation_ended} of the stop is over`]),
    ...(files.length === 0 ? [] : [`files ${files.join(", ")}${more > 0 ? ` and ${more} more` : ""}`]),
  ];
}
