import type { Drift } from "../checkpoint/checkpoint.ts";
import type { Act } from "../run/act.ts";
import type { RunRecord, StepRecord, StopRecord } from "../run/run.ts";
import { driftNotes, driftOrders } from "./drift-lines.ts";
import { fence } from "./fence.ts";
import { headline, oneLine } from "./headline.ts";

/** What a note is made of; everything comes from the store and from git. */
export interface NoteFacts {
  readonly run: RunRecord;
  readonly stop: StopRecord;
  readonly steps: readonly StepRecord[];
  /** Acts of this run alone. */
  readonly acts: readonly Act[];
  readonly drift: Drift | null;
  /** What was done about it before the engine started, in words. */
  readonly told?: readonly string[];
  /** The step is taken back to its entry: which files others changed since the stop is no longer of use. */
  readonly entry?: boolean;
  /** The last iteration was begun and its end never recorded. */
  readonly unfinished: boolean;
}

const NOTE_CAP = 6_000;

/** The first line: the true cause of the stop, in words that no other cause shares. */
export function firstLine(facts: Pick<NoteFacts, "run" | "stop" | "unfinished">): string {
  const cause = headline(facts.run, facts.stop);
  const cut = facts.unfinished ? ` Iteration ${facts.run.iteration + 1} was cut off unfinished.` : "";
  return `This run was stopped at ${facts.stop.at} (${facts.stop.reason}): ${oneLine(cause, 300)}${cut}`;
}

/** What an engine is told that still has its own conversation: cause, what changed since, what to check. */
export function nativeNote(facts: NoteFacts): string {
  return cap([
    "RESUME NOTE",
    firstLine(facts),
    ...background(facts),
    ...actLines(facts),
    ...driftLines(facts),
    "Your conversation is above; go on from where you were.",
  ]);
}

/** What a fresh engine session is told so that it can go on without the earlier conversation. */
export function handoffNote(facts: NoteFacts, why: string): string {
  const { run } = facts;
  return cap([
    "RESUME NOTE",
    firstLine(facts),
    `You go on with work that an earlier engine session of this same run began; its conversation could not be loaded (${oneLine(why, 200)}).`,
    ...background(facts),
    ...stepLines(facts.steps),
    // Before the longer lists: a note that has to be cut must not lose what others did.
    ...driftLines(facts),
    ...reportedLines(run),
    ...actLines(facts),
    ...uncommittedLines(facts.stop),
    `The whole transcript: loopkeeper://runs/${run.run_id}/transcript`,
  ]);
}

/** What a new run on the same repository is told about the run before it. */
export function successorNote(
  facts: NoteFacts,
  state: { readonly work_in_tree: boolean; readonly branch: string | null },
): string {
  const { run, stop } = facts;
  const has = stop.uncommitted !== null && stop.uncommitted.total_files > 0;
  const where = state.work_in_tree
    ? "These edits are in your working tree."
    : `These edits are NOT in your working tree; they are kept in its stop checkpoint; a run started with base: "run:${run.run_id}" has them.`;
  return cap([
    "NOTE ON THE RUN BEFORE THIS ONE",
    `An earlier run on this repository (${run.run_id}) stopped at ${stop.at} (${stop.reason}): ${oneLine(headline(run, stop), 300)}`,
    fence("objective of that run", oneLine(run.objective, 400)),
    ...reportedLines(run),
    ...actLines(facts),
    ...(state.branch === null ? [] : [`Its commits are on branch ${oneLine(state.branch, 100)}.`]),
    ...uncommittedLines(stop),
    ...(has ? [where] : []),
    "That run had its own objective; yours is below.",
  ]);
}

/** Stopping ended every process of the run: an engine that waits for its dev server would wait for ever. */
function background(facts: NoteFacts): string[] {
  const calls = facts.stop.open_tool_calls;
  const lines = ["All processes that you had started are gone (servers, watchers, background commands)."];
  if (calls.length > 0)
    lines.push(
      `Under way when it stopped, outcome never seen:\n${fence("tool calls", calls.map((call) => `- ${oneLine(call, 200)}`).join("\n"))}`,
    );
  return lines;
}

