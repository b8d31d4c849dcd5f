import type { Checkpoints } from "../checkpoint/checkpoint.ts";
import type { Drift } from "../checkpoint/drift-shapes.ts";
import type { Act } from "../run/act.ts";
import type { Grant } from "../run/grant.ts";
import type {
  AttemptRecord,
  CheckpointRecord,
  InstructionRecord,
  IterationRecord,
  RunRecord,
  StepRecord,
  StopRecord,
  Uncommitted,
  VerifyRecord,
} from "../run/run.ts";
import type { Audience } from "../run/said.ts";
import type { StopReason } from "../run/stop-reason.ts";
import type { Store } from "../store/store.ts";
import { type Conversation, conversationOf, type HostView } from "./conversation.ts";
import { driftNotes } from "./drift-lines.ts";
import { driftSinceStop } from "./drift-since.ts";
import { isSameRepository } from "./find-repository.ts";
import { headline } from "./headline.ts";
import { notCoveredLine } from "./not-covered.ts";
import { type RecordGaps, recordGaps } from "./record-gaps.ts";
import { oneLine } from "./shown.ts";
import { isTakenBack, restoresOf, type WentBackAt } from "./taken-back.ts";

/** The account of a stop, built from the store and git alone. Every list is bounded, with its true total beside it. */

/** Everything the account is made of. */
export interface StopSnapshot {
  readonly run: RunRecord;
  readonly stop: StopRecord;
  readonly steps: readonly StepRecord[];
  readonly attempts: readonly AttemptRecord[];
  /** Newest first. */
  readonly iterations: readonly IterationRecord[];
  readonly acts: readonly Act[];
  /** Restores of ours: what they took off the branch is no longer there. */
  readonly restores: readonly WentBackAt[];
  readonly grants: readonly Grant[];
  readonly checkpoints: readonly CheckpointRecord[];
  /** Ids of checkpoints that nothing can be taken back to. */
  readonly lost: ReadonlySet<string>;
  readonly verify: readonly VerifyRecord[];
  readonly undelivered: readonly InstructionRecord[];
  readonly journal: RecordGaps;
  readonly conversation: Conversation;
  readonly drift: Drift | null;
}

interface Deps {
  readonly store: Store;
  readonly checkpoints: Pick<Checkpoints, "drift" | "discover" | "presentOf">;
  readonly here: HostView;
}

export async function loadStop(
  deps: Deps,
  run: RunRecord,
  stop: StopRecord,
  options: { readonly remote: boolean; readonly audience?: Audience },
): Promise<StopSnapshot> {
  const { store } = deps;
  const id = run.run_id;
  const [steps, attempts, iterations, acts, restores, grants, checkpoints, verify, undelivered, journal] = await Promise.all([
    store.steps(id),
    store.attempts(id),
    store.iterations(id, 100),
    store.acts(id, 50),
    restoresOf(store, id),
    store.grants(id),
    store.checkpoints(id, 20),
    store.lastVerify(id),
    store.instructions(id, "undelivered"),
    recordGaps(store, id, options.audience),
  ]);
  const present = await checkPresence(deps, run, checkpoints);
  const drift = await driftSinceStop(deps, run, stop, options.remote);
  return {
    run,
    stop,
    steps,
    attempts,
    iterations,
    acts,
    restores,
    grants,
    checkpoints: present,
    lost: await checkEntries(deps, run, attempts, present),
    verify,
    undelivered,
    journal,
    conversation: await conversationOf(store, deps.here, run, attempts, drift?.workspace_missing === false),
    drift,
  };
}

