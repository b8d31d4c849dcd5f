import type { ClassifiedStop, TurnEnd, TurnUsage, WantedSession } from "../engine/engine.ts";
import { now } from "../run/clock.ts";
import type { Attempt } from "./attempt.ts";
import { breakOffStop, type Drive, loopStop } from "./drive.ts";
import { startEngine } from "./engine-start.ts";
import { againPrompt } from "./prompt.ts";
import { breakOff } from "./turn-seen.ts";

export interface Cut {
  readonly kind: "cut";
  readonly stop: ClassifiedStop;
  readonly usage: TurnUsage;
  readonly active_ms: number;
}

type Played = (Extract<TurnEnd, { kind: "ended" }> & { readonly active_ms: number }) | Cut;

/**
 * Sends one prompt and sees it through. An engine that died, or went silent, is started once more with its session loaded;
 * a second time ends the run with the evidence.
 */
export async function playTurn(drive: Drive, attempt: Attempt, prompt: string, delivery: Delivery): Promise<Played> {
  const first = await promptOnce(drive, attempt, prompt, delivery.done);
  if (first.kind === "ended") return first;
  if (first.kind === "cut") return first;
  const silent = !attempt.turn.active;
  const again = await restart(drive, attempt, first, silent ? delivery.refs : []);
  if (again.kind === "cut") return again;
  const { context, found, why_not_native } = again.engine;
  // An engine that showed no sign of the prompt gets it again, unless its conversation shows that it has it.
  const unseen = silent && delivery.refs.length > 0 && (found ?? []).length === 0;
  if (context !== "new" && !unseen && silent) await delivery.done();
  const second = await promptOnce(
    drive,
    attempt,
    context === "new"
      ? await delivery.afresh(`${first.why}; ${why_not_native ?? "its session could not be loaded"}`)
      : unseen
        ? prompt
        : againPrompt(first.why),
    silent ? delivery.done : async () => {},
  );
  return second.kind === "broken" ? { kind: "cut", stop: second.stop, usage: second.usage, active_ms: second.active_ms } : second;
}

/** The instructions that a prompt holds: their refs, and what marks them as delivered. */
export interface Delivery {
  readonly refs: readonly string[];
  done(): Promise<void>;
  /** The prompt for an engine that has lost the whole conversation. */
  afresh(why: string): Promise<string>;
}

interface Broken {
  readonly kind: "broken";
  readonly why: string;
  readonly stop: ClassifiedStop;
  readonly usage: TurnUsage;
  readonly active_ms: number;
}

async function promptOnce(
  drive: Drive,
  attempt: Attempt,
  prompt: string,
  delivered: () => Promise<void>,
): Promise<Played | Broken> {
  let delivering: Promise<void> = Promise.resolve();
  attempt.turn.active = false;
  attempt.turn.onActivity = () => {
    delivering = delivered();
  };
  const cancel = (): void => {
    breakOff(attempt.turn);
    void attempt.engine.cancel();
  };
  if (drive.signal.aborted) return cutBy(drive, { input_tokens: 0, output_tokens: 0, session_cost_usd: null }, 0);
  drive.signal.addEventListener("abort", cancel, { once: true });
  drive.turnStarted();
  const end = await attempt.engine.prompt(prompt);
  const activeMs = drive.turnEnded();
  drive.signal.removeEventListener("abort", cancel);
  attempt.turn.onActivity = null;
  await delivering;
  // A turn that ended by itself was taken, whatever it showed of it.
  if (end.kind === "ended" && !attempt.turn.active) await delivered();
  await drive.journal.flush();
  if (drive.signal.aborted) return cutBy(drive, end.usage, activeMs);
  switch (end.kind) {
    case "ended":
      return { ...end, active_ms: activeMs };
    case "stopped":
      return { kind: "cut", stop: end.stop, usage: end.usage, active_ms: activeMs };
    case "cancelled":
      return {
        kind: "cut",
        stop: loopStop("cancelled", "the engine ended its turn as cancelled", { source: "stop_reason" }),
        usage: end.usage,
        active_ms: activeMs,
      };
    case "died":
      return { kind: "broken", why: "the engine process died", stop: diedStop(end), usage: end.usage, active_ms: activeMs };
    case "silent":
      return {
        kind: "broken",
        why: "the engine was silent",
        stop: loopStop("relay_timeout", `no update from the engine for ${end.after_s} s, twice`),
        usage: end.usage,
        active_ms: activeMs,
      };
  }
}

/** With exit evidence a death is `interrupted`; a connection that broke without one is `relay_timeout`. */
function diedStop(end: Extract<TurnEnd, { kind: "died" }>): ClassifiedStop {
  const exited = end.code !== null || end.signal !== null;
  const how = end.signal === null ? `exit code ${end.code ?? "unknown"}` : `signal ${end.signal}`;
  return exited
    ? loopStop("interrupted", `the engine died twice in one iteration (${how}): ${end.evidence}`, { source: "exit" })
    : loopStop("relay_timeout", `the connection to the engine was lost twice: ${end.evidence}`, { source: "acp_error" });
}

/** Ends what is left of the engine and starts it again on the same session. */
async function restart(
  drive: Drive,
  attempt: Attempt,
  broken: Broken,
  lookFor: readonly string[],
): Promise<{ readonly kind: "up"; readonly engine: Attempt["engine"] } | Cut> {
  const session = attempt.engine.session_id;
  await attempt.engine.stop();
  drive.journal.add({
    who: "loop",
    kind: "engine",
    text: `${broken.why}; started once more with its session`,
    iteration: attempt.sink.iteration,
    at: now(),
  });
  const started = await restarted(drive, attempt, { resume: session, look_for: lookFor });
  if ("reason" in started) return { kind: "cut", stop: started, usage: broken.usage, active_ms: broken.active_ms };
  attempt.engine = started.engine;
  attempt.cost_seen = 0;
  return { kind: "up", engine: started.engine };
}

async function restarted(
  drive: Drive,
  attempt: Attempt,
  session: WantedSession,
): Promise<{ readonly engine: Attempt["engine"] } | ClassifiedStop> {
  try {
    return { engine: await startEngine(drive, attempt.agent, attempt.sink, session) };
  } catch (error) {
    if (error instanceof Error && "stop" in error && isClassified(error.stop)) return error.stop;
    throw error;
  }
}

function isClassified(value: unknown): value is ClassifiedStop {
  return typeof value === "object" && value !== null && "reason" in value && "evidence" in value;
}

function cutBy(drive: Drive, usage: TurnUsage, activeMs: number): Cut {
  return { kind: "cut", stop: breakOffStop(drive.breakOff), usage, active_ms: activeMs };
}
