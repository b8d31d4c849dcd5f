import { basename } from "node:path";
import type { EngineProfile, SessionFile, SessionPlace } from "./profile.ts";
import { engineFolder, readFiles, writeMissingFiles } from "./session-files.ts";

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
  async packSession(place) {
    const { session_id } = place;
    const folder = folderOf(place);
    const transcript = await readFiles(folder, "projects", (name) => basename(name) === `${session_id}.jsonl`);
    // Without the transcript the to-do files are of no use.
    if (transcript.length === 0) return null;
    return [...transcript, ...(await readFiles(folder, "tasks", (name) => isTask(name, session_id)))];
  },
  async unpackSession(place, { cwd, files }) {
    const moved = files.map((file) => (cwd === place.cwd ? file : underOtherProject(file, place.cwd)));
    await writeMissingFiles(folderOf(place), moved);
  },
};

function folderOf(place: SessionPlace): string {
  return engineFolder(place.env, "CLAUDE_CONFIG_DIR", ".claude");
}

function isTask(name: string, sessionId: string): boolean {
  return name.startsWith(`tasks/${sessionId}/`) && name.endsWith(".json");
}

// Transcripts are looked for in a folder that is named after the working directory.
function underOtherProject(file: SessionFile, cwd: string): SessionFile {
  if (!file.name.startsWith("projects/")) return file;
  return { ...file, name: `projects/${cwd.replaceAll(/[^a-zA-Z0-9]/g, "-")}/${basename(file.name)}` };
}
