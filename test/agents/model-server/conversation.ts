/** A model request as every dialect can tell it: what the model was shown, and what it could call. */

export interface Turn {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
  /** Names of the tools that an assistant's turn called. */
  readonly calls: readonly string[];
}

export interface OfferedTool {
  readonly name: string;
  /** Codex offers MCP tools in named groups, and wants the group's name back with a call. */
  readonly namespace: string | null;
  /** `freeform` takes bare text in place of JSON arguments; `search` is Codex's way to tools that it did not list. */
  readonly kind: "function" | "freeform" | "search";
}

export interface Conversation {
  readonly system: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly OfferedTool[];
}

/** Everything that was said, in order, one line per turn; for assertions on what the model received. */
export function saidSoFar(conversation: Conversation): string {
  return conversation.turns
    .map((turn) => `${turn.role}: ${turn.text}${turn.calls.map((name) => ` [calls ${name}]`).join("")}`)
    .join("\n");
}

const WORKING_DIRECTORY = [
  /working directory(?: is)?:? ?`?(\/[^\s`<"']+)/i,
  /<cwd>(\/[^<]+)<\/cwd>/,
  /workspace director(?:y|ies):\s*(?:- )?(\/[^\s`<"']+)/i,
  /working in the director(?:y|ies):?\s*(?:- )?`?(\/[^\s`<"']+)/i,
];

/** Each agent tells its model where it works, in its own words. */
export function workingDirectory(conversation: Conversation): string | null {
  const told = [conversation.system, ...conversation.turns.map((turn) => turn.text)].join("\n");
  for (const pattern of WORKING_DIRECTORY) {
    const found = pattern.exec(told)?.[1];
    if (found !== undefined) return found.replace(/[.,]$/, "");
  }
  return null;
}