/** A checkpoint whose objects are gone is shown as lost, never offered. In another clone than the run's nothing can be told. */
async function checkPresence(
  deps: Deps,
  run: RunRecord,
  checkpoints: readonly CheckpointRecord[],
): Promise<readonly CheckpointRecord[]> {
  try {
    const repo = await deps.checkpoints.discover(run.repo_path);
    if (repo.common_dir !== run.repo_common_dir || !isSameRepository(repo, run)) return checkpoints;
    const commits = checkpoints.flatMap(({ commit, state }) => (commit === null || state !== "present" ? [] : [commit]));
    const here = await deps.checkpoints.presentOf(repo, commits);
    return checkpoints.map((checkpoint) => {
      if (checkpoint.commit === null || checkpoint.state !== "present" || here.has(checkpoint.commit)) return checkpoint;
      return { ...checkpoint, state: "lost" as const };
    });
  } catch {
    return checkpoints;
  }
}

/** Checkpoints that choices go back to: where the run and its steps began, however long ago. */
async function checkEntries(
  deps: Deps,
  run: RunRecord,
  attempts: readonly AttemptRecord[],
  checked: readonly CheckpointRecord[],
): Promise<ReadonlySet<string>> {
  const known = new Set(checked.map((record) => record.id));
  const ids = new Set(attempts.flatMap((attempt) => attempt.entry_checkpoint ?? []).filter((id) => !known.has(id)));
  const records = await Promise.all([...ids].map((id) => deps.store.checkpoint(run.run_id, id)));
  const more = await checkPresence(
    deps,
    run,
    records.filter((record) => record !== null),
  );
  return new Set([...checked, ...more].filter((record) => record.state !== "present").map((record) => record.id));
}

export interface Item {
  what: string;
  source: "observed" | "reported";
}

const LISTED = 12;

/** The explanation as callers see it. */
export function explain(snapshot: StopSnapshot) {
  const { run, stop } = snapshot;
  return {
    headline: headline(run, stop),
    cause: {
      stop_reason: stop.reason,
      step: stop.step,
      iteration: stop.iteration,
      max_iterations: run.max_iterations,
      resets_at: stop.resets_at,
      reset_read:
        stop.resets_at_source === null || stop.resets_at_confidence === null
          ? null
          : {
              from: oneLine(stop.resets_at_source, 120),
              zone: stop.resets_at_zone,
              confidence: stop.resets_at_confidence,
            },
      source: stop.source,
      evidence: oneLine(stop.evidence, 400),
    },
    completed: completed(snapshot),
    midway: midway(snapshot),
    intended: intended(snapshot),
    acts: {
      landed: snapshot.acts
        .filter((act) => act.status === "landed")
        .slice(-LISTED)
        .map((act) =>
          isTakenBack(act, snapshot.restores)
            ? { ...actView(act), what: `${actView(act).what} (taken back since)` }
            : actView(act),
        ),
      unobserved: snapshot.acts
        .filter((act) => act.status === "unobserved")
        .slice(-LISTED)
        .map(actView),
    },
    uncommitted: uncommittedView(stop),
    verify: snapshot.verify
      .slice(0, 10)
      .map((result) => ({ ...result, command: oneLine(result.command, 120), tail: result.tail.slice(-300) })),
    drift: driftView(snapshot.drift),
    undelivered_instructions: snapshot.undelivered
      .filter((entry) => entry.kind === "instructions")
      .slice(0, 5)
      .map((entry) => oneLine(entry.text, 200)),
    spans: spans(snapshot),
    checkpoints: snapshot.checkpoints
      .slice(0, 20)
      .map(({ id, kind, iteration, at, files, bytes, state }) => ({ id, kind, iteration, at, files, bytes, state })),
    grants: snapshot.grants.slice(-10).map(({ at, iterations }) => ({ at, iterations })),
    context: {
      engine_session: snapshot.conversation.state,
      transcript_events: snapshot.journal.total ?? 0,
      gaps: [...snapshot.conversation.gaps, ...snapshot.journal.gaps, ...stop.gaps, ...skippedGaps(snapshot)]
        .slice(0, 8)
        .map((gap) => oneLine(gap, 320)),
    },
  };
}

const observed = (what: string): Item => ({ what, source: "observed" });
const reported = (what: string): Item => ({ what: oneLine(what, 200), source: "reported" });

