import type { NewRunEvent } from "../run/event.ts";
import type { AttemptRecord, InstructionRecord, RunRecord, RunSettings, StepRecord } from "../run/run.ts";
import { type Transition, transition } from "../run/transition.ts";
import type { RunChange } from "../store/store.ts";

/** Everything a stopped run is continued with. */
export interface Reopening {
  readonly at: string;
  readonly from: "stop" | "entry";
  readonly by: "owner" | "grant" | "auto_resume";
  readonly add_iterations: number;
  readonly instructions: readonly InstructionRecord[];
  readonly settings: RunSettings;
  readonly model: string | null;
  /** Replaces the checks of the steps that the stop ended, and of the one that goes on; null keeps them. */
  readonly verify: readonly string[] | null;
  /** Steps that are taken back with the one that goes on, because they began on its work (an entry restore undoes that). */
  readonly also: readonly string[];
  /** Why the run's files are not where it goes on: then its conversation does not go on either. */
  readonly without_files?: string | null;
  /** Facts for the record: a restore that was made, the drift choice. */
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * The one change that continues a stopped run: what the stop ended (and, after a failed run, the failed and unreachable
 * steps) is pending again, each in a new attempt; succeeded steps stay. Null when the run is not stopped.
 */
export function reopenChange(
  facts: { readonly run: RunRecord; readonly steps: readonly StepRecord[]; readonly attempts: readonly AttemptRecord[] },
  input: Reopening,
): Omit<RunChange, "run_id" | "at"> | null {
  const { run, steps, attempts } = facts;
  const next = transition(run.state, run.stop_reason, { type: "resume" });
  if (next === null) return null;
  const reopened = reopenedSteps(run, steps, input.also);
  const first = stepToContinue(run, steps);
  const change = pendingAgain(run, attempts, {
    next,
    settings: input.settings,
    at: input.at,
    reopened: reopened.map((step) => ({
      step,
      from: input.from,
      at_entry: step.step === first?.step,
      share: shareAfterGrant({ ...step, state: "pending" }, input.add_iterations),
    })),
    add_iterations: input.add_iterations,
    instructions: input.instructions,
    verify: input.verify,
    without_files: input.without_files ?? null,
    event: {
      type: "run_resumed",
      at: input.at,
      data: {
        by: input.by,
        from: input.from,
        add_iterations: input.add_iterations,
        steps: reopened.map((step) => step.step),
        ...input.data,
      },
    },
  });
  // The step that goes on was never begun: it is pending already, and only its checks are new.
  const unbegun =
    first !== null && first.attempt === 0 && input.verify !== null ? [{ step: first.step, verify: input.verify }] : [];
  return { ...change, run: { ...change.run, model: input.model }, steps: [...(change.steps ?? []), ...unbegun] };
}

/** Makes steps pending again, each that was begun in a new attempt, with the grant and the instructions that go with it. */
export function pendingAgain(
  run: RunRecord,
  attempts: readonly AttemptRecord[],
  input: {
    readonly next: Transition;
    readonly settings: RunSettings;
    readonly at: string;
    readonly reopened: readonly {
      readonly step: StepRecord;
      readonly from: "stop" | "entry";
      /** The step that goes on first: when files were taken back, then to its entry, which it keeps. */
      readonly at_entry: boolean;
      readonly share: number | null;
    }[];
    readonly add_iterations: number;
    readonly instructions: readonly InstructionRecord[];
    readonly verify: readonly string[] | null;
    readonly without_files?: string | null;
    readonly event: NewRunEvent;
  },
): Omit<RunChange, "run_id" | "at"> {
  const { at } = input;
  const opened = input.reopened
    .filter(({ step }) => step.attempt > 0)
    .map((one) => newAttempt(one, attempts, run, { at, without_files: input.without_files ?? null }));
  const granted = { iterations: input.add_iterations };
  return {
    expected_revision: run.revision,
    bump_revision: true,
    run: {
      state: input.next.state,
      stop_reason: input.next.stop_reason,
      stop_request: null,
      waiting_until: null,
      settings: input.settings,
    },
    steps: input.reopened.map(({ step, share, at_entry }) => ({
      step: step.step,
      state: "pending",
      attempt: step.attempt > 0 ? step.attempt + 1 : 0,
      max_iterations: share,
      ...(input.verify !== null && (at_entry || !waitsToBegin(step)) ? { verify: input.verify } : {}),
    })),
    open_attempts: opened,
    // Opened by an earlier resume and never begun: the new call decides anew from where and with what.
    attempts: attempts
      .filter((attempt) => attempt.ended_at === null)
      .map(({ step, attempt }) => ({ step, attempt, ended_at: at, ended_by: run.stop_reason })),
    ...(input.add_iterations > 0 ? { grants: [{ ...granted, at }] } : {}),
    new_instructions: input.instructions,
    events: [
      input.event,
      ...(input.add_iterations > 0 ? [{ type: "iterations_granted", at, data: granted } as const] : []),
      ...opened.map(
        (attempt) =>
          ({
            type: "attempt_opened",
            at,
            data: { step: attempt.step, attempt: attempt.attempt, from: attempt.started_from },
          }) as const,
      ),
    ],
    tree_hold: run.workspace_path,
  };
}

/**
 * What the stop ended, and after a failed run the failed and unreachable steps. A pending step that has had attempts was
 * reopened by a resume whose run stopped again before it came to the step.
 */
function reopenedSteps(run: RunRecord, steps: readonly StepRecord[], also: readonly string[]): readonly StepRecord[] {
  const failed = run.stop_reason === "failed";
  return steps.filter(
    (step) =>
      step.state === "stopped" ||
      (step.state === "pending" && step.attempt > 0) ||
      (failed && (step.state === "failed" || step.state === "unreachable")) ||
      also.includes(step.step),
  );
}

/** The engine session that a step goes on in: that of its last attempt; one that was to begin afresh has none to go on in. */
export function sessionToContinue(step: string | undefined, attempts: readonly AttemptRecord[]): string | null {
  const own = attempts.filter((attempt) => attempt.step === step).toSorted((a, b) => a.attempt - b.attempt);
  const fresh = own.findLastIndex((attempt) => attempt.started_from !== "stop");
  return own.slice(Math.max(0, fresh)).findLast((attempt) => attempt.engine_session !== null)?.engine_session ?? null;
}

/** Why there is none, where nothing more is known. */
export const NO_SESSION =
  "no conversation of this step's that fits its files is kept: none was recorded, or the files were taken back since";

/** The step that goes on first: one that is reopened, else the next that was never begun; null when there is none. */
export function stepToContinue(run: RunRecord, steps: readonly StepRecord[]): StepRecord | null {
  const open = [...reopenedSteps(run, steps, []), ...steps.filter((step) => step.state === "pending")];
  return open.toSorted((a, b) => a.position - b.position).find((step) => step.state !== "unreachable") ?? null;
}

/** The attempt that a step is in; null before its first. */
export function lastAttempt<A extends Pick<AttemptRecord, "step" | "attempt">>(attempts: readonly A[], step: string): A | null {
  return attempts.filter((attempt) => attempt.step === step).toSorted((a, b) => b.attempt - a.attempt)[0] ?? null;
}

/** Whether the step waits in an attempt that was opened again and never began: nothing of that attempt is in the tree. */
export function waitsToBegin(step: StepRecord): boolean {
  return step.state === "pending" || step.state === "unreachable";
}

function newAttempt(
  { step, from, at_entry }: { readonly step: StepRecord; readonly from: "stop" | "entry"; readonly at_entry: boolean },
  attempts: readonly AttemptRecord[],
  run: RunRecord,
  input: Pick<Reopening, "at" | "without_files">,
): AttemptRecord {
  const last = lastAttempt(attempts, step.step);
  // One that was to begin afresh and never began still has to: its earlier entry is of a tree that was taken back.
  const begins = waitsToBegin(step) && (last?.entry_checkpoint == null || last.started_from !== "stop");
  const started = from === "stop" && begins ? "entry" : from;
  const keeps = at_entry || from === "stop";
  return {
    step: step.step,
    attempt: step.attempt + 1,
    started_from: started,
    opened_at: input.at,
    ended_at: null,
    ended_by: null,
    opened_at_iteration: run.iteration,
    entry_checkpoint: keeps ? (last?.entry_checkpoint ?? null) : null,
    engine_session: started === "stop" && input.without_files == null ? sessionToContinue(step.step, attempts) : null,
    context: "pending",
    why_handoff: input.without_files ?? null,
    note: null,
    restore: "none",
  };
}

/** A grant raises the run's ceiling and that of a step that has yet to succeed and has its own share used up. */
export function shareAfterGrant(step: StepRecord, granted: number): number | null {
  if (step.max_iterations === null) return null;
  return step.state !== "succeeded" && shareUsedUp(step) ? step.max_iterations + granted : step.max_iterations;
}

/** Whether a step's own ceiling lets it begin no further iteration. */
export function shareUsedUp(step: StepRecord): boolean {
  return step.max_iterations !== null && step.iteration >= step.max_iterations;
}
