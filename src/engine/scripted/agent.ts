import { homedir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk/unstable";
import { z } from "zod";
import { PERMISSION_LEVELS, type PermissionLevel } from "../../run/run.ts";
import { playAll } from "./actions.ts";
import { type McpChild, startMcp } from "./mcp-child.ts";
import { replay } from "./replay.ts";
import { chooseTurn, readScript, type Script } from "./script.ts";
import { append, createSession, numberedTurns, openSession, type StoredSession } from "./session-file.ts";
import type { LiveSession, Turn } from "./turn.ts";

export interface ScriptedAgentOptions {
  /** `--script FILE`, else the file named by LOOPKEEPER_SCRIPT. */
  readonly args: readonly string[];
  /** LOOPKEEPER_SCRIPTED_HOME: folder of the sessions, default `~/.loopkeeper-scripted`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

const setModelSchema = z.object({ sessionId: z.string(), modelId: z.string() });

/**
 * The deterministic agent that ships with Loopkeeper: speaks ACP over stdin and stdout, plays a script (see script.ts)
 * and returns when its client closes stdin. Throws before speaking when the script cannot be read.
 */
export async function runScriptedAgent(options: ScriptedAgentOptions): Promise<void> {
  const script = await readScript(scriptFile(options));
  const env = definedOnly(options.env);
  const folder = env["LOOPKEEPER_SCRIPTED_HOME"] ?? join(homedir(), ".loopkeeper-scripted");
  const sessions = new Map<string, LiveSession>();

  const live = (
    stored: StoredSession,
    params: { readonly cwd: string; readonly mcpServers?: readonly acp.McpServer[] },
  ): LiveSession => {
    const mcp = script.mcp ? injectedServer(params.mcpServers ?? [], params.cwd, env) : Promise.resolve(null);
    const session: LiveSession = {
      stored,
      cwd: params.cwd,
      mcp,
      mode: "ask",
      model: script.models[0] ?? "",
      cancel: new AbortController(),
      cost: 0,
    };
    sessions.set(stored.id, session);
    return session;
  };
  const known = (id: string): LiveSession => {
    const session = sessions.get(id);
    if (session === undefined) throw acp.RequestError.resourceNotFound(id);
    return session;
  };
  const stored = async (id: string): Promise<StoredSession> => {
    const session = await openSession(folder, id);
    if (session === null) throw acp.RequestError.resourceNotFound(id);
    return session;
  };

  const connection = acp
    .agent({ name: "scripted-agent" })
    .onRequest("initialize", () => ({
      protocolVersion: acp.PROTOCOL_VERSION,
      agentInfo: { name: "scripted", version: "1" },
      agentCapabilities: {
        loadSession: script.load,
        sessionCapabilities: script.load && script.resume ? { resume: {} } : {},
      },
    }))
    .onRequest("session/new", async ({ params }) => {
      const session = live(await createSession(folder, params.cwd), params);
      return { sessionId: session.stored.id, ...sessionState(script, session) };
    })
    .onRequest("session/load", async ({ params, client }) => {
      const session = live(await stored(params.sessionId), params);
      await replay(client, session.stored);
      return sessionState(script, session);
    })
    .onRequest("session/resume", async ({ params }) => sessionState(script, live(await stored(params.sessionId), params)))
    .onRequest("session/set_mode", ({ params }) => {
      known(params.sessionId).mode = modeOf(params.modeId);
    })
    .onRequest("session/set_model", setModelSchema, ({ params }) => {
      if (!script.models.includes(params.modelId))
        throw acp.RequestError.invalidParams(undefined, `unknown model ${params.modelId}`);
      known(params.sessionId).model = params.modelId;
      return {};
    })
    .onRequest("session/prompt", ({ params, client }) => prompt(script, env, known(params.sessionId), client, params.prompt))
    .onNotification("session/cancel", ({ params }) => sessions.get(params.sessionId)?.cancel.abort())
    .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
  await connection.closed;
  process.exit(0);
}

async function prompt(
  script: Script,
  env: Readonly<Record<string, string>>,
  session: LiveSession,
  client: acp.AgentContext,
  blocks: readonly acp.ContentBlock[],
): Promise<acp.PromptResponse> {
  const text = blocks.map((block) => (block.type === "text" ? block.text : "")).join("\n");
  const chosen = chooseTurn(script, text, numberedTurns(session.stored));
  await append(session.stored, { type: "prompt", text, numbered: chosen.numbered });
  await session.mcp;

  session.cancel = new AbortController();
  const prefix = `call-${session.stored.lines.length}`;
  let calls = 0;
  const turn: Turn = {
    session,
    client,
    env,
    signal: session.cancel.signal,
    usage: { input: 0, output: 0 },
    nextCallId() {
      calls += 1;
      return `${prefix}-${calls}`;
    },
  };
  const ending = await playAll(turn, chosen.actions);
  const { input, output } = turn.usage;
  return { ...ending, usage: { inputTokens: input, outputTokens: output, totalTokens: input + output } };
}

async function injectedServer(
  servers: readonly acp.McpServer[],
  cwd: string,
  env: Record<string, string>,
): Promise<McpChild | null> {
  const server = servers.find((one) => "command" in one && one.name === "loopkeeper");
  if (server === undefined || !("command" in server)) return null;
  const variables = Object.fromEntries(server.env.map(({ name, value }) => [name, value]));
  return startMcp({ name: server.name, command: server.command, args: server.args, env: variables }, { cwd, env }).catch(
    () => null,
  );
}

/** What session/new, load and resume tell of modes and models (models in the shape that older clients read). */
function sessionState(script: Script, session: LiveSession) {
  return {
    modes: { currentModeId: session.mode, availableModes: PERMISSION_LEVELS.map((level) => ({ id: level, name: level })) },
    models: { currentModelId: session.model, availableModels: script.models.map((model) => ({ modelId: model, name: model })) },
  };
}

function modeOf(id: string): PermissionLevel {
  const mode = PERMISSION_LEVELS.find((level) => level === id);
  if (mode === undefined) throw acp.RequestError.invalidParams(undefined, `unknown mode ${id}`);
  return mode;
}

function scriptFile(options: ScriptedAgentOptions): string {
  const flag = options.args.indexOf("--script");
  const file = flag >= 0 ? options.args[flag + 1] : options.env["LOOPKEEPER_SCRIPT"];
  if (file === undefined || file === "") throw new Error("the scripted agent needs --script FILE or LOOPKEEPER_SCRIPT");
  return file;
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