function stepLines(steps: readonly StepRecord[]): string[] {
  if (steps.length < 2) return [];
  return [`Steps: ${steps.map((step) => `${step.step} ${step.state}`).join(", ")}.`];
}

function reportedLines(run: RunRecord): string[] {
  const parts: string[] = [];
  if (run.report !== null) {
    for (const item of run.report.completed) parts.push(`completed: ${oneLine(item, 200)}`);
    if (run.report.midway !== null) parts.push(`midway: ${oneLine(run.report.midway, 300)}`);
    for (const item of run.report.intended) parts.push(`intended: ${oneLine(item, 200)}`);
  }
  for (const entry of run.plan) parts.push(`plan ${entry.status}: ${oneLine(entry.content, 200)}`);
  if (run.last_words !== null) parts.push(`last words: ${oneLine(run.last_words, 600)}`);
  return parts.length === 0
    ? []
    : [`What the engine itself reported:\n${fence("report, plan and last words of the engine", parts.join("\n"))}`];
}

function actLines(facts: NoteFacts): string[] {
  const line = (act: Act) => `- ${act.kind} ${act.ref ?? ""} ${oneLine(act.what, 160)} (iteration ${act.iteration}, ${act.at})`;
  const landed = facts.acts.filter((act) => act.status === "landed").slice(-20);
  const unobserved = facts.acts.filter((act) => act.status === "unobserved").slice(-10);
  return [
    ...(landed.length > 0 ? [`Done by this run and seen to be there:\n${fence("acts", landed.map(line).join("\n"))}`] : []),
    ...(unobserved.length > 0
      ? [`Begun by this run, outcome never seen - check before you repeat:\n${fence("acts", unobserved.map(line).join("\n"))}`]
      : []),
  ];
}

function uncommittedLines(stop: StopRecord): string[] {
  const left = stop.uncommitted;
  if (left === null || left.total_files === 0) return [];
  const files = left.files
    .slice(0, 30)
    .map(
      (file) =>
        `${file.status} ${file.path} (${file.owner === "this_run" ? "this run's" : file.owner === "other_run" ? "another run's" : "of unknown origin"})`,
    );
  if (left.total_files > files.length) files.push(`and ${left.total_files - files.length} more`);
  return [
    `Not committed at the stop: ${left.total_files} files, +${left.added} -${left.removed}, kept in checkpoint ${left.checkpoint ?? "none"}:\n${fence("files", files.join("\n"))}`,
  ];
}

/** What others changed: their words fenced, ours outside. */
function driftLines(facts: NoteFacts): string[] {
  const { drift } = facts;
  const notes = [...(facts.told ?? []), ...(drift === null ? [] : driftNotes(drift))].map((line) => `- ${line}`);
  const commits = (drift?.commits_by_others ?? [])
    .slice(0, 10)
    .map((commit) => `${commit.sha.slice(0, 12)} ${oneLine(commit.author, 60)}: ${oneLine(commit.subject, 120)}`);
  const files = facts.entry === true ? [] : (drift?.files_changed ?? []).slice(0, 30).map((path) => oneLine(path, 160));
  const more = (drift?.files_changed_total ?? 0) - files.length;
  if (files.length > 0 && more > 0) files.push(`and ${more} more`);
  return [
    ...(notes.length > 0 ? [`Changed since the stop:\n${fence("what changed in the repository", notes.join("\n"))}`] : []),
    ...(commits.length > 0 ? [`Others committed since:\n${fence("commits of others", commits.join("\n"))}`] : []),
    ...(files.length > 0
      ? [`Files changed by others since the stop (keep their edits):\n${fence("files", files.join("\n"))}`]
      : []),
    ...(drift === null ? [] : driftOrders(drift)),
  ];
}

/** Whole parts only: a cut inside a fence would leave it open and the rest of the prompt inside it. */
function cap(parts: readonly string[]): string {
  const kept: string[] = [];
  let length = 0;
  for (const part of parts) {
    length += part.length + 1;
    if (length > NOTE_CAP)
      return [...kept, "(The note was cut here; the whole account: run_explain_stop and the transcript.)"].join("\n");
    kept.push(part);
  }
  return kept.join("\n");
}
