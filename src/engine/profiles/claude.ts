import type { EngineProfile } from "./profile.ts";

export const claude: EngineProfile = {
  name: "claude",
  environment: () => ({}),
  modes: { all: null, edits: null, ask: null },
  quirks: {},
};
