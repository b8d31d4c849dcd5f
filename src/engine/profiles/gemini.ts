import type { EngineProfile } from "./profile.ts";

export const gemini: EngineProfile = {
  name: "gemini",
  environment: () => ({}),
  modes: { all: null, edits: null, ask: null },
  quirks: {},
};
