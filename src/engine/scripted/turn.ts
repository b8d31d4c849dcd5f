import type { AgentContext, PromptResponse, SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import type { PermissionLevel } from "../../run/run.ts";
import type { McpChild } from "./mcp-child.ts";
import type { StoredSession } from "./session-file.ts";

/** One session of the scripted agent while its process lives. */
export interface LiveSession {
  readonly stored: StoredSession;
  readonly cwd: string;
  /** Null when no report server was injected, it is broken, or the script wants none. */
  readonly mcp: Promise<McpChild | null>;
  mode: PermissionLevel;
  model: string;
  cancel: AbortController;
  cost: number;
}

/** What the actions of one turn work with. */
export interface Turn {
  readonly session: LiveSession;
  readonly client: AgentContext;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly usage: { input: number; output: number };
  /** Numbers tool calls within the session. */
  nextCallId(): string;
}

/** How a turn ends, and what its answer carries besides. */
export type Ending = Pick<PromptResponse, "stopReason" | "_meta">;

export async function update(turn: Turn, body: SessionUpdate): Promise<void> {
  await turn.client.notify("session/update", { sessionId: turn.session.stored.id, update: body });
}

export async function say(turn: Turn, text: string): Promise<void> {
  await update(turn, { sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
}

/** Asks the client; false when it rejects or cancels. */
export async function permitted(
  turn: Turn,
  call: { readonly id: string; readonly title: string; readonly kind: "edit" | "execute"; readonly rawInput: object },
): Promise<boolean> {
  const answer = await turn.client.request("session/request_permission", {
    sessionId: turn.session.stored.id,
    toolCall: { toolCallId: call.id, title: call.title, kind: call.kind, rawInput: call.rawInput, status: "pending" },
    options: [
      { optionId: "allow", name: "Allow", kind: "allow_once" },
      { optionId: "reject", name: "Reject", kind: "reject_once" },
    ],
  });
  return answer.outcome.outcome === "selected" && answer.outcome.optionId === "allow";
}
