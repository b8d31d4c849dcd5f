import type { Captured } from "../checkpoint/checkpoint.ts";
import type { TurnEnd } from "../engine/engine.ts";
import { lostSessionNote } from "../resume/note.ts";
import { otherSteps } from "../resume/other-steps.ts";
import { now } from "../run/clock.ts";
import type { NewRunEvent } from "../run/event.ts";
import { newCheckpointId } from "../run/id.ts";
import type { InstructionRecord, IterationRecord, Report, StepRecord, Usage, VerifyRecord } from "../run/run.ts";
import type { Attempt } from "./attempt.ts";
import { captureOrStop, recordOf } from "./capture.ts";
import { type Decision, decide } from "./decide.ts";
import { markDelivered } from "./deliver.ts";
import type { Drive } from "./drive.ts";
import { StopRun } from "./drive.ts";
import { absorbChanges, commitsOf, observeActs } from "./effects.ts";
import { planEvents } from "./plan-events.ts";
import { progressKey } from "./progress.ts";
import { firstPrompt, instructionRef, nextPrompt, type PromptFacts, resumedPrompt } from "./prompt.ts";
import { copySession } from "./session-copy.ts";
import { copyTree } from "./tree-copy.ts";
import { type Cut, playTurn } from "./turn.ts";
import { callsSeen, newTurn, type TurnSeen } from "./turn-seen.ts";
import { runVerify } from "./verify.ts";

/**
 * One iteration: prompt, turn, verify, checkpoint, then one transaction that makes all of it count. When the turn is cut
 * off nothing is counted; the iteration stays in the record as unfinished and the stop that follows records its tree.
 */
export async function runIteration(drive: Drive, step: StepRecord, attempt: Attempt): Promise<Decision> {
  const mark = await drive.ctx.checkpoints.actMark(drive.repo);
  const begun = await begin(drive, step, attempt, mark);
  const delivery = {
    refs: begun.instructions.map((instruction) => instructionRef(instruction.id)),
    done: () => markDelivered(drive, begun.instructions, begun.row.number),
    afresh: (why: string) => afreshPrompt(drive, begun.facts, why),
  };
  const end = await playTurn(drive, attempt, begun.prompt, delivery);
  if (end.kind === "cut") {
    await recordCut(drive, attempt, begun.row, mark, end);
    throw new StopRun(end.stop);
  }
  // The engine says nothing between its turns: the copy is made beside the checks, and is there before the iteration counts.
  const copied = copySession(drive, attempt.agent, attempt.engine.session_id, begun.row.number);
  const verify = await runVerify(drive, step, begun.row.number, attempt);
  const captured = await captureOrStop(drive, newCheckpointId(), "iteration");
  await copied;
  if (drive.ctx.store.kind === "postgres") await copyTree(drive, captured, "entries");
  return finish(drive, { step, attempt, row: begun.row, mark, end, verify, captured });
}

interface Begun {
  readonly row: IterationRecord;
  readonly prompt: string;
  readonly facts: PromptFacts;
  readonly instructions: readonly InstructionRecord[];
}

async function begin(drive: Drive, step: StepRecord, attempt: Attempt, mark: string): Promise<Begun> {
  const { store } = drive.ctx;
  const number = drive.run.iteration + 1;
  const [last] = await store.iterations(drive.run.run_id, 1);
  const row: IterationRecord = {
    ordinal: (last?.ordinal ?? 0) + 1,
    number,
    step: step.step,
    attempt: attempt.record.attempt,
    started_at: now(),
    ended_at: null,
    outcome: null,
    finished: false,
    checkpoint_start: attempt.last.id,
    checkpoint_end: null,
    progress_key: null,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: null,
    summary: null,
    revision: null,
  };
  const instructions = await store.instructions(drive.run.run_id, "undelivered");
  const results = await store.lastVerify(drive.run.run_id);
  const failing = results.filter(
    (result) => result.step === step.step && result.exit_code !== 0 && step.verify.includes(result.command),
  );
  const { in_doubt } = attempt;
  attempt.in_doubt = new Set();
  const facts = { run: drive.run, step, steps: drive.steps, number, instructions, in_doubt, failing };
  const prompt = promptText(facts, attempt);
  attempt.turn = newTurn();
  attempt.sink.target = attempt.turn;
  attempt.sink.iteration = number;
  drive.journal.add({ who: "loop", kind: "prompt", text: prompt, iteration: number, at: row.started_at });
  await drive.apply({
    bump_revision: false,
    run: { progress_at: row.started_at },
    iterations: [row],
    events: [
      {
        type: "iteration_started",
        at: row.started_at,
        data: {
          iteration: number,
          step: step.step,
          attempt: attempt.record.attempt,
          mark,
          instructions: instructions.map((instruction) => instruction.id),
        },
      },
    ],
  });
  return { row, prompt, facts, instructions };
}

function promptText(facts: PromptFacts, attempt: Attempt): string {
  const { opening } = attempt;
  attempt.opening = null;
  if (opening === null) return nextPrompt(facts);
  return opening.kind === "first" ? firstPrompt(facts, opening) : resumedPrompt(facts, opening);
}

/** For an engine whose session was lost in the middle of the iteration: all that a first prompt says, and what was done since. */
async function afreshPrompt(drive: Drive, facts: PromptFacts, why: string): Promise<string> {
  const acts = await drive.ctx.store.acts(drive.run.run_id, 50);
  const note = lostSessionNote({ run: drive.run, steps: drive.steps, acts }, why);
  const other_steps = await otherSteps(drive.ctx.store, drive, facts.step);
  const text = firstPrompt(facts, { note, other_steps, repository_state: null });
  drive.journal.add({ who: "loop", kind: "prompt", text, iteration: facts.number, at: now() });
  return text;
}

