import type { Captured } from "../checkpoint/checkpoint.ts";
import type { AgentSpec, Engine } from "../engine/engine.ts";
import { handoffNote, nativeNote } from "../resume/note.ts";
import { otherSteps } from "../resume/other-steps.ts";
import { loadOwned, type OwnedState } from "../resume/ownership.ts";
import { NO_SESSION } from "../resume/reopen.ts";
import { repositoryState } from "../resume/repository-state.ts";
import { now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import type { AttemptRecord, StepRecord } from "../run/run.ts";
import { captureCheckpoint } from "./capture.ts";
import { instructionsInDoubt, refsOf, settle } from "./deliver.ts";
import { type Drive, loopStop, StopRun } from "./drive.ts";
import { startOnSession } from "./engine-start.ts";
import { noteFacts } from "./note-facts.ts";
import { progressKey } from "./progress.ts";
import { newTurn, type Sink, type TurnSeen } from "./turn-seen.ts";

/** One try at a step with its live engine. Mutable on purpose: the engine's listener writes into it while a turn goes on. */
export interface Attempt {
  record: AttemptRecord;
  readonly agent: AgentSpec;
  engine: Engine;
  /** Parts of the first prompt of this attempt, taken by the first iteration. */
  opening: {
    readonly kind: "first" | "resumed";
    readonly note: string | null;
    readonly other_steps: string | null;
    readonly repository_state: string | null;
  } | null;
  owned: OwnedState;
  /** The working tree as it is known to be: an iteration's start is the last end. */
  last: { readonly id: string; readonly captured: Captured };
  readonly entry_key: string;
  readonly keys: string[];
  acts: number;
  /** Commits of an iteration that was cut off. */
  cut_commits: readonly string[];
  /** Cost of the engine session that is already in the run's usage. */
  cost_seen: number;
  /** Instructions that this session's engine may have been given before. */
  in_doubt: ReadonlySet<string>;
  /** Checks that could not be run (exit 126, 127) in the last iteration. */
  unrunnable: ReadonlySet<string>;
  turn: TurnSeen;
  readonly sink: Sink;
}

/** A step's agent has a conversation of its own: what the one before it planned and reported was about another step. */
const NOTHING_SAID = { plan: [], report: null, last_words: null } as const;

/** Opens the step's attempt: checkpoint, engine, session, note. Throws StopRun when the engine cannot be started. */
export async function openAttempt(drive: Drive, step: StepRecord): Promise<Attempt> {
  const waiting = await waitingAttempt(drive, step);
  const fresh = waiting === null || waiting.started_from !== "stop";
  const { id, captured } = await captureCheckpoint(drive, {
    kind: fresh ? "entry" : "iteration",
    step: step.step,
    attempt: waiting?.attempt ?? step.attempt + 1,
  });
  const record = await recordAttempt(drive, step, waiting, id);
  const agent = await resolveAgent(drive);
  const sink: Sink = { target: newTurn(), iteration: drive.run.iteration + 1 };
  // A conversation about files that are not here would mislead: then it is told afresh what there is.
  const wanted = waiting?.started_from === "stop" && drive.files_missing === null ? record.engine_session : null;
  const doubt = await instructionsInDoubt(drive);
  const { engine, why_not_native } = await startOnSession(drive, agent, sink, { wanted, look_for: refsOf(doubt) });
  const inDoubt = await settle(drive, doubt, engine);
  const owned = await loadOwned(drive.ctx.store, drive.run.run_id);
  const whyNot = record.why_handoff ?? why_not_native ?? drive.files_missing;
  const opening = {
    ...(await openingParts(drive, record, engine, captured, owned, whyNot)),
    other_steps: await otherSteps(drive.ctx.store, drive, step),
  };
  const context = engine.context === "native" ? "native" : waiting === null ? "new" : "handoff";
  const whyHandoff = context === "handoff" ? (whyNot ?? whyFresh(record)) : null;
  const updated: AttemptRecord = {
    ...record,
    engine_session: engine.session_id,
    context,
    why_handoff: whyHandoff,
    note: opening.note,
  };
  await drive.apply({
    bump_revision: false,
    run: { alive_at: now(), ...(fresh && drive.steps.length > 1 ? NOTHING_SAID : {}) },
    attempts: [
      {
        step: step.step,
        attempt: record.attempt,
        engine_session: engine.session_id,
        context,
        why_handoff: whyHandoff,
        note: opening.note,
      },
    ],
    events: [
      {
        type: "engine_started",
        at: now(),
        data: {
          step: step.step,
          attempt: record.attempt,
          engine: engine.title,
          session: engine.session_id,
          context,
          why_handoff: whyHandoff,
        },
      },
    ],
  });
  const entryKey = progressKey({
    tree: captured.tree,
    head: captured.head,
    acts: 0,
    plan: drive.run.plan,
    verify_codes: [],
    report: drive.run.report,
  });
  return {
    record: updated,
    agent,
    engine,
    opening,
    owned,
    last: { id, captured },
    entry_key: entryKey,
    keys: [],
    acts: 0,
    cut_commits: [],
    cost_seen: 0,
    in_doubt: inDoubt,
    unrunnable: new Set(),
    turn: sink.target,
    sink,
  };
}

/** The attempt that run_resume, a grant or a redo opened for this step, if it was not begun yet. */
async function waitingAttempt(drive: Drive, step: StepRecord): Promise<AttemptRecord | null> {
  const attempts = await drive.ctx.store.attempts(drive.run.run_id);
  return (
    attempts.find((attempt) => attempt.step === step.step && attempt.attempt === step.attempt && attempt.ended_at === null) ??
    null
  );
}

async function recordAttempt(
  drive: Drive,
  step: StepRecord,
  waiting: AttemptRecord | null,
  checkpointId: string,
): Promise<AttemptRecord> {
  const at = now();
  if (waiting !== null) {
    const entry = waiting.started_from === "stop" ? waiting.entry_checkpoint : checkpointId;
    await drive.apply({
      bump_revision: true,
      steps: [{ step: step.step, state: "running" }],
      attempts: [{ step: step.step, attempt: waiting.attempt, entry_checkpoint: entry }],
      events: [{ type: "step_changed", at, data: { step: step.step, state: "running", attempt: waiting.attempt } }],
    });
    return { ...waiting, entry_checkpoint: entry };
  }
  const record: AttemptRecord = {
    step: step.step,
    attempt: step.attempt + 1,
    started_from: "start",
    opened_at: at,
    ended_at: null,
    ended_by: null,
    opened_at_iteration: drive.run.iteration,
    entry_checkpoint: checkpointId,
    engine_session: null,
    context: "pending",
    why_handoff: null,
    note: null,
    restore: "none",
  };
  await drive.apply({
    bump_revision: true,
    steps: [{ step: step.step, state: "running", attempt: record.attempt }],
    open_attempts: [record],
    events: [
      {
        type: "attempt_opened",
        at,
        data: { step: step.step, attempt: record.attempt, from: "start", entry_checkpoint: checkpointId },
      },
      { type: "step_changed", at, data: { step: step.step, state: "running", attempt: record.attempt } },
    ],
  });
  return record;
}

async function resolveAgent(drive: Drive): Promise<AgentSpec> {
  try {
    return await drive.ctx.agentsOf(drive.run.settings.config_path).resolve(drive.run.agent);
  } catch (error) {
    if (error instanceof LoopkeeperError) throw new StopRun(loopStop("failed", error.message));
    throw error;
  }
}

async function openingParts(
  drive: Drive,
  record: AttemptRecord,
  engine: Engine,
  captured: Captured,
  owned: OwnedState,
  whyNotNative: string | null,
): Promise<Omit<NonNullable<Attempt["opening"]>, "other_steps">> {
  const state = await repositoryState(drive.ctx, { run: drive.run, repo: drive.repo, captured, owned: owned.files });
  if (record.started_from === "start")
    return { kind: "first", note: record.attempt === 1 ? drive.run.resume_note : null, repository_state: state };
  const facts = await noteFacts(drive, record);
  if (engine.context === "native")
    return { kind: "resumed", note: facts === null ? null : nativeNote(facts), repository_state: state };
  const why = whyNotNative ?? whyFresh(record);
  return { kind: "first", note: facts === null ? null : handoffNote(facts, why), repository_state: state };
}

function whyFresh(record: AttemptRecord): string {
  return record.started_from === "entry" ? "the step was taken back to its entry, so a fresh session was opened" : NO_SESSION;
}
