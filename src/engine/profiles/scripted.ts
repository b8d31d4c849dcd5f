import type { EngineProfile } from "./profile.ts";

/** Our own deterministic agent. */
export const scripted: EngineProfile = {
  name: "scripted",
  environment: () => ({}),
  modes: { all: ["all", "edits", "ask"], edits: ["edits", "ask"], ask: ["ask"] },
  quirks: {},
};
