import { type Conversation, type OfferedTool, workingDirectory } from "./conversation.ts";
import type { Call, PlanItem } from "./script.ts";

/** A call in the words of the agent that offered the tool. */
export interface ToolCall {
  readonly tool: OfferedTool;
  /** JSON arguments, or the bare text of a freeform tool. */
  readonly args: Readonly<Record<string, unknown>> | string;
}

/** Nothing when the agent offers no tool that could do it. */
export function toolCallsFor(call: Call, conversation: Conversation): readonly ToolCall[] {
  switch (call.tool) {
    case "shell":
      return firstOffered(shellWays(call.command), conversation);
    case "write":
      return firstOffered(writeWays(call.path, call.content, workingDirectory(conversation)), conversation);
    case "plan":
      return offeredTool("TaskCreate", conversation) === undefined
        ? firstOffered(planWays(call.entries), conversation)
        : taskCalls(call.entries, conversation);
    case "report": {
      const tool = conversation.tools.find((candidate) => /(^|_)report_progress$/.test(candidate.name));
      return tool === undefined ? [] : [{ tool, args: call.report }];
    }
  }
}

/** Agents with many tools list some of them only after a search. */
export function searchForReportTool(conversation: Conversation): readonly ToolCall[] {
  const tool = conversation.tools.find((candidate) => candidate.kind === "search");
  return tool === undefined ? [] : [{ tool, args: { query: "loopkeeper report_progress", limit: 5 } }];
}

type Way = readonly [name: string, args: ToolCall["args"]];

function firstOffered(ways: readonly Way[], conversation: Conversation): readonly ToolCall[] {
  for (const [name, args] of ways) {
    const tool = offeredTool(name, conversation);
    if (tool !== undefined) return [{ tool, args }];
  }
  return [];
}

function offeredTool(name: string, conversation: Conversation): OfferedTool | undefined {
  return conversation.tools.find((tool) => tool.name === name);
}

function shellWays(command: string): readonly Way[] {
  return [
    ["Bash", { command, description: "Run a command" }],
    ["bash", { command, description: "Run a command" }],
    ["exec_command", { cmd: command }],
    ["shell", { command: ["bash", "-lc", command] }],
    ["run_shell_command", { command, description: "Run a command" }],
  ];
}

function writeWays(path: string, content: string, cwd: string | null): readonly Way[] {
  const absolute = cwd === null ? path : `${cwd.replace(/\/$/, "")}/${path}`;
  const lines = content.replace(/\n$/, "").split("\n");
  const patch = ["*** Begin Patch", `*** Add File: ${path}`, ...lines.map((line) => `+${line}`), "*** End Patch"].join("\n");
  return [
    ["Write", { file_path: absolute, content }],
    ["write", { filePath: absolute, content }],
    ["write_file", { file_path: absolute, content }],
    ["apply_patch", patch],
  ];
}

function planWays(entries: readonly PlanItem[]): readonly Way[] {
  return [
    ["TodoWrite", { todos: entries.map((entry) => ({ ...entry, activeForm: entry.content })) }],
    ["todowrite", { todos: entries.map((entry, at) => ({ ...entry, id: `${at + 1}`, priority: "medium" })) }],
    ["update_plan", { plan: entries.map((entry) => ({ step: entry.content, status: entry.status })) }],
    ["write_todos", { todos: entries.map((entry) => ({ description: entry.content, status: entry.status })) }],
  ];
}

/** Claude Code keeps single tasks: a first plan creates them (all pending), later ones set their states. */
function taskCalls(entries: readonly PlanItem[], conversation: Conversation): readonly ToolCall[] {
  const exist = conversation.turns.some((turn) => turn.calls.includes("TaskCreate"));
  const tool = offeredTool(exist ? "TaskUpdate" : "TaskCreate", conversation);
  if (tool === undefined) return [];
  return entries.map((entry, at) => ({
    tool,
    args: exist
      ? { taskId: `${at + 1}`, status: entry.status }
      : { subject: entry.content, description: entry.content, activeForm: entry.content },
  }));
}
