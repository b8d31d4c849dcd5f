import { isOpen, type ToolCallSeen } from "../engine/engine.ts";
import type { PlanEntry, Report } from "../run/run.ts";

/** Last words are cut to this. They go into the run's own record, which is read with every look at the run. */
export const LAST_WORDS_CHARACTERS = 8_000;

/** What was seen during one turn. */
export interface TurnSeen {
  report: Report | null;
  plan: readonly PlanEntry[] | null;
  words: string | null;
  readonly calls: Map<string, ToolCallSeen>;
  /** Ids of the calls that had ended when we broke the turn off; null when we did not. */
  ended_before: ReadonlySet<string> | null;
  /** What showed that the engine replaced its conversation by a summary in this turn. */
  compacted: string | null;
  active: boolean;
  onActivity: (() => void) | null;
}

/** Where the engine's listener writes to: it outlives turns and engine processes. */
export interface Sink {
  target: TurnSeen;
  iteration: number;
}

export function openCalls(turn: TurnSeen): readonly ToolCallSeen[] {
  return callsSeen(turn).filter(isOpen);
}

/**
 * All calls of the turn. Of one that had not ended when we broke the turn off, the end was not seen, whatever a cancelled engine
 * says of it right after; that it had begun may be told as late as that.
 */
export function callsSeen(turn: TurnSeen): readonly ToolCallSeen[] {
  const { ended_before } = turn;
  const calls = [...turn.calls.values()];
  if (ended_before === null) return calls;
  return calls.map((call) => (ended_before.has(call.id) ? call : { ...call, status: "in_progress" }));
}

/** From here on the ends of calls count for nothing. */
export function breakOff(turn: TurnSeen): void {
  const ended = callsSeen(turn).filter((call) => !isOpen(call));
  turn.ended_before = new Set(ended.map((call) => call.id));
}

export function newTurn(): TurnSeen {
  return {
    report: null,
    plan: null,
    words: null,
    calls: new Map(),
    ended_before: null,
    compacted: null,
    active: false,
    onActivity: null,
  };
}
