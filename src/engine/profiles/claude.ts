import { basename } from "node:path";
import type { EngineProfile, SessionPlace } from "./profile.ts";
import { engineFolder, findFiles } from "./session-files.ts";

/** Claude Code through @agentclientprotocol/claude-agent-acp. */
export const claude: EngineProfile = {
  name: "claude",
  environment: () => ({
    // As root the adapter refuses to bypass permissions unless it believes itself in a sandbox.
    IS_SANDBOX: "1",
    // Without these the model gets no to-do tool, and no plan is ever sent.
    CLAUDE_CODE_ENABLE_TODO_TOOLS: "1",
    CLAUDE_CODE_ENABLE_TASKS: "1",
    // A suggestion for the next prompt costs one more request per turn, and nobody reads it.
    CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "0",
    // Else the injected tool is hidden behind a search for tools.
    ENABLE_TOOL_SEARCH: "false",
  }),
  modes: {
    all: ["bypassPermissions", "default"],
    // In `acceptEdits` some commands that change files (rm, mv, cp) are not asked for.
    edits: ["default", "acceptEdits", "plan"],
    ask: ["default", "plan"],
  },
  quirks: {},
  async sessionFiles(place) {
    const { session_id } = place;
    const folder = folderOf(place);
    const own = await findFiles(folder, "projects", (name) => isOwn(name, session_id));
    // Without the transcript the rest is of no use.
    if (!own.some(({ name }) => basename(name) === `${session_id}.jsonl`)) return { files: [] };
    return { files: [...own, ...(await findFiles(folder, "tasks", (name) => isTask(name, session_id)))] };
  },
  sessionTarget: async (place, { cwd, names }) => ({
    root: folderOf(place),
    names: cwd === place.cwd ? names : names.map((name) => underOtherProject(name, place.cwd)),
  }),
};

function folderOf(place: SessionPlace): string {
  return engineFolder(place.env, "CLAUDE_CONFIG_DIR", ".claude");
}

/** The transcript, and the folder beside it with transcripts of subagents and large results of tools. */
function isOwn(name: string, sessionId: string): boolean {
  const [, , entry] = name.split("/");
  return entry === `${sessionId}.jsonl` || entry === sessionId;
}

function isTask(name: string, sessionId: string): boolean {
  return name.startsWith(`tasks/${sessionId}/`) && name.endsWith(".json");
}

// Transcripts are looked for in a folder that is named after the working directory.
function underOtherProject(name: string, cwd: string): string {
  if (!name.startsWith("projects/")) return name;
  const [, , ...rest] = name.split("/");
  return ["projects", cwd.replaceAll(/[^a-zA-Z0-9]/g, "-"), ...rest].join("/");
}
