import { z } from "zod";
import type { AcpErrorSeen } from "./classify-stop.ts";
import type { Connection } from "./connection.ts";
import type { ClassifiedStop } from "./engine.ts";
import type { SessionState } from "./session-state.ts";
import { setMode } from "./set-mode.ts";
import { setModel } from "./set-model.ts";
import { classify, errorText, ownStop } from "./turn-end.ts";

/** The start did not succeed, and why. Only used within the start of an engine. */
export class StartFailure extends Error {
  readonly stop: ClassifiedStop | null;
  /** A null stop: the process died or the connection broke, its exit tells why. */
  constructor(stop: ClassifiedStop | null) {
    super(stop?.evidence ?? "the connection closed");
    this.stop = stop;
  }
}

export interface OpenedSession {
  readonly context: "new" | "native";
  readonly why_not_native: string | null;
  readonly found: readonly string[] | null;
}

/** An MCP server that the engine is to start for the session, as ACP describes it. */
export interface InjectedServer {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
}

const initializedSchema = z.looseObject({
  agentCapabilities: z
    .looseObject({
      loadSession: z.boolean().optional(),
      sessionCapabilities: z.looseObject({ resume: z.looseObject({}).nullish() }).nullish(),
    })
    .nullish(),
});
const newSessionSchema = z.looseObject({ sessionId: z.string() });

/** Shakes hands, opens or loads the session, sets mode and model. Throws StartFailure. */
export async function openSession(
  connection: Connection,
  state: SessionState,
  wanted: { readonly resume: string | null; readonly server: InjectedServer },
): Promise<OpenedSession> {
  const { launch } = state;
  const hello = await ask(connection, state, "initialize", INITIALIZE);
  const abilities = initializedSchema.safeParse(hello).data?.agentCapabilities;
  const params = { cwd: launch.cwd, mcpServers: [wanted.server] };

  let why: string | null = null;
  if (wanted.resume !== null) {
    const method = loadMethod(abilities?.sessionCapabilities?.resume != null, abilities?.loadSession === true, state);
    const loaded = await load(connection, state, method, { ...params, sessionId: wanted.resume });
    if (typeof loaded !== "string") {
      state.session_id = wanted.resume;
      await configure(connection, state, loaded.answer);
      return { context: "native", why_not_native: null, found: method === "session/load" ? [...state.found] : null };
    }
    why = loaded;
  }

  const answer = await ask(connection, state, "session/new", params);
  const parsed = newSessionSchema.safeParse(answer);
  if (!parsed.success) throw new StartFailure(ownStop("failed", "acp_error", "the engine opened a session without an id"));
  state.session_id = parsed.data.sessionId;
  await configure(connection, state, answer);
  return { context: "new", why_not_native: why, found: null };
}

/** `session/resume` is quicker; `session/load` shows the past, which is wanted when something is looked for in it. */
function loadMethod(canResume: boolean, canLoad: boolean, state: SessionState): "session/resume" | "session/load" | null {
  if (canLoad && (state.look_for.length > 0 || !canResume)) return "session/load";
  return canResume ? "session/resume" : null;
}

const INITIALIZE = {
  protocolVersion: 1,
  clientInfo: { name: "loopkeeper", version: "0" },
  clientCapabilities: {
    fs: { readTextFile: false, writeTextFile: false },
    terminal: false,
    _meta: {
      // Vendor extension: retries and final failures are told as typed facts instead of as text.
      jetbrains: { air: { version: 1, capabilities: ["sessionFailure"] } },
      // A client of that extension is told no output of commands unless it takes it in pieces.
      terminal_output_delta: true,
    },
  },
};

/** The answer to a load that really brought the session back, or the reason why it did not. */
async function load(
  connection: Connection,
  state: SessionState,
  method: "session/resume" | "session/load" | null,
  params: { readonly sessionId: string },
): Promise<{ readonly answer: unknown } | string> {
  if (method === null) return "this agent cannot load sessions";
  const answer = await connection.request(method, params);
  if (answer.kind === "closed") throw new StartFailure(null);
  if (answer.kind === "error") return `the agent could not load its session: ${errorText(answer.error)}`;
  // An agent that lost the session's file may answer with an empty session under the wanted id.
  if (method === "session/load" && state.replayed === 0) return "the agent loaded a session without any past";
  return { answer: answer.result };
}

/** Mode and model, before any prompt: a loaded session does not keep them on all engines. */
async function configure(connection: Connection, state: SessionState, session: unknown): Promise<void> {
  const request = (method: string, params: object): Promise<unknown> =>
    ask(connection, state, method, { sessionId: state.session_id, ...params });
  const refusal = (await setMode(state, session, request)) ?? (await setModel(state.launch.model, session, request));
  if (refusal !== null) throw new StartFailure(ownStop("failed", "loop", refusal));
}

async function ask(connection: Connection, state: SessionState, method: string, params: object): Promise<unknown> {
  const answer = await connection.request(method, params);
  if (answer.kind === "closed") throw new StartFailure(null);
  if (answer.kind === "error") throw new StartFailure(stopOf(state, method, answer.error));
  return answer.result;
}

function stopOf(state: SessionState, method: string, error: AcpErrorSeen): ClassifiedStop {
  return classify(state, { acp_error: error }) ?? ownStop("failed", "acp_error", `${method}: ${errorText(error)}`);
}
