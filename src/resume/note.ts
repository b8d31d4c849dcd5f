import type { Drift, ForeignCommit } from "../checkpoint/drift-shapes.ts";
import { redact } from "../redact/redact.ts";
import type { Act } from "../run/act.ts";
import type { RunRecord, StepRecord, StopRecord } from "../run/run.ts";
import { driftNotes, driftOrders } from "./drift-lines.ts";
import { fence } from "./fence.ts";
import { causeSentence } from "./headline.ts";
import {
  actLines,
  backgroundLines,
  commitLine,
  evidenceLines,
  keptLines,
  othersLines,
  reportedLines,
  uncommittedLines,
} from "./note-lines.ts";
import { oneLine, shownName } from "./shown.ts";
import type { WentBackAt } from "./taken-back.ts";

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
  /** Restores of ours: acts that they took off the branch are told as gone, not as done. */
  readonly restores?: readonly WentBackAt[];
  /** Commits that others made while the run was under way. */
  readonly others?: readonly ForeignCommit[];
  /** What is missing from the record or from the engine's memory, in words. */
  readonly gaps?: readonly string[];
  /** The last iteration was begun and its end never recorded. */
  readonly unfinished: boolean;
}

const NOTE_CAP = 6_000;

const TAKEN_BACK =
  "The step begins afresh: this run's files are as they were when the step began. What it and later steps did before was taken back, whatever is told of it below; the passages on the repository tell what is there now.";

/** The first line: the true cause of the stop, in words that no other cause shares. All of them are ours. */
export function firstLine(facts: Pick<NoteFacts, "run" | "stop" | "unfinished">): string {
  const { run, stop } = facts;
  const cut = facts.unfinished ? ` Iteration ${run.iteration + 1} was cut off unfinished.` : "";
  return `This run was stopped at ${stop.at} (${stop.reason}): ${causeSentence(run, stop)}${cut}`;
}

/** What an engine is told that still has its own conversation: cause, what changed since, what to check. */
export function nativeNote(facts: NoteFacts): string {
  return cap([
    "RESUME NOTE",
    firstLine(facts),
    ...evidenceLines(facts.stop),
    ...backgroundLines(facts.stop),
    ...driftLines(facts),
    ...gapLines(facts),
    ...actLines(facts.acts, "this run", facts.restores),
    ...othersLines(facts.others ?? []),
    ...uncommittedLines(facts.stop, "this run"),
    "Your conversation is above; go on from where you were.",
  ]);
}

/** What a fresh engine session is told so that it can go on without the earlier conversation. */
export function handoffNote(facts: NoteFacts, why: string): string {
  const { run } = facts;
  return cap([
    "RESUME NOTE",
    firstLine(facts),
    ...evidenceLines(facts.stop),
    `You go on with work that an earlier engine session of this same run began; its conversation is not there:\n${fence("why", oneLine(why, 200))}`,
    ...(facts.entry === true ? [TAKEN_BACK] : []),
    ...backgroundLines(facts.stop),
    ...stepLines(facts.steps),
    // Before the longer lists: a note that has to be cut must not lose what others did.
    ...driftLines(facts),
    ...gapLines(facts),
    ...actLines(facts.acts, "this run", facts.restores),
    ...othersLines(facts.others ?? []),
    ...(facts.entry === true ? keptLines(facts.stop) : uncommittedLines(facts.stop, "this run")),
    ...reportedLines(run, facts.entry === true),
    `The whole transcript: loopkeeper://runs/${run.run_id}/transcript`,
  ]);
}

/** What an engine is told that was started again in the middle of an iteration and has lost the conversation before it. */
export function lostSessionNote(facts: Pick<NoteFacts, "run" | "steps" | "acts">, why: string): string {
  const { run } = facts;
  return cap([
    "RESUME NOTE",
    `Your process was started again in the middle of iteration ${run.iteration + 1}, and the conversation before it is not there:\n${fence("why", oneLine(why, 200))}`,
    "What the earlier iterations made is in the files, and perhaps a part of this one: look at them before you go on. Background processes that had been started are gone.",
    ...stepLines(facts.steps),
    ...actLines(facts.acts, "this run"),
    ...reportedLines(run),
    `The whole transcript: loopkeeper://runs/${run.run_id}/transcript`,
  ]);
}

