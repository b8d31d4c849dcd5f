import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import { gemini } from "./gemini.ts";
import { generic } from "./generic.ts";
import { opencode } from "./opencode.ts";
import type { EngineProfile } from "./profile.ts";
import { scripted } from "./scripted.ts";

const PROFILES: readonly EngineProfile[] = [claude, codex, opencode, gemini, scripted, generic];

export const PROFILE_NAMES: readonly string[] = PROFILES.map((profile) => profile.name);

/** The profile of that name; an unknown one is treated like any agent that we know nothing about. */
export function profileOf(name: string): EngineProfile {
  return PROFILES.find((profile) => profile.name === name) ?? generic;
}
