import type { EngineProfile } from "./profile.ts";

/**
 * Any ACP agent that we know nothing about: it is taken at its word that it asks through `session/request_permission`.
 * Its mode is only changed when it offers one by a name that other agents use for the level.
 */
export const generic: EngineProfile = {
  name: "generic",
  environment: () => ({}),
  modes: { all: null, edits: null, ask: null },
  quirks: {},
};
