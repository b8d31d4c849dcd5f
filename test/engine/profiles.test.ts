import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createEngines } from "../../src/engine/create.ts";
import type { AgentSpec, Engines } from "../../src/engine/engine.ts";
import type { SessionPlace } from "../../src/engine/profiles/profile.ts";
import { profileOf } from "../../src/engine/profiles/table.ts";
import { toolUpdateSchema } from "../../src/engine/updates.ts";

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "lk-profiles-")));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const ID = "081725fb-d01f-49dc-8433-557fd879bc25";
const MESSAGE = '{"id":"1","type":"user","content":[]}\n';

async function home(name: string, files: Record<string, string> = {}): Promise<string> {
  const path = join(folder, name);
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  }
  await mkdir(path, { recursive: true });
  return path;
}

const enginesAt = (path: string): Engines =>
  createEngines({ env: { HOME: path, PATH: "" }, self: { command: "node", args: [] }, log: () => {} });
const agent = (profile: string): AgentSpec => ({ name: profile, profile, command: "none", args: [], env: {} });

async function filesIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .sort();
}

test.each([
  [
    "claude",
    {
      [`.claude/projects/-w-one/${ID}.jsonl`]: "T",
      [`.claude/tasks/${ID}/1.json`]: "1",
      ".claude/projects/-w-one/other.jsonl": "O",
    },
    [`.claude/projects/-w-two-x/${ID}.jsonl`, `.claude/tasks/${ID}/1.json`],
  ],
  [
    "codex",
    { [`.codex/sessions/2026/11/29/rollout-2026-11-29T20-00-00-${ID}.jsonl`]: "T", ".codex/auth.json": "secret" },
    [`.codex/sessions/2026/11/29/rollout-2026-11-29T20-00-00-${ID}.jsonl`],
  ],
  [
    "gemini",
    {
      ".gemini/tmp/one/chats/session-2026-11-29T20-00-081725fb.jsonl": MESSAGE,
      ".gemini/tmp/one/chats/session-2026-11-29T20-05-081725fb.jsonl": '{"sessionId":"x"}\n',
      ".gemini/tmp/one/chats/session-2026-11-29T20-00-aaaaaaaa.jsonl": MESSAGE,
    },
    [".gemini/tmp/x/.project_root", ".gemini/tmp/x/chats/session-2026-11-29T20-00-081725fb.jsonl"],
  ],
])("the session files of %s move to another home and another working directory", async (profile, files, expected) => {
  const packed = await enginesAt(await home("a", files)).packSession({ agent: agent(profile), session_id: ID, cwd: "/w/one" });
  expect(packed).not.toBeNull();
  const other = await home("b");
  const input = { agent: agent(profile), session_id: ID, cwd: "/w/two/x", packed: packed ?? new Uint8Array() };
  await enginesAt(other).unpackSession(input);
  expect(await filesIn(other)).toEqual(expected);
});

test("a session that is there already keeps its bytes", async () => {
  const files = { [`.claude/projects/-w-one/${ID}.jsonl`]: "old" };
  const path = await home("a", files);
  const input = { agent: agent("claude"), session_id: ID, cwd: "/w/one" };
  const packed = await enginesAt(path).packSession(input);
  await writeFile(join(path, `.claude/projects/-w-one/${ID}.jsonl`), "newer");
  await enginesAt(path).unpackSession({ ...input, packed: packed ?? new Uint8Array() });
  expect(await readFile(join(path, `.claude/projects/-w-one/${ID}.jsonl`), "utf8")).toBe("newer");
});

test.each(["claude", "codex", "gemini", "opencode", "scripted", "generic"])(
  "%s without such a session packs nothing",
  async (profile) => {
    expect(await enginesAt(await home("a")).packSession({ agent: agent(profile), session_id: ID, cwd: "/w" })).toBeNull();
  },
);

test("a packed session of another engine is refused", async () => {
  const files = { [`.claude/projects/-w/${ID}.jsonl`]: "T" };
  const engines = enginesAt(await home("a", files));
  const packed = await engines.packSession({ agent: agent("claude"), session_id: ID, cwd: "/w" });
  const input = { agent: agent("codex"), session_id: ID, cwd: "/w", packed: packed ?? new Uint8Array() };
  await expect(engines.unpackSession(input)).rejects.toThrow("another engine");
});

test("gemini's empty recordings of a session go before it is loaded, and the one with its messages gets a name of no minute", async () => {
  const path = await home("a", {
    ".gemini/tmp/one/chats/session-2026-11-29T20-00-081725fb.jsonl": MESSAGE,
    ".gemini/tmp/one/chats/session-2026-11-29T20-05-081725fb.jsonl": '{"sessionId":"x"}\n{"$set":{"messages":[]}}\n',
    ".gemini/tmp/one/chats/session-2026-11-29T20-05-aaaaaaaa.jsonl": '{"sessionId":"y"}\n',
  });
  const place: SessionPlace = { env: { HOME: path }, command: "none", args: [], session_id: ID, cwd: "/w/one" };
  await profileOf("gemini").beforeLoad?.(place);
  const chats = ".gemini/tmp/one/chats";
  expect(await filesIn(path)).toEqual([
    expect.stringMatching(`^${chats}/session-2026-11-29T20-00-kept-\\d+-081725fb.jsonl$`),
    `${chats}/session-2026-11-29T20-05-aaaaaaaa.jsonl`,
  ]);
});

test("opencode's configuration is kept and told to ask below level all", () => {
  const base = { OPENCODE_CONFIG_CONTENT: '{"model":"m","permission":{"bash":"allow","skill":"deny"}}' };
  const config = (permissions: "all" | "edits" | "ask"): unknown =>
    JSON.parse(profileOf("opencode").environment({ permissions, base })["OPENCODE_CONFIG_CONTENT"] ?? "");
  expect(config("all")).toEqual({ model: "m", permission: { bash: "allow", skill: "deny" } });
  expect(config("edits")).toMatchObject({ model: "m", permission: { bash: "ask", edit: "ask", skill: "deny" } });
  expect(config("ask")).toMatchObject({ permission: { bash: "ask", edit: "ask" } });
});

test("opencode's to-do tool is a plan, without what was given up", () => {
  const todos = [
    { id: "1", content: "a", status: "completed", priority: "medium" },
    { id: "2", content: "b", status: "cancelled", priority: "medium" },
  ];
  const plan = profileOf("opencode").planFrom;
  expect(plan?.(toolUpdateSchema.parse({ toolCallId: "1", rawInput: { todos } }))).toEqual([
    { content: "a", status: "completed" },
  ]);
  const output = { rawOutput: { output: "", metadata: { todos } } };
  expect(plan?.(toolUpdateSchema.parse({ toolCallId: "1", ...output }))).toEqual([{ content: "a", status: "completed" }]);
  expect(plan?.(toolUpdateSchema.parse({ toolCallId: "1", rawInput: { command: "ls" } }))).toBeNull();
});

test("an unknown profile is treated as a generic one", () => {
  expect(profileOf("nobody").name).toBe("generic");
});
