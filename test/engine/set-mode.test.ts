import { expect, test } from "vitest";
import type { EngineLaunch, EngineListener } from "../../src/engine/engine.ts";
import { createJournal } from "../../src/engine/journal.ts";
import { profileOf } from "../../src/engine/profiles/table.ts";
import { newSessionState } from "../../src/engine/session-state.ts";
import { setMode } from "../../src/engine/set-mode.ts";
import type { PermissionLevel } from "../../src/run/run.ts";

const LISTENER: EngineListener = { entry() {}, plan() {}, report() {}, toolCall() {}, compacted() {}, answered() {} };

/** The mode that is set, or the refusal. */
async function outcome(
  profile: string,
  permissions: PermissionLevel,
  modes: { readonly current: string; readonly offered: readonly string[] } | null,
  mode: string | null = null,
): Promise<string | null> {
  const launch: EngineLaunch = {
    agent: { name: "agent-x", profile, command: "none", args: [], env: {} },
    ...{ run_id: "run_x", nonce: "n", cwd: "/w", permissions, allow: [], allowed_commands: [], allow_once: null },
    ...{ model: null, mode, silence_s: 1, tool_silence_s: 1, listener: LISTENER },
  };
  const state = newSessionState(launch, profileOf(profile), createJournal(LISTENER));
  const session =
    modes === null
      ? {}
      : { modes: { currentModeId: modes.current, availableModes: modes.offered.map((id) => ({ id, name: id })) } };
  const requests: object[] = [];
  const refusal = await setMode(state, session, async (method, params) => void requests.push({ method, ...params }));
  if (refusal !== null) return `refused: ${refusal}`;
  return requests.length === 0 ? null : JSON.stringify(requests);
}

const set = (modeId: string): string => JSON.stringify([{ method: "session/set_mode", modeId }]);
const CLAUDE = { current: "auto", offered: ["auto", "default", "acceptEdits", "plan", "bypassPermissions"] };
const CODEX = { current: "agent", offered: ["read-only", "workspace-write", "agent", "agent-full-access"] };
const GEMINI = { current: "default", offered: ["default", "autoEdit", "yolo"] };

test.each([
  ["claude", "all", CLAUDE, "bypassPermissions"],
  ["claude", "edits", CLAUDE, "default"],
  ["claude", "ask", CLAUDE, "default"],
  ["codex", "all", CODEX, "agent-full-access"],
  ["codex", "edits", CODEX, "read-only"],
  ["codex", "ask", CODEX, "read-only"],
  ["gemini", "all", GEMINI, "yolo"],
  ["gemini", "edits", GEMINI, "autoEdit"],
  ["gemini", "ask", GEMINI, "default"],
  ["generic", "all", GEMINI, "yolo"],
  ["generic", "edits", GEMINI, "autoEdit"],
  ["generic", "ask", GEMINI, "default"],
] as const)("%s at level %s is set to the mode that holds it", async (profile, level, modes, mode) => {
  expect(await outcome(profile, level, modes)).toBe(set(mode));
});

test("claude that may not bypass permissions is asked about everything instead", async () => {
  const modes = { current: "auto", offered: ["auto", "default", "plan"] };
  expect(await outcome("claude", "all", modes)).toBe(set("default"));
});

test("an engine whose modes do not hold the level is refused by name", async () => {
  const refusal = await outcome("codex", "ask", { current: "agent", offered: ["agent", "agent-full-access"] });
  expect(refusal).toMatch(/^refused: agent agent-x cannot be held to permissions "ask".*agent, agent-full-access/);
});

test("a generic agent without modes is left as it is, one that only allows everything is refused below all", async () => {
  expect(await outcome("generic", "ask", null)).toBeNull();
  expect(await outcome("opencode", "ask", { current: "build", offered: ["build", "plan"] })).toBeNull();
  expect(await outcome("generic", "edits", { current: "yolo", offered: ["yolo"] })).toMatch(/^refused: .*"yolo"/);
  expect(await outcome("generic", "edits", { current: "code", offered: ["code", "architect"] })).toBeNull();
});

test("a named mode is set when it holds the level, and refused otherwise", async () => {
  expect(await outcome("claude", "edits", CLAUDE, "acceptEdits")).toBe(set("acceptEdits"));
  expect(await outcome("claude", "all", CLAUDE, "plan")).toBe(set("plan"));
  expect(await outcome("claude", "edits", CLAUDE, "bypassPermissions")).toMatch(/^refused: .*does not hold/);
  expect(await outcome("claude", "all", CLAUDE, "warp")).toMatch(/^refused: .*no mode "warp"/);
});