async function finish(
  drive: Drive,
  input: {
    readonly step: StepRecord;
    readonly attempt: Attempt;
    readonly row: IterationRecord;
    readonly mark: string;
    readonly end: Extract<TurnEnd, { kind: "ended" }> & { readonly active_ms: number };
    readonly verify: readonly VerifyRecord[];
    readonly captured: Captured;
  },
): Promise<Decision> {
  const { step, attempt, row, end, verify, captured } = input;
  const { turn } = attempt;
  const at = now();
  const acts = await observeActs(drive, { mark: input.mark, iteration: row.number, at, calls: callsSeen(turn) });
  attempt.acts += acts.length;
  attempt.owned = await absorbChanges(drive, {
    owned: attempt.owned,
    from: attempt.last.captured,
    to: captured,
    calls: callsSeen(turn),
    commits: commitsOf(acts),
  });
  const plan = turn.plan ?? drive.run.plan;
  const report = turn.report ?? drive.run.report;
  const key = progressKey({
    tree: captured.tree,
    head: captured.head,
    acts: attempt.acts,
    plan,
    verify_codes: verify.map((result) => result.exit_code),
    report,
  });
  attempt.keys.push(key);
  const usage = addUsage(drive.run.usage, end.usage, end.active_ms, attempt);
  await drive.apply({
    bump_revision: true,
    run: {
      iteration: row.number,
      usage,
      plan,
      report,
      last_words: turn.words ?? drive.run.last_words,
      progress_at: at,
      alive_at: at,
    },
    steps: [{ step: step.step, iteration: currentStep(drive, step).iteration + 1 }],
    iterations: [
      {
        ...row,
        ended_at: at,
        outcome: end.stop_reason,
        finished: true,
        checkpoint_end: captured.id,
        progress_key: key,
        input_tokens: end.usage.input_tokens,
        output_tokens: end.usage.output_tokens,
        cost_usd: end.usage.session_cost_usd,
        summary: turn.report === null ? null : (turn.report.summary ?? wordsOf(turn.report)),
      },
    ],
    acts,
    verify,
    checkpoints: [recordOf(drive, captured, { kind: "iteration", step: step.step, attempt: attempt.record.attempt })].map(
      (record) => ({ ...record, iteration: row.number }),
    ),
    events: [
      ...compactionEvents(turn, row, at),
      ...planEvents(drive.run.plan, plan, row, at),
      {
        type: "iteration_finished",
        at,
        data: {
          iteration: row.number,
          step: step.step,
          outcome: end.stop_reason,
          checkpoint: captured.id,
          verify: verify.map((result) => result.exit_code),
          acts: acts.length,
        },
      },
    ],
  });
  attempt.last = { id: captured.id, captured };
  return decide(drive, currentStep(drive, step), attempt, verify);
}

/** A cut-off iteration: not counted, but its acts, plan, words and usage are kept. The stop checkpoint becomes its end. */
async function recordCut(drive: Drive, attempt: Attempt, row: IterationRecord, mark: string, cut: Cut): Promise<void> {
  if (drive.breakOff?.kind === "lease_lost") return;
  const at = now();
  const { turn } = attempt;
  const acts = await observeActs(drive, { mark, iteration: row.number, at, calls: callsSeen(turn) });
  attempt.cut_commits = commitsOf(acts);
  await drive.apply({
    bump_revision: false,
    run: {
      usage: addUsage(drive.run.usage, cut.usage, cut.active_ms, attempt),
      plan: turn.plan ?? drive.run.plan,
      report: turn.report ?? drive.run.report,
      last_words: turn.words ?? drive.run.last_words,
      progress_at: at,
    },
    iterations: [
      {
        ...row,
        ended_at: at,
        outcome: cut.stop.reason,
        input_tokens: cut.usage.input_tokens,
        output_tokens: cut.usage.output_tokens,
        cost_usd: cut.usage.session_cost_usd,
      },
    ],
    acts,
    events: [
      ...compactionEvents(turn, row, at),
      ...planEvents(drive.run.plan, turn.plan ?? drive.run.plan, row, at),
      { type: "iteration_unfinished", at, data: { iteration: row.number, step: row.step, reason: cut.stop.reason } },
    ],
  });
}

/** What was reported as completed, for an engine that gave no summary. */
function wordsOf(report: Report): string | null {
  return report.completed.length === 0 ? null : report.completed.join("; ").slice(0, 500);
}

function compactionEvents(turn: TurnSeen, row: IterationRecord, at: string): NewRunEvent[] {
  if (turn.compacted === null) return [];
  return [{ type: "context_compacted", at, data: { iteration: row.number, step: row.step, how: turn.compacted } }];
}

/** Tokens and time add up; an engine tells its cost per session, so the run's cost is what earlier sessions cost and this one's. */
function addUsage(
  usage: Usage,
  turn: { readonly input_tokens: number; readonly output_tokens: number; readonly session_cost_usd: number | null },
  activeMs: number,
  attempt: Attempt,
): Usage {
  const cost = turn.session_cost_usd === null ? null : Math.max(0, turn.session_cost_usd - attempt.cost_seen);
  attempt.cost_seen = Math.max(attempt.cost_seen, turn.session_cost_usd ?? 0);
  return {
    input_tokens: usage.input_tokens + turn.input_tokens,
    output_tokens: usage.output_tokens + turn.output_tokens,
    cost_usd: cost === null ? usage.cost_usd : (usage.cost_usd ?? 0) + cost,
    active_ms: usage.active_ms + activeMs,
  };
}

function currentStep(drive: Drive, step: StepRecord): StepRecord {
  return drive.steps.find((candidate) => candidate.step === step.step) ?? step;
}
