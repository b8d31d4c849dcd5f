import type { EngineProfile, SessionPlace } from "./profile.ts";
import { engineFolder, findFiles } from "./session-files.ts";

/** Codex through @agentclientprotocol/codex-acp. */
export const codex: EngineProfile = {
  name: "codex",
  environment: () => ({}),
  modes: {
    all: ["agent-full-access", "full-access", "workspace-write", "read-only"],
    // In `workspace-write` every command runs unasked inside the sandbox; in `read-only` whatever writes is asked for.
    edits: ["read-only"],
    ask: ["read-only"],
  },
  quirks: {},
  sessionFiles: async (place) => ({
    files: await findFiles(folderOf(place), "sessions", (name) => name.includes(`-${place.session_id}.jsonl`)),
  }),
  // The working directory is told at the load: the file is good for every one.
  sessionTarget: async (place, { names }) => ({ root: folderOf(place), names }),
};

function folderOf(place: SessionPlace): string {
  return engineFolder(place.env, "CODEX_HOME", ".codex");
}
