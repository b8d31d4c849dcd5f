import type { Drift, GitLock } from "../checkpoint/drift-shapes.ts";
import { occupiedText } from "../checkpoint/worktree.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { AGAIN, setting, tool } from "../run/names.ts";
import type { RunRecord } from "../run/run.ts";
import { type Said, said } from "../run/said.ts";
import { inQuotes } from "../run/shell-quoted.ts";
import { lockLine } from "./drift-lines.ts";
import type { Refusal } from "./refusals.ts";
import { oneLine } from "./shown.ts";

export interface DriftWish {
  readonly from: "stop" | "entry";
  readonly on_drift?: "keep" | "restore" | "refuse" | undefined;
}

const refusal = (word: string, message: Said): Refusal => ({ code: "not_allowed", word, message });

const SAY: Said = { agent: "Say", page: "Choose", shell: "Say" };
const OR_SAY: Said = { agent: "say", page: "choose", shell: "say" };
const KEEP_OR_RESTORE: Said = {
  ...said`${setting("on_drift", "keep")} or ${setting("on_drift", "restore")}`,
  agent: 'on_drift: "keep" or "restore"',
};

/** Why a run may not go on with what changed since its stop, for this wish; null when it may. */
export function driftRefusal(run: RunRecord, drift: Drift, wish: DriftWish): Refusal | null {
  const gone = landedOrDeleted(drift);
  if (gone !== null && wish.on_drift !== "keep") {
    return refusal(
      "drift",
      said`${gone}. ${SAY} ${setting("on_drift", "keep")} to go on all the same; a new run on a fresh base (${tool("coding_loop_start")}) is usually right.`,
    );
  }
  const changes = driftList(drift);
  if (wish.on_drift === "refuse" && changes.length > 0) {
    return refusal(
      "drift",
      said`the repository changed since the stop: ${changes.join("; ")}. ${SAY} ${KEEP_OR_RESTORE}; ${tool("run_explain_stop")} shows the changes.`,
    );
  }
  const operation = othersOperation(drift);
  if (operation !== null && (wish.on_drift === "restore" || wish.from === "entry")) {
    return refusal(
      "operation_in_progress",
      said`a ${operation} that the run did not start is under way in ${run.workspace_path}, so nothing can be restored. Finish or abort it yourself, or ${OR_SAY} ${setting("on_drift", "keep")}${wish.from === "entry" ? said` with ${setting("from", "stop")}` : ""}.`,
    );
  }
  return null;
}

/** A merge, rebase... under way that the run did not start; files are not taken back in the middle of it. */
function othersOperation(drift: Drift): string | null {
  return drift.operation_by_run === true ? null : drift.operation_in_progress;
}

/** Why a resume is refused on what a look found, before anything is waited for; null when it passes. */
export function resumeRefusal(run: RunRecord, drift: Drift, wish: DriftWish, conflicts: readonly string[]): Refusal | null {
  if (drift.workspace === "occupied") return refusal("repository_problem", said`${occupiedText(run.workspace_path)}`);
  const stale = drift.locks.find((lock) => lock.state === "stale");
  return (
    driftRefusal(run, drift, wish) ??
    (stale === undefined ? null : staleLockRefusal(stale, wish)) ??
    (conflicts.length > 0 && wish.on_drift !== "restore" ? conflictsRefusal(conflicts) : null)
  );
}

/** Why a step's start is not restored over what somebody else changed. */
export function conflictsRefusal(conflicts: readonly string[]): Refusal {
  return refusal(
    "conflicts",
    said`others changed ${conflicts.slice(0, LISTED).join(", ")} since, so the step's start cannot be restored without losing that. Use ${setting("from", "stop")} with instructions, or ${setting("on_drift", "restore")} (a safety checkpoint is taken first).`,
  );
}

/** Why a lock that a dead git left refuses this wish: it is set aside only with consent. Null when it does not. */
export function staleLockRefusal(lock: GitLock, wish: DriftWish): Refusal | null {
  if (wish.on_drift === "restore" || (wish.on_drift === "keep" && wish.from === "stop")) return null;
  const keep = wish.from === "stop" ? said`, or ${setting("on_drift", "keep")} to leave it there and tell the agent` : "";
  return refusal(
    "stale_lock",
    said`${lockLine(lock)}. Git commands that write fail until it is gone. Remove it yourself (rm ${inQuotes(lock.path)}), or ${OR_SAY} ${setting("on_drift", "restore")} to have it set aside and the run's files put back as at the stop${keep}.`,
  );
}

/** Why nothing can be reset or done again on what changed since the stop; null when it can. */
export function restoreRefusal(run: RunRecord, drift: Drift): Refusal | null {
  const operation = othersOperation(drift);
  if (operation !== null) return operationAtRestore(`${operation} that the run did not start`, run.workspace_path);
  const stale = drift.locks.find((lock) => lock.state === "stale");
  return stale === undefined ? null : staleLockAtRestore(stale);
}

/** In the middle of a merge or rebase files and index mean something else: nothing is restored, nothing is aborted. */
export function operationAtRestore(operation: string, place: string): Refusal {
  return refusal(
    "operation_in_progress",
    said`a ${operation} is under way in ${place}, so nothing can be restored. Finish or abort it yourself, then ${AGAIN}.`,
  );
}

export function staleLockAtRestore(lock: GitLock): Refusal {
  return refusal(
    "stale_lock",
    said`${lockLine(lock)}. Nothing can be restored until it is gone. Remove it yourself (rm ${inQuotes(lock.path)}), then ${AGAIN}.`,
  );
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
