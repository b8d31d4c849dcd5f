import type { EngineProfile, SessionPlace } from "./profile.ts";
import { engineFolder, findFiles } from "./session-files.ts";

/** Our own deterministic agent. */
export const scripted: EngineProfile = {
  name: "scripted",
  environment: () => ({}),
  modes: { all: ["all", "edits", "ask"], edits: ["edits", "ask"], ask: ["ask"] },
  quirks: {},
  sessionFiles: async (place) => ({
    files: await findFiles(folderOf(place), ".", (name) => name === `${place.session_id}.jsonl`),
  }),
  sessionTarget: async (place, { names }) => ({ root: folderOf(place), names }),
};

function folderOf(place: SessionPlace): string {
  return engineFolder(place.env, "LOOPKEEPER_SCRIPTED_HOME", ".loopkeeper-scripted");
}
