import { sleep } from "../run/clock.ts";
import type { Connection } from "./connection.ts";
import type { Engine, TurnEnd } from "./engine.ts";
import { isOpen } from "./engine.ts";
import { killTree, markedTarget } from "./kill-tree.ts";
import type { OpenedSession } from "./open-session.ts";
import type { SpokenProcess } from "./process.ts";
import type { ReportListener } from "./report-listener.ts";
import { beginTurn, type SessionState } from "./session-state.ts";
import { concludeTurn, type ProcessFacts, type TurnOutcome } from "./turn-end.ts";
import { watchSilence } from "./watchdog.ts";

/** How long an engine may take to end a turn that was cancelled. */
const CANCEL_LIMIT_MS = 2000;

export interface SessionParts {
  readonly state: SessionState;
  readonly opened: OpenedSession;
  readonly child: SpokenProcess;
  readonly connection: Connection;
  readonly reports: ReportListener;
}

/** The engine as the loop sees it, once its session is open. One prompt at a time. */
export function engineOf(parts: SessionParts): Engine {
  const { state, opened, child, connection, reports } = parts;
  let turn: { cancelled: boolean; readonly force: () => void; readonly done: Promise<unknown> } | null = null;
  let stopped: Promise<void> | null = null;

  async function prompt(text: string): Promise<TurnEnd> {
    beginTurn(state);
    const force = Promise.withResolvers<TurnOutcome>();
    const done = Promise.withResolvers<void>();
    const current = { cancelled: false, force: () => force.resolve({ kind: "forced" }), done: done.promise };
    turn = current;
    state.onEscalation = () => void cancelTurn(current);
    const watchdog = watchSilence(state);

    const blocks = [{ type: "text", text }];
    const outcome = await Promise.race<TurnOutcome>([
      connection
        .request("session/prompt", { sessionId: state.session_id, prompt: blocks })
        .then((answer) => ({ kind: "answer", answer })),
      watchdog.silent.then((after_s) => ({ kind: "silent", after_s })),
      force.promise,
    ]);
    watchdog.stop();
    turn = null;
    done.resolve();
    const facts = await processFacts(child, outcome);
    for (const call of state.calls.values()) if (isOpen(call)) state.journal.toolResult(call);
    state.journal.flush();
    return concludeTurn(state, outcome, current.cancelled || stopped !== null, facts);
  }

  async function cancelTurn(current: NonNullable<typeof turn>): Promise<void> {
    const waitsForModel = ![...state.calls.values()].some(isOpen);
    if (state.profile.quirks.cancelLosesTurn && waitsForModel && state.escalation === null) await kill();
    else connection.notify("session/cancel", { sessionId: state.session_id });
    const limit = new AbortController();
    await Promise.race([current.done, sleep(CANCEL_LIMIT_MS, limit.signal)]);
    limit.abort();
    current.force();
  }

  function kill(): Promise<number> {
    return killTree(markedTarget(child.pid, state.launch.run_id, state.launch.nonce));
  }

  async function stopAll(): Promise<void> {
    await kill();
    connection.close();
    await reports.close();
    state.journal.flush();
  }

  return {
    session_id: state.session_id,
    context: opened.context,
    why_not_native: opened.why_not_native,
    found: opened.found,
    title: state.launch.agent.name,
    canReport: reports.listed,
    prompt,
    async cancel() {
      if (turn === null) return;
      turn.cancelled = true;
      await cancelTurn(turn);
    },
    stop() {
      stopped ??= stopAll();
      return stopped;
    },
  };
}

/** A process whose connection closed is about to exit: its code is worth waiting for. */
async function processFacts(child: SpokenProcess, outcome: TurnOutcome): Promise<ProcessFacts> {
  if (outcome.kind === "answer" && outcome.answer.kind === "closed") await Promise.race([child.exited, sleep(2000)]);
  return { exit: child.exit(), stderr_tail: child.stderrTail() };
}
