import type { EngineProfile } from "./profile.ts";

export const opencode: EngineProfile = {
  name: "opencode",
  environment: () => ({}),
  modes: { all: null, edits: null, ask: null },
  quirks: {},
};
