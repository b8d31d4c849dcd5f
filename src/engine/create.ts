import { messageOf, systemCode } from "../run/errors.ts";
import { type AgentsOptions, namedAgents } from "./agents.ts";
import type { Agents, EngineStart, Engines } from "./engine.ts";
import type { Environment } from "./environment.ts";
import { freeableSession, freeSession, sessionSize } from "./free-session.ts";
import { killTree, markedTarget } from "./kill-tree.ts";
import { isAlive, ownIdentity } from "./process-identity.ts";
import { runCommand } from "./run-command.ts";
import { hasSession, packerOf, unpackSession } from "./session-copy.ts";
import { type SelfCommand, startEngine } from "./start.ts";
import { ownStop } from "./turn-end.ts";
import { processesIn } from "./working-in.ts";

/** Agents by name: those of the configuration, the built-in ones on PATH, those installed under LOOPKEEPER_HOME. */
export function createAgents(options: AgentsOptions): Agents {
  return namedAgents(options);
}

export interface EnginesOptions {
  /** The environment that engines and commands inherit from. */
  readonly env: Environment;
  readonly self: SelfCommand;
  readonly log: (level: "info" | "warn" | "error", message: string, data?: object) => void;
}

/** All that the loop needs of coding agents and of processes. */
export function createEngines(options: EnginesOptions): Engines {
  return {
    async start(launch, session) {
      const started = await startEngine(options, launch, session).catch(startThatThrew);
      const about = { run_id: launch.run_id, agent: launch.agent.name };
      if (started.ok) options.log("info", "engine started", { ...about, context: started.engine.context });
      else options.log("warn", "engine did not start", { ...about, reason: started.stop.reason });
      return started;
    },
    runCommand: (input) => runCommand(options.env, input),
    async killMarked(runId) {
      const killed = await killTree(markedTarget(null, runId, null));
      if (killed > 0) options.log("warn", "killed processes that a run had left", { run_id: runId, killed });
      return killed;
    },
    processesIn,
    processIdentity: ownIdentity,
    isAlive,
    packSession: packerOf(options.env),
    unpackSession: (input) => unpackSession(options.env, input),
    hasSession: (input) => hasSession(options.env, input),
    sessionSize: (input) => sessionSize(options.env, input),
    freeSession: (input) => freeSession(options.env, input),
    freeableSession: (input) => freeableSession(options.env, input),
  };
}

/** Something on this side was in the way: a full disk, a temp folder that cannot be written. */
function startThatThrew(error: unknown): EngineStart {
  const full = ["ENOSPC", "EDQUOT", "EROFS"].includes(systemCode(error) ?? "");
  return {
    ok: false,
    stop: ownStop(full ? "storage" : "failed", "loop", `the engine could not be started: ${messageOf(error)}`),
  };
}
