import type { EngineProfile, SessionPlace } from "./profile.ts";
import { engineFolder, readFiles, writeMissingFiles } from "./session-files.ts";

/** Our own deterministic agent. */
export const scripted: EngineProfile = {
  name: "scripted",
  environment: () => ({}),
  modes: { all: ["all", "edits", "ask"], edits: ["edits", "ask"], ask: ["ask"] },
  quirks: {},
  packSession: (place) => readFiles(folderOf(place), ".", (name) => name === `${place.session_id}.jsonl`),
  unpackSession: (place, { files }) => writeMissingFiles(folderOf(place), files),
};

function folderOf(place: SessionPlace): string {
  return engineFolder(place.env, "LOOPKEEPER_SCRIPTED_HOME", ".loopkeeper-scripted");
}
