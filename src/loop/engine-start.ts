import type { AgentSpec, Engine, EngineListener, EngineStart, WantedSession } from "../engine/engine.ts";
import { allowedOnce } from "../resume/permission-answer.ts";
import { newToken } from "../run/id.ts";
import { breakOffStop, type Drive, StopRun } from "./drive.ts";
import { bringCopy, bringSession } from "./session-copy.ts";
import { LAST_WORDS_CHARACTERS, type Sink } from "./turn-seen.ts";

export interface StartedOnSession {
  readonly engine: Engine;
  /** Why the wanted session is not the engine's; null when it is, or none was wanted. */
  readonly why_not_native: string | null;
}

/** Loads the wanted session; where the agent's own files of it are gone or behind, they are brought from the copy. */
export async function startOnSession(
  drive: Drive,
  agent: AgentSpec,
  sink: Sink,
  { wanted, look_for }: { readonly wanted: string | null; readonly look_for: readonly string[] },
): Promise<StartedOnSession> {
  if (wanted === null) return { engine: await startEngine(drive, agent, sink, { resume: null }), why_not_native: null };
  const here = await bringSession(drive, agent, wanted);
  if (!here.ready) return { engine: await startEngine(drive, agent, sink, { resume: null }), why_not_native: here.why };
  const engine = await startEngine(drive, agent, sink, { resume: wanted, look_for });
  if (engine.context === "native" || here.copy) return { engine, why_not_native: engine.why_not_native };
  const copy = await bringCopy(drive, agent, wanted);
  if (copy === null) return { engine, why_not_native: engine.why_not_native };
  if (!copy.ready) return { engine, why_not_native: `${engine.why_not_native ?? "the engine did not load it"}; ${copy.why}` };
  await engine.stop();
  const again = await startEngine(drive, agent, sink, { resume: wanted, look_for });
  return { engine: again, why_not_native: again.why_not_native };
}

/** Starts the engine on a wanted session or a new one. */
export async function startEngine(drive: Drive, agent: AgentSpec, sink: Sink, session: WantedSession): Promise<Engine> {
  const { run } = drive;
  const starting = drive.ctx.engines.start(
    {
      agent,
      run_id: run.run_id,
      nonce: newToken(),
      cwd: drive.repo.top,
      permissions: run.settings.permissions,
      allow: run.settings.allow,
      // Checks and setup are the owner's own words: exactly these are allowed, not whatever begins like them.
      allowed_commands: [...run.settings.allowed_commands, ...drive.steps.flatMap((step) => step.verify), ...run.settings.setup],
      allow_once: await commandAllowedOnce(drive),
      model: run.model,
      mode: run.mode,
      silence_s: run.settings.silence_s,
      tool_silence_s: run.settings.tool_silence_s,
      listener: listener(drive, sink),
    },
    session,
  );
  const started = await unlessBrokenOff(drive, starting);
  if (!started.ok) throw new StopRun(started.stop);
  return started.engine;
}

/** A stop must not wait for an engine that takes its time to start; what still comes up of it is ended. */
async function unlessBrokenOff(drive: Drive, starting: Promise<EngineStart>): Promise<EngineStart> {
  const aborted = new Promise<null>((resolve) => {
    if (drive.signal.aborted) resolve(null);
    drive.signal.addEventListener("abort", () => resolve(null), { once: true });
  });
  const started = await Promise.race([starting, aborted]);
  if (started !== null) return started;
  void starting.then((late) => (late.ok ? late.engine.stop() : undefined));
  throw new StopRun(breakOffStop(drive.breakOff));
}

/** The command of an undelivered "allow once" answer. */
async function commandAllowedOnce(drive: Drive): Promise<string | null> {
  const waiting = await drive.ctx.store.instructions(drive.run.run_id, "undelivered");
  const answers = waiting.filter((entry) => entry.kind === "permission").map((entry) => allowedOnce(entry.text));
  return answers.find((command) => command !== null) ?? null;
}

function listener(drive: Drive, sink: Sink): EngineListener {
  const touched = (): void => {
    if (sink.target.active) return;
    sink.target.active = true;
    sink.target.onActivity?.();
  };
  return {
    entry: (entry) => {
      if (entry.who === "agent" && entry.kind === "message") sink.target.words = entry.text.slice(0, LAST_WORDS_CHARACTERS);
      drive.journal.add({ ...entry, iteration: sink.iteration });
    },
    plan: (entries) => {
      sink.target.plan = entries;
    },
    report: (report) => {
      sink.target.report = report;
    },
    toolCall: (call) => {
      sink.target.calls.set(call.id, call);
    },
    compacted: (how) => {
      sink.target.compacted = how;
    },
    answered: touched,
  };
}
