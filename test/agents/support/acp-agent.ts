import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { client, type NewSessionRequest, ndJsonStream, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk";
import type { AgentEntry } from "../launch.ts";
import { killTree } from "./processes.ts";

export interface AcpAgent {
  newSession(servers: readonly StdioServer[]): Promise<string>;
  /** By `session/resume` where the agent offers it, else by `session/load`. */
  reopenSession(sessionId: string, servers: readonly StdioServer[]): Promise<void>;
  setMode(sessionId: string, mode: string): Promise<void>;
  /** Answers the turn's stop reason. */
  prompt(sessionId: string, text: string): Promise<string>;
  /** Kinds of session updates in the order in which they came. */
  updates(): readonly string[];
  said(): string;
  kill(): Promise<void>;
  stderr(): string;
}

export interface StdioServer {
  readonly name: string;
  readonly command: string;
  readonly args: string[];
  readonly env: { name: string; value: string }[];
}

/** Starts an agent and talks ACP with it; every permission that it asks for is given once. */
export async function startAcpAgent(entry: AgentEntry, cwd: string): Promise<AcpAgent> {
  const child = spawn(entry.command, entry.args, { cwd, env: { ...entry.env }, stdio: ["pipe", "pipe", "pipe"], detached: true });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr = `${stderr}${chunk}`.slice(-20_000);
  });
  const updates: string[] = [];
  let said = "";

  const connection = client({ name: "agents-lane" })
    .onNotification("session/update", ({ params }) => {
      updates.push(params.update.sessionUpdate);
      if (params.update.sessionUpdate === "agent_message_chunk" && params.update.content.type === "text")
        said += params.update.content.text;
    })
    .onRequest("session/request_permission", ({ params }) => {
      const option = params.options.find((candidate) => candidate.kind === "allow_once") ?? params.options[0];
      return { outcome: option === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: option.optionId } };
    })
    .onRequest("*", ({ method }) => {
      throw RequestError.methodNotFound(method);
    })
    .onNotification("*", () => {})
    .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
  const agent = connection.agent;
  const { agentCapabilities } = await agent.request("initialize", {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "agents-lane", version: "0" },
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  });
  const resumes = (agentCapabilities?.sessionCapabilities?.resume ?? null) !== null;

  return {
    newSession: async (servers) => {
      const wanted: NewSessionRequest = { cwd, mcpServers: [...servers] };
      return (await agent.request("session/new", wanted)).sessionId;
    },
    reopenSession: async (sessionId, servers) => {
      const wanted = { sessionId, cwd, mcpServers: [...servers] };
      await (resumes ? agent.request("session/resume", wanted) : agent.request("session/load", wanted));
    },
    setMode: async (sessionId, modeId) => {
      await agent.request("session/set_mode", { sessionId, modeId });
    },
    prompt: async (sessionId, text) =>
      (await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] })).stopReason,
    updates: () => updates,
    said: () => said,
    stderr: () => stderr,
    kill: async () => {
      if (child.pid !== undefined && child.exitCode === null) await killTree(child.pid);
      await exited;
    },
  };
}
