import type { ToolCallSeen } from "../engine/engine.ts";
import type { PlanEntry, Report } from "../run/run.ts";

/** Last words are cut to this. They go into the run's own record, which is read with every look at the run. */
export const LAST_WORDS_CHARACTERS = 8_000;

/** What was seen during one turn. */
export interface TurnSeen {
  report: Report | null;
  plan: readonly PlanEntry[] | null;
  words: string | null;
  readonly calls: Map<string, ToolCallSeen>;
  /** Calls that were open when we broke the turn off; a cancelled engine closes them as failed right after. */
  broken_off: readonly ToolCallSeen[];
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
  return callsSeen(turn).filter((call) => call.status === "pending" || call.status === "in_progress");
}

/** All calls of the turn; the end of one that we broke off was not seen, whatever a cancelled engine says of it. */
export function callsSeen(turn: TurnSeen): readonly ToolCallSeen[] {
  const broken = new Set(turn.broken_off.map((call) => call.id));
  return [...turn.calls.values()].map((call) => (broken.has(call.id) ? { ...call, status: "in_progress" } : call));
}

export function newTurn(): TurnSeen {
  return {
    report: null,
    plan: null,
    words: null,
    calls: new Map(),
    broken_off: [],
    compacted: null,
    active: false,
    onActivity: null,
  };
}
