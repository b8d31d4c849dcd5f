import { readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { agentsOf } from "../app.ts";
import type { Config } from "../config.ts";
import { CATALOG } from "../engine/catalog.ts";
import { probeAgent } from "../engine/probe.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { jsonOrNull } from "../run/json.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";
import { type Login, loginOf } from "./login.ts";

/** What is known of one agent. */
export interface AgentFacts {
  readonly name: string;
  readonly found: boolean;
  /** Its command line, or how to get it. */
  readonly how: string;
  readonly version: string | null;
  readonly login: Login | null;
  /** Null: it was not asked. */
  readonly answers: { readonly answers: boolean; readonly why: string } | null;
}

/** All agents of the configuration and the catalog, without the one that ships for tests. `deep` starts each and asks it. */
export async function agentFacts(config: Config, deep: boolean): Promise<readonly AgentFacts[]> {
  const agents = agentsOf(config, config.config_path);
  const hidden = CATALOG.filter((row) => !row.may_be_default && config.agents[row.name] === undefined).map((row) => row.name);
  const listed = (await agents.list()).filter((agent) => !hidden.includes(agent.name));
  return Promise.all(
    listed.map(async ({ name, found, how }) => {
      if (!found) return { name, found, how, version: null, login: null, answers: null };
      const spec = await agents.resolve(name);
      const place = { home: config.user_home, env: { ...config.env, ...spec.env }, platform: process.platform };
      return {
        name,
        found,
        how,
        version: await versionOf(spec.command, spec.args),
        login: await loginOf(spec.profile, place),
        answers: deep ? await probeAgent(config.env, spec, config.user_home) : null,
      };
    }),
  );
}

const packageSchema = z.looseObject({ name: z.string(), version: z.string() });

/** The version of the npm package that the program is in; null where it is in none. Nothing is started for it. */
async function versionOf(command: string, args: readonly string[]): Promise<string | null> {
  const script = command === process.execPath ? (args[0] ?? command) : command;
  let folder = dirname(await realpath(script).catch(() => script));
  for (let up = 0; up < 6; up += 1) {
    const text = await readFile(join(folder, "package.json"), "utf8").catch(() => null);
    const parsed = text === null ? null : packageSchema.safeParse(jsonOrNull(text));
    if (parsed?.success) return parsed.data.version;
    if (folder === dirname(folder)) return null;
    folder = dirname(folder);
  }
  return null;
}

export async function checkAgents(config: Config, deep: boolean): Promise<readonly Finding[]> {
  try {
    const facts = await agentFacts(config, deep);
    const found = facts.filter((agent) => agent.found);
    const none = problem(
      "agents",
      "no coding agent is found",
      "Install one, e.g. loopkeeper agents add claude, or name one in the configuration.",
    );
    const missing = facts.filter((agent) => !agent.found && config.agents[agent.name] !== undefined);
    return [
      ...(found.length === 0 ? [none] : found.map(findingOf)),
      ...missing.map((agent) => warning(`agent ${agent.name}`, "not found", agent.how)),
    ];
  } catch (error) {
    if (!(error instanceof LoopkeeperError)) throw error;
    return [problem("agents", error.message, "Correct the configuration.")];
  }
}

function findingOf(agent: AgentFacts): Finding {
  const what = `agent ${agent.name}`;
  const facts = factsText(agent);
  if (agent.answers?.answers === false) return problem(what, facts, `Try it yourself: ${agent.how}`);
  if (agent.login?.logged_in === false) return warning(what, facts, `Log in: ${agent.login.command}`);
  return ok(what, facts);
}

/** `2.6.0, logged in by OPENAI_API_KEY, answers`. */
export function factsText({ version, login, answers }: AgentFacts): string {
  const logins = { true: "logged in ", false: "not logged in: ", null: "login " } as const;
  return [
    version === null ? "version not known" : version,
    login === null ? "login not known" : `${logins[`${login.logged_in}`]}${login.how}`,
    ...(answers === null ? [] : [answers.answers ? "answers" : `does not answer (${answers.why})`]),
  ].join(", ");
}