/** Where the edits are that an earlier run left uncommitted, seen from the new run's tree. */
export interface LeftEdits {
  /** All of them are in the tree, as that run left them. */
  readonly in_tree: boolean;
  /** Those that are not, when some are. */
  readonly missing: readonly string[];
  /** A revision of this repository that holds them; null when the new run's repository is another clone. */
  readonly revision: string | null;
  /** Branch of a worktree run. */
  readonly branch: string | null;
}

/** What a new run on the same repository is told about the run before it. */
export function successorNote(facts: NoteFacts, left: LeftEdits): string {
  const { run, stop } = facts;
  const cut = facts.unfinished ? ` Its iteration ${run.iteration + 1} was cut off unfinished.` : "";
  return cap([
    "NOTE ON THE RUN BEFORE THIS ONE",
    `An earlier run on this repository (${run.run_id}) stopped at ${stop.at} (${stop.reason}): ${causeSentence(run, stop)}${cut}`,
    ...evidenceLines(stop),
    fence("objective of that run", oneLine(run.objective, 400)),
    ...actLines(facts.acts, "that run"),
    ...(left.branch === null ? [] : [`Its commits are on this branch:\n${fence("branch", oneLine(left.branch, 100))}`]),
    ...uncommittedLines(stop, "that run"),
    ...(stop.uncommitted === null || stop.uncommitted.total_files === 0 ? [] : leftLines(run, left)),
    ...reportedLines(run),
    "That run had its own objective; yours is below.",
  ]);
}

function leftLines(run: RunRecord, left: LeftEdits): string[] {
  if (left.in_tree) return ["These edits are in your working tree."];
  const back =
    left.revision === null
      ? `they are kept in its stop checkpoint; a run started with base: "run:${run.run_id}" in that run's repository has them`
      : `they are kept in its stop checkpoint: git show ${left.revision}:<path> reads one, git restore --source=${left.revision} -- <path> brings one back; a run started with base: "run:${run.run_id}" has them all`;
  if (left.missing.length === 0) return [`These edits are NOT in your working tree; ${back}.`];
  const names = left.missing.slice(0, 20).map(shownName);
  if (left.missing.length > names.length) names.push(`and ${left.missing.length - names.length} more`);
  return [
    `Of these edits some are NOT in your working tree as that run left them; ${back}. Those that are not:\n${fence("files", names.join("\n"))}`,
  ];
}

function stepLines(steps: readonly StepRecord[]): string[] {
  if (steps.length < 2) return [];
  return [`Steps: ${steps.map((step) => `${step.step} ${step.state}`).join(", ")}.`];
}

/** What others changed: their words fenced, ours outside. */
function driftLines(facts: NoteFacts): string[] {
  const { drift } = facts;
  const notes = [...(facts.told ?? []), ...(drift === null ? [] : driftNotes(drift))].map((line) => `- ${line}`);
  const commits = (drift?.commits_by_others ?? []).slice(0, 10).map(commitLine);
  const files = facts.entry === true ? [] : (drift?.files_changed ?? []).slice(0, 30).map(shownName);
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

/** Words of ours about what is missing. */
function gapLines({ gaps = [] }: NoteFacts): string[] {
  return gaps.length === 0 ? [] : [`Not in the record, or not in your memory: ${gaps.slice(0, 8).join("; ")}.`];
}

/** Whole parts only: a cut inside a fence would leave it open and the rest of the prompt inside it. The last part always fits. */
function cap(parts: readonly string[]): string {
  const kept: string[] = [];
  const last = parts.at(-1) ?? "";
  let room = NOTE_CAP - last.length;
  let left = 0;
  for (const part of parts.slice(0, -1)) {
    if (part.length < room) kept.push(part);
    else left += 1;
    room -= part.length < room ? part.length + 1 : 0;
  }
  const cut =
    left === 0 ? [] : ["(Parts of this note were too long for it; the whole account: run_explain_stop and the transcript.)"];
  return redact([...kept, ...cut, last].join("\n"));
}
