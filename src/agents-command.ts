import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { logOf } from "./app.ts";
import type { Config } from "./config.ts";
import { agentFacts, factsText } from "./doctor/agents.ts";
import { CATALOG } from "./engine/catalog.ts";
import { createEngines } from "./engine/create.ts";
import { LoopkeeperError } from "./run/errors.ts";
import { newToken } from "./run/id.ts";

const INSTALL_LIMIT_S = 900;

/** `loopkeeper agents`: what is found here. `loopkeeper agents add NAME`: installs a built-in agent into LOOPKEEPER_HOME. */
export async function runAgentsCommand(config: Config, words: readonly string[]): Promise<number> {
  const [action, name, ...rest] = words;
  if (action === undefined) return list(config);
  if (action === "add" && name !== undefined && rest.length === 0) return add(config, name);
  throw new LoopkeeperError("bad_input", "agents takes nothing (lists the agents), or `add NAME`.");
}

async function list(config: Config): Promise<number> {
  // Each is started to see whether it answers: what is on PATH may be of another machine, or half installed.
  for (const agent of await agentFacts(config, true)) {
    const state = agent.found ? `found      ${factsText(agent)}\n${" ".repeat(24)}${agent.how}` : `not found  ${agent.how}`;
    process.stdout.write(`${agent.name.padEnd(12)} ${state}\n`);
  }
  return 0;
}

/** Pinned versions only: an agent that changes under a run would answer differently to the same conversation. */
async function add(config: Config, name: string): Promise<number> {
  const row = CATALOG.find((candidate) => candidate.name === name);
  const known = CATALOG.flatMap((candidate) => (candidate.npm === null ? [] : [candidate.name]));
  if (row?.npm == null)
    throw new LoopkeeperError("agent_unknown", `"${name}" cannot be installed; these can: ${known.join(", ")}.`);
  const folder = join(config.home, "agents");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const what = `${row.npm.name}@${row.npm.version}`;
  process.stdout.write(`Installing ${what} into ${folder} ...\n`);
  const engines = createEngines({ env: config.env, self: config.self, log: logOf(config, "agents") });
  const command = `npm install --prefix . --save-exact --no-audit --no-fund ${what}`;
  const result = await engines.runCommand({
    command,
    cwd: folder,
    run_id: "agents-add",
    nonce: newToken(),
    timeout_s: INSTALL_LIMIT_S,
  });
  if (result.exit_code !== 0)
    throw new LoopkeeperError(
      "agent_unavailable",
      `npm could not install ${what} (exit ${result.exit_code ?? "none"}):\n${result.tail.slice(-1_000)}`,
    );
  return list(config);
}
