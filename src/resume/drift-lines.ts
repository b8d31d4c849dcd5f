import type { Drift, Stand } from "../checkpoint/drift-shapes.ts";
import { oneLine } from "./shown.ts";

/**
 * What others changed since a stop, in words: the same lines in the explanation and, fenced, in the note. Names and subjects
 * in them come from the repository.
 */
export function driftNotes(drift: Drift): readonly string[] {
  return [
    ...workspaceLines(drift),
    ...commitLines(drift),
    ...headLines(drift),
    ...remoteLines(drift),
    ...operationLines(drift),
    ...drift.locks.map(lockLine),
  ].map((line) => oneLine(line, 300));
}

function workspaceLines({ workspace, workspace_missing, checkpoint_known }: Drift): string[] {
  if (!workspace_missing)
    return checkpoint_known === false
      ? ["the repository does not have the run's checkpoints: it was replaced or cloned anew, or its hidden refs were removed"]
      : [];
  switch (workspace) {
    case "unregistered":
      return ["git no longer knows the worktree, its folder is there: a resume registers it again and keeps its files"];
    case "unfinished":
      return ["the worktree was being rebuilt when that was broken off: a resume finishes it from the stop checkpoint"];
    case "occupied":
      return ["something else stands where the run's worktree was: it is never overwritten; move it away before a resume"];
    case "missing":
    case "present":
      return ["the worktree is gone: a resume rebuilds it from the stop checkpoint, with uncommitted and untracked files"];
  }
}

const NAMED = 3;

function commitLines(drift: Drift): string[] {
  const total = drift.commits_by_others_total ?? 0;
  if (total === 0) return [];
  const named = drift.commits_by_others
    .slice(0, NAMED)
    .map((commit) => `${oneLine(commit.author, 40)}: ${oneLine(commit.subject, 60)}`);
  const what = drift.branch_moved === true ? "branch moved by others" : "commits by others";
  return [`${what}: +${total} ${total === 1 ? "commit" : "commits"} (${named.join("; ")}${total > NAMED ? "; …" : ""})`];
}

function headLines(drift: Drift): string[] {
  const { head, branch } = drift;
  const lines: string[] = [];
  const gone = branch.local !== null && branch.local.from !== null && branch.local.to === null;
  const renamed = drift.head_log.some((event) => event.what.startsWith("Branch: renamed"));
  if (head !== null && drift.head_moved === true) {
    const was = `at the stop it was ${standText(head.from)}`;
    if (gone && renamed) lines.push(`the run's branch was renamed: HEAD is ${standText(head.to)}; ${was}`);
    else if (head.to.head === null && head.to.branch === head.from.branch)
      lines.push(`the branch that HEAD names is gone; ${was}`);
    else lines.push(`HEAD is ${standText(head.to)} now; ${was}`);
  }
  if (gone && !renamed) lines.push("the run's branch was deleted here: a resume makes it again where the run left it");
  for (const event of drift.head_log.slice(-NAMED))
    lines.push(`HEAD was moved by ${oneLine(event.who, 40)} at ${event.at}: ${oneLine(event.what, 100)}`);
  return lines;
}

function standText(stand: Stand): string {
  const commit = stand.head === null ? "no commit" : stand.head.slice(0, 12);
  return stand.branch === null ? `detached at ${commit}` : `on ${stand.branch.replace("refs/heads/", "")} at ${commit}`;
}

function remoteLines(drift: Drift): string[] {
  const { remote, merged, remote_checked } = drift.branch;
  const lines: string[] = [];
  if (merged !== null) lines.push(`the branch was merged into ${merged.into} (${merged.how}, ${merged.sha.slice(0, 12)})`);
  if (!remote_checked && drift.has_remote)
    lines.push("the remote was not looked at (it did not answer, or fetch_remote is off): what moved there is not known");
  if (remote === null) return lines;
  if (remote.deleted) lines.push("the branch was deleted at the remote");
  else if (remote.to !== null && remote.from !== remote.to) lines.push(remoteMoved(drift, remote.from, remote.to));
  if (merged === null && drift.base_unseen !== null && (remote.to ?? remote.from) !== null)
    lines.push(
      `${drift.base_unseen} has new commits at the remote that are not here: a merge into it could not be seen without a fetch`,
    );
  return lines;
}

function remoteMoved(drift: Drift, from: string | null, to: string): string {
  const ends = `${from?.slice(0, 12) ?? "nothing"} -> ${to.slice(0, 12)}`;
  const growth = drift.remote_growth;
  if (from === null) return `the branch is at the remote now (${to.slice(0, 12)}); at the stop it was not known there`;
  if (growth === null || growth.commits === null)
    return `the branch moved at the remote (${ends}); its new commits are not here, so how many and whose they are cannot be told without a fetch`;
  const rewritten = growth.rewritten === true ? ", and its history was rewritten (rebased or force-pushed)" : "";
  return `the branch moved at the remote (${ends}): +${growth.commits} ${growth.commits === 1 ? "commit" : "commits"}${rewritten}`;
}

function operationLines(drift: Drift): string[] {
  const now = drift.operation_in_progress;
  const ended = drift.operation_ended;
  const whose =
    drift.operation_by_run === null
      ? ""
      : drift.operation_by_run
        ? ", begun by the run itself before it stopped"
        : ", not begun by this run; it is never aborted, and nothing is restored over it";
  return [
    ...(now === null ? [] : [`a ${now} is in progress${whose}`]),
    ...(ended === null ? [] : [`the ${ended} that was under way at the stop was ended since`]),
  ];
}

export function lockLine(lock: Drift["locks"][number]): string {
  const { holder } = lock;
  const age = `${lock.path} is there, ${lock.age_s} s old`;
  if (holder !== null) return `${age}, held by process ${holder.pid} (${oneLine(holder.command, 60)})`;
  return lock.state === "stale"
    ? `${age}: left by a git that died before the stop, no process holds it; it is removed only on request`
    : `${age}, newer than the stop; no process is seen to hold it`;
}

/** What an engine has to heed about it. No word in these comes from the repository. */
export function driftOrders(drift: Drift): readonly string[] {
  const { remote, merged } = drift.branch;
  const orders: string[] = [];
  const moved = remote !== null && (remote.deleted || remote.from !== remote.to);
  if (moved || drift.commits_by_others.length > 0)
    orders.push(
      "Others' commits stay as they are. Before you push, fetch: only fast-forward, or put your commits on top of theirs; never force-push. If that cannot be done, stop and report needs_human.",
    );
  if (merged !== null) orders.push("The branch was merged already: further commits on it are not part of that merge.");
  if (remote?.deleted === true) orders.push("The branch was deleted at the remote: do not push it again unless you are told to.");
  if (drift.files_changed.length > 0) orders.push("Keep the edits that others made in these files.");
  if (drift.operation_in_progress !== null)
    orders.push(
      drift.operation_by_run === true
        ? `The ${drift.operation_in_progress} that was under way when you stopped still is.`
        : `A ${drift.operation_in_progress} is in progress in the repository that you did not begin; do not abort or finish it.`,
    );
  if (drift.locks.length > 0)
    orders.push(
      "A lock file of git's was left there, so git commands that write may fail. Nobody asked for its removal: leave it, and report needs_human if you cannot go on without.",
    );
  return orders;
}
