import { z } from "zod";
import type { PermissionLevel } from "../run/run.ts";
import type { SessionState } from "./session-state.ts";

const modesSchema = z.looseObject({
  modes: z
    .looseObject({ currentModeId: z.string().optional(), availableModes: z.array(z.looseObject({ id: z.string() })) })
    .nullish()
    .catch(null),
});

// Names under which agents that we have no profile for offer these levels; a mode that allows everything is never guessed.
const COMMON_MODES: Readonly<Record<PermissionLevel, readonly string[]>> = {
  all: ["all", "bypassPermissions", "yolo", "full-access", "agent-full-access"],
  edits: ["edits", "acceptEdits", "autoEdit", "ask", "default"],
  ask: ["ask", "default"],
};

/**
 * Sets the mode that holds the run's permission level, or the one that the caller named. Answers a sentence when the
 * level cannot be held: then nothing may be prompted.
 */
export async function setMode(
  state: SessionState,
  session: unknown,
  request: (method: string, params: object) => Promise<unknown>,
): Promise<string | null> {
  const { permissions, mode, agent } = state.launch;
  const offered = modesSchema.safeParse(session).data?.modes ?? null;
  const ids = offered?.availableModes.map((one) => one.id) ?? [];
  const holding = state.profile.modes[permissions];

  if (mode !== null) {
    if (!ids.includes(mode)) return `agent ${agent.name} has no mode "${mode}"; it has: ${ids.join(", ") || "none"}`;
    if (permissions !== "all" && holding !== null && !holding.includes(mode)) {
      return `mode "${mode}" of agent ${agent.name} does not hold permissions "${permissions}"; these do: ${holding.join(", ") || "none"}`;
    }
    await request("session/set_mode", { modeId: mode });
    return null;
  }

  const wanted = (holding ?? COMMON_MODES[permissions]).find((id) => ids.includes(id));
  if (wanted !== undefined) {
    await request("session/set_mode", { modeId: wanted });
    return null;
  }
  if (holding !== null)
    return `agent ${agent.name} cannot be held to permissions "${permissions}": it offers the modes ${ids.join(", ") || "none"}`;
  const current = offered?.currentModeId;
  if (permissions !== "all" && current !== undefined && COMMON_MODES.all.includes(current)) {
    return `agent ${agent.name} is in mode "${current}" and offers none that holds permissions "${permissions}"`;
  }
  return null;
}
