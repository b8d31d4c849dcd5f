import { appendFile, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createEngines } from "../../src/engine/create.ts";
import type { AgentSpec, Engines } from "../../src/engine/engine.ts";
import type { SessionPlace } from "../../src/engine/profiles/profile.ts";
import { profileOf } from "../../src/engine/profiles/table.ts";
import { toolUpdateSchema } from "../../src/engine/updates.ts";
import { partsInMemory } from "../support/parts.ts";

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
  const parts = partsInMemory();
  const input = { agent: agent(profile), session_id: ID };
  const packed = await parts.pack(enginesAt(await home("a", files)), { ...input, cwd: "/w/one" });
  const other = await home("b");
  await parts.unpack(enginesAt(other), { ...input, cwd: "/w/two/x" }, packed);
  expect(await filesIn(other)).toEqual(expected);
});

test.each([
  ["that went on since keeps its bytes", "old and more", "2020-01-01T00:00:00.000Z", "old and more"],
  ["that is left over from an earlier stay gets what was said elsewhere", "o", "2020-01-01T00:00:00.000Z", "old"],
  ["that is another one keeps its bytes when it is newer", "other", "2020-01-01T00:00:00.000Z", "other"],
  ["that is another one is replaced when it is older", "other", "2100-01-01T00:00:00.000Z", "old"],
])("a session's file %s", async (_what, present, packedAt, expected) => {
  const name = `.claude/projects/-w-one/${ID}.jsonl`;
  const path = await home("a", { [name]: "old" });
  const parts = partsInMemory();
  const input = { agent: agent("claude"), session_id: ID, cwd: "/w/one" };
  const packed = await parts.pack(enginesAt(path), input);
  await writeFile(join(path, name), present);
  await parts.unpack(enginesAt(path), input, packed, packedAt);
  expect(await readFile(join(path, name), "utf8")).toBe(expected);
  expect(await filesIn(path)).toEqual([name]);
});

test("of a session that only grows, the parts before the last are stored once, and an unchanged file is not read again", async () => {
  const name = `.claude/projects/-w-one/${ID}.jsonl`;
  const path = await home("a", { [name]: "x".repeat(2.5 * 1024 * 1024), [`.claude/tasks/${ID}/1.json`]: "1" });
  const parts = partsInMemory();
  const engines = enginesAt(path);
  const input = { agent: agent("claude"), session_id: ID, cwd: "/w/one" };
  const first = await parts.pack(engines, input);
  expect(first?.files.map((file) => file.parts.length)).toEqual([3, 1]);
  expect(first?.files[0]?.parts[0]).toBe(first?.files[0]?.parts[1]);
  parts.written.splice(0);
  await parts.pack(engines, input);
  expect(parts.written).toEqual([]);
  await appendFile(join(path, name), "more");
  const second = await parts.pack(engines, input);
  expect(second?.files[0]?.parts.slice(0, 2)).toEqual(first?.files[0]?.parts.slice(0, 2));
  expect(second?.files[0]?.parts[2]).not.toBe(first?.files[0]?.parts[2]);
  expect(second?.files[1]).toEqual(first?.files[1]);
});

test.each(["claude", "codex", "gemini", "opencode", "scripted", "generic"])(
  "%s without such a session packs nothing",
  async (profile) => {
    const input = { agent: agent(profile), session_id: ID, cwd: "/w" };
    expect(await partsInMemory().pack(enginesAt(await home("a")), input)).toBeNull();
  },
);

test("a packed session of another engine is refused", async () => {
  const files = { [`.claude/projects/-w/${ID}.jsonl`]: "T" };
  const engines = enginesAt(await home("a", files));
  const parts = partsInMemory();
  const input = { session_id: ID, cwd: "/w" };
  const packed = await parts.pack(engines, { ...input, agent: agent("claude") });
  await expect(parts.unpack(engines, { ...input, agent: agent("codex") }, packed)).rejects.toThrow("another engine");
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