/** The list without repeats (a plan and a report often hold the same words), at most a dozen. */
function bounded(items: readonly Item[]): Item[] {
  const seen = new Set<string>();
  const unique = items.filter((item) => {
    const key = item.what.toLowerCase();
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
  return unique.slice(0, LISTED);
}

function completed(snapshot: StopSnapshot): Item[] {
  const { run, steps, verify, restores } = snapshot;
  const commits = snapshot.acts.filter((act) => act.kind === "commit" && act.status === "landed" && !isTakenBack(act, restores));
  const many = steps.length > 1;
  return bounded([
    ...steps
      .filter((step) => step.state === "succeeded" && (many || run.state === "done"))
      .flatMap((step) => [observed(`step ${step.step} succeeded`), ...(many ? saidIn(snapshot, step) : [])]),
    ...(commits.length > 0
      ? [
          observed(
            `${commits.length} ${commits.length === 1 ? "commit" : "commits"} on ${run.branch ?? "a detached HEAD"}, the last "${oneLine(commits.at(-1)?.what ?? "", 100)}"`,
          ),
        ]
      : []),
    ...verify
      .filter((result) => result.exit_code === 0)
      .slice(0, 5)
      .map((result) => observed(`check passes: ${oneLine(result.command, 120)} (iteration ${result.iteration})`)),
    ...(run.report?.completed ?? []).map(reported),
    ...run.plan.filter((entry) => entry.status === "completed").map((entry) => reported(entry.content)),
  ]);
}

function midway(snapshot: StopSnapshot): Item[] {
  const { run, stop, steps, verify, iterations } = snapshot;
  const left = stop.uncommitted;
  const [last] = iterations;
  const edits = left === null || left.total_files === 0 ? [] : [observed(filesLeft(left))];
  if (run.state === "done") return edits;
  return bounded([
    ...steps
      .filter((step) => steps.length > 1 && (step.state === "stopped" || step.state === "failed"))
      .flatMap((step) => [
        observed(
          `step ${step.step} ${step.state} in its attempt ${step.attempt}, after ${step.iteration} finished ${step.iteration === 1 ? "iteration" : "iterations"} of its own`,
        ),
        ...saidIn(snapshot, step),
      ]),
    ...(last?.finished === false ? [observed(`iteration ${last.number} was begun at ${last.started_at} and cut off`)] : []),
    ...stop.open_tool_calls.slice(0, 4).map((call) => observed(`under way, its end never seen: ${oneLine(call, 160)}`)),
    ...edits,
    ...verify
      .filter((result) => result.exit_code !== 0)
      .slice(0, 5)
      .map((result) =>
        observed(
          `check fails: ${oneLine(result.command, 120)} (exit ${result.exit_code ?? "none"}, iteration ${result.iteration})`,
        ),
      ),
    ...(run.report?.midway == null ? [] : [reported(run.report.midway)]),
    ...run.plan.filter((entry) => entry.status === "in_progress").map((entry) => reported(entry.content)),
  ]);
}

/** What the step's agent last said of it. */
function saidIn({ iterations }: StopSnapshot, { step, attempt }: StepRecord): Item[] {
  const summary = iterations.find((row) => row.step === step && row.attempt === attempt && row.summary !== null)?.summary;
  return summary == null ? [] : [reported(`step ${step}: ${summary}`)];
}

function filesLeft(left: Uncommitted): string {
  const named = left.files.slice(0, 5).map((file) => oneLine(file.path, 80));
  const noun = left.total_files === 1 ? "file" : "files";
  return `${left.total_files} uncommitted ${noun} (+${left.added} -${left.removed}): ${named.join(", ")}${left.total_files > 5 ? ", …" : ""}`;
}

function intended(snapshot: StopSnapshot): Item[] {
  const { run, steps } = snapshot;
  if (run.state === "done") return [];
  return bounded([
    ...(run.report?.intended ?? []).map(reported),
    ...run.plan.filter((entry) => entry.status === "pending").map((entry) => reported(entry.content)),
    ...(steps.length > 1
      ? steps
          .filter((step) => step.state === "pending" || step.state === "unreachable")
          .map((step) => observed(`step ${step.step} was not begun${step.attempt > 0 ? " again" : ""} (${step.state})`))
      : []),
  ]);
}

function actView(act: Act) {
  return { kind: act.kind, what: oneLine(act.what, 160), ref: act.ref, iteration: act.iteration, at: act.at };
}

function uncommittedView(stop: StopRecord) {
  const left = stop.uncommitted;
  if (left === null) return { total_files: 0, added: 0, removed: 0, truncated: true, checkpoint: null, files: [] };
  const files = left.files
    .slice(0, 15)
    .map((file) => ({ ...file, path: file.path.length <= 160 ? file.path : `${file.path.slice(0, 159)}…` }));
  return { ...left, truncated: left.truncated || files.length < left.total_files, files };
}

export function driftView(drift: Drift | null) {
  if (drift === null) {
    return {
      head_moved: null,
      branch_moved: null,
      workspace_missing: false,
      branch: { local: null, remote: null, remote_checked: false, merged: null },
      files_changed: [],
      commits_by_others: [],
      operation_in_progress: null,
      notes: [],
    };
  }
  return {
    head_moved: drift.head_moved,
    branch_moved: drift.branch_moved,
    workspace_missing: drift.workspace_missing,
    branch: { ...drift.branch },
    files_changed: drift.files_changed.slice(0, 15).map((path) => oneLine(path, 160)),
    commits_by_others: drift.commits_by_others
      .slice(0, 8)
      .map((commit) => ({ sha: commit.sha, author: oneLine(commit.author, 60), subject: oneLine(commit.subject, 100) })),
    operation_in_progress: drift.operation_in_progress,
    notes: driftNotes(drift).slice(0, 12),
  };
}

/** The run's life from stop to stop. Attempts of steps that succeeded do not end a span. */
function spans(snapshot: StopSnapshot) {
  const { run, attempts, iterations } = snapshot;
  const list: { from_iteration: number; to_iteration: number; ended_by: StopReason; unfinished: boolean }[] = [];
  let from = 1;
  const inOrder = attempts.toSorted((a, b) => (a.opened_at < b.opened_at ? -1 : 1));
  for (const [index, attempt] of inOrder.entries()) {
    if (attempt.ended_by === null || attempt.ended_by === "done") continue;
    // The attempt that a resume opened, of whatever step: it says how many iterations were finished at the stop.
    const next = inOrder.slice(index + 1).find((later) => later.opened_at >= (attempt.ended_at ?? later.opened_at));
    const to = next?.opened_at_iteration ?? run.iteration;
    list.push({
      from_iteration: from,
      to_iteration: to,
      ended_by: attempt.ended_by,
      unfinished: iterations.some(
        (iteration) => !iteration.finished && iteration.step === attempt.step && iteration.attempt === attempt.attempt,
      ),
    });
    from = to + 1;
  }
  if (run.state === "done") list.push({ from_iteration: from, to_iteration: run.iteration, ended_by: "done", unfinished: false });
  else if (list.length === 0 && run.stop_reason !== null)
    list.push({ from_iteration: from, to_iteration: run.iteration, ended_by: run.stop_reason, unfinished: false });
  return list.slice(-10);
}

function skippedGaps(snapshot: StopSnapshot): string[] {
  const stopCheckpoint = snapshot.checkpoints.find((checkpoint) => checkpoint.kind === "stop");
  const skipped = stopCheckpoint?.skipped ?? [];
  const lines = skipped.slice(0, 5).map(notCoveredLine);
  return skipped.length > lines.length ? [...lines, `not covered: ${skipped.length - lines.length} more paths`] : lines;
}
