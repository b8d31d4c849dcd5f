import type { AgentContext, SessionUpdate } from "@agentclientprotocol/sdk/unstable";
import type { SessionLine, StoredSession } from "./session-file.ts";

/** Sends what was said in a session again, as session/load wants it before its answer. */
export async function replay(client: AgentContext, session: StoredSession): Promise<void> {
  for (const line of session.lines) {
    const update = updateOf(line);
    if (update !== null) await client.notify("session/update", { sessionId: session.id, update });
  }
}

function updateOf(line: SessionLine): SessionUpdate | null {
  if (line.type === "session") return null;
  const sessionUpdate = line.type === "prompt" ? "user_message_chunk" : "agent_message_chunk";
  return { sessionUpdate, content: { type: "text", text: line.text } };
}
