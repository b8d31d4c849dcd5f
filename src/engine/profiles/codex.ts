import type { EngineProfile } from "./profile.ts";

export const codex: EngineProfile = {
  name: "codex",
  environment: () => ({}),
  modes: { all: null, edits: null, ask: null },
  quirks: {},
};
