import type { ForeignCommit } from "../checkpoint/drift-shapes.ts";
import type { Act } from "../run/act.ts";
import type { RunRecord, StopRecord, UncommittedFile } from "../run/run.ts";
import { fence } from "./fence.ts";
import { oneLine, shownName } from "./shown.ts";
import { isTakenBack, type WentBackAt } from "./taken-back.ts";

/** Parts of notes. Words that come from an engine, a repository or another person stand in fences and nowhere else. */

/** The raw signal of the stop; a stop that the loop or the owner decided has none. */
export function evidenceLines(stop: StopRecord): string[] {
  if (stop.source === "loop" || stop.source === "owner" || stop.evidence === "") return [];
  return [fence("evidence of the stop", oneLine(stop.evidence, 400))];
}

/** Stopping ended every process of the run: an engine that waits for its dev server would wait for ever. */
export function backgroundLines(stop: StopRecord): string[] {
  const calls = stop.open_tool_calls.map((call) => `- ${oneLine(call, 200)}`);
  const background = stop.background.map((command) => `- ${oneLine(command, 200)}`);
  return [
    "All processes that you had started are gone (servers, watchers, background commands, timers): nothing of them still runs, and no result of theirs will come.",
    ...(calls.length > 0
      ? [`Under way when it stopped, no longer running, outcome never seen:\n${fence("tool calls", calls.join("\n"))}`]
      : []),
    ...(background.length > 0
      ? [`Left in the background by these commands, ended by the stop:\n${fence("background commands", background.join("\n"))}`]
      : []),
  ];
}

/** Of a long plan the open entries matter more than those that are done. */
const PLAN_ENTRIES = 25;

/** `taken_back`: the work that it is about is no longer there. */
export function reportedLines(run: RunRecord, taken_back = false): string[] {
  const parts: string[] = [];
  if (run.report !== null) {
    for (const item of run.report.completed.slice(0, 15)) parts.push(`completed: ${oneLine(item, 200)}`);
    if (run.report.midway !== null) parts.push(`midway: ${oneLine(run.report.midway, 300)}`);
    for (const item of run.report.intended.slice(0, 15)) parts.push(`intended: ${oneLine(item, 200)}`);
  }
  const open = run.plan.filter((entry) => entry.status !== "completed");
  const done = run.plan.filter((entry) => entry.status === "completed");
  const shown = new Set([...open.slice(0, PLAN_ENTRIES), ...done.slice(-Math.max(0, PLAN_ENTRIES - open.length))]);
  for (const entry of run.plan) if (shown.has(entry)) parts.push(`plan ${entry.status}: ${oneLine(entry.content, 100)}`);
  if (run.plan.length > shown.size) parts.push(`and ${run.plan.length - shown.size} more entries of the plan`);
  if (run.last_words !== null) parts.push(`last words: ${oneLine(run.last_words, 600)}`);
  return parts.length === 0
    ? []
    : [
        `What the engine itself reported${taken_back ? " before that" : ""}:\n${fence("report, plan and last words of the engine", parts.join("\n"))}`,
      ];
}

/** `whose`: "this run" to the run itself, "that run" to another one. */
export function actLines(acts: readonly Act[], whose: "this run" | "that run", restores: readonly WentBackAt[] = []): string[] {
  const line = (act: Act) => `- ${act.kind} ${act.ref ?? ""} ${oneLine(act.what, 160)} (iteration ${act.iteration}, ${act.at})`;
  const gone = acts.filter((act) => isTakenBack(act, restores)).slice(-10);
  const landed = acts.filter((act) => act.status === "landed" && !isTakenBack(act, restores)).slice(-20);
  const unobserved = acts.filter((act) => act.status === "unobserved").slice(-10);
  return [
    ...(landed.length > 0 ? [`Done by ${whose} and seen to be there:\n${fence("acts", landed.map(line).join("\n"))}`] : []),
    ...(gone.length > 0
      ? [`Taken off the branch again since, kept under hidden refs:\n${fence("acts", gone.map(line).join("\n"))}`]
      : []),
    ...(unobserved.length > 0
      ? [`Begun by ${whose}, outcome never seen - check before you repeat:\n${fence("acts", unobserved.map(line).join("\n"))}`]
      : []),
  ];
}

/** What came into the history during the run without it. */
export function othersLines(commits: readonly ForeignCommit[]): string[] {
  if (commits.length === 0) return [];
  return [
    `Committed by others while this run was under way - not yours, leave them:\n${fence("commits of others", commits.slice(0, 10).map(commitLine).join("\n"))}`,
  ];
}

export function commitLine(commit: ForeignCommit): string {
  return `${commit.sha.slice(0, 12)} ${oneLine(commit.author, 60)}: ${oneLine(commit.subject, 120)}`;
}

export function uncommittedLines(stop: StopRecord, whose: "this run" | "that run"): string[] {
  const left = stop.uncommitted;
  if (left === null || left.total_files === 0) return [];
  const files = left.files.slice(0, 30).map((file) => `${file.status} ${shownName(file.path)} (${ownerWords(file, whose)})`);
  if (left.total_files > files.length) files.push(`and ${left.total_files - files.length} more`);
  return [
    `Not committed at the stop: ${left.total_files} files, +${left.added} -${left.removed}, kept in checkpoint ${left.checkpoint ?? "none"}:\n${fence("files", files.join("\n"))}`,
  ];
}

/** Where the edits are that were not committed at the stop and were taken back since. */
export function keptLines({ uncommitted: left }: StopRecord): string[] {
  if (left === null || left.total_files === 0 || left.checkpoint === null) return [];
  return [`Checkpoint ${left.checkpoint} keeps the ${left.total_files} files that were not committed before that.`];
}

function ownerWords(file: UncommittedFile, whose: "this run" | "that run"): string {
  switch (file.owner) {
    case "this_run":
      return whose === "this run" ? "this run's: yours" : "that run's";
    case "other_run":
      return "another run's, not yours";
    case "unattributed":
      return "of unknown origin, not known to be yours";
  }
}
