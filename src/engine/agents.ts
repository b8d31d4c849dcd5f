import { join } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import { CATALOG, type CatalogRow } from "./catalog.ts";
import type { AgentListing, AgentSpec, Agents } from "./engine.ts";
import type { Environment } from "./environment.ts";
import { findCommand, ownInstall } from "./find-command.ts";
import { PROFILE_NAMES } from "./profiles/table.ts";
import type { SelfCommand } from "./start.ts";

/** An agent as the configuration describes it; it adds to the built-in ones or replaces one of them. */
export interface ConfiguredAgent {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly profile?: string;
}

export interface AgentsOptions {
  readonly env: Environment;
  /** LOOPKEEPER_HOME: agents installed by us are under `agents/`. */
  readonly home: string;
  readonly self: SelfCommand;
  readonly configured: Readonly<Record<string, ConfiguredAgent>>;
  readonly default_agent: string | null;
}

/** Finds agents by name: the configuration's first, then the built-in ones on PATH, then those installed by us. */
export function namedAgents(options: AgentsOptions): Agents {
  const names = [...new Set([...Object.keys(options.configured), ...CATALOG.map((row) => row.name)])];

  async function find(name: string): Promise<AgentSpec | null> {
    const configured = options.configured[name];
    if (configured !== undefined) return findConfigured(options, name, configured);
    const row = CATALOG.find((one) => one.name === name);
    return row === undefined ? null : findBuiltIn(options, row);
  }

  async function named(name: string): Promise<AgentSpec> {
    if (!names.includes(name)) {
      throw new LoopkeeperError("agent_unknown", `no agent is named "${name}"; known agents: ${names.join(", ")}`);
    }
    const spec = await find(name);
    if (spec === null) throw new LoopkeeperError("agent_unavailable", howToGet(options, name));
    return spec;
  }

  async function byDefault(): Promise<AgentSpec> {
    if (options.default_agent !== null) return named(options.default_agent);
    for (const row of CATALOG) {
      const spec = row.may_be_default ? await find(row.name) : null;
      if (spec !== null) return spec;
    }
    const wanted = CATALOG.filter((row) => row.may_be_default).map((row) => row.name);
    const message = `no coding agent is found here (looked for ${wanted.join(", ")}); install one, e.g. \`loopkeeper agents add claude\`, or name one in the configuration's "agents"`;
    throw new LoopkeeperError("agent_unavailable", message);
  }

  return {
    resolve: (name) => (name === null ? byDefault() : named(name)),
    list: () => Promise.all(names.map(async (name) => listing(name, await find(name), howToGet(options, name)))),
  };
}

async function findConfigured(options: AgentsOptions, name: string, agent: ConfiguredAgent): Promise<AgentSpec | null> {
  const env = agent.env ?? {};
  const command = await findCommand(agent.command, env["PATH"] ?? options.env["PATH"] ?? "", process.cwd());
  if (command === null) return null;
  return { name, profile: profileFor(name, agent), command, args: agent.args ?? [], env };
}

// A replaced built-in row keeps its profile unless told otherwise.
function profileFor(name: string, agent: ConfiguredAgent): string {
  const wanted = agent.profile ?? CATALOG.find((row) => row.name === name)?.profile ?? "generic";
  if (PROFILE_NAMES.includes(wanted)) return wanted;
  const message = `agent "${name}" is configured with profile "${wanted}"; profiles: ${PROFILE_NAMES.join(", ")}`;
  throw new LoopkeeperError("agent_unavailable", message);
}

async function findBuiltIn(options: AgentsOptions, row: CatalogRow): Promise<AgentSpec | null> {
  const { name, profile, args } = row;
  if (row.command === null) {
    return { name, profile, command: options.self.command, args: [...options.self.args, ...args], env: {} };
  }
  const onPath = await findCommand(row.command, options.env["PATH"] ?? "", process.cwd());
  if (onPath !== null) return { name, profile, command: onPath, args, env: {} };
  const own = await ownInstall(join(options.home, "agents"), row.command);
  return own === null ? null : { name, profile, command: own.command, args: [...own.args, ...args], env: {} };
}

function howToGet(options: AgentsOptions, name: string): string {
  const configured = options.configured[name];
  if (configured !== undefined) {
    return `agent "${name}" cannot be started: its command "${configured.command}" is not there or not executable; correct it in the configuration`;
  }
  const row = CATALOG.find((one) => one.name === name);
  const npm = row?.npm ? `install npm package ${row.npm.name}, or say \`loopkeeper agents add ${name}\`` : "";
  return `agent "${name}" is not installed: "${row?.command ?? ""}" is not on PATH; ${npm}`;
}

function listing(name: string, spec: AgentSpec | null, how: string): AgentListing {
  return spec === null ? { name, found: false, how } : { name, found: true, how: [spec.command, ...spec.args].join(" ") };
}
