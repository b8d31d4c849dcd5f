import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AgentsOptions, ConfiguredAgent } from "../../src/engine/agents.ts";
import { createAgents } from "../../src/engine/create.ts";
import type { Agents } from "../../src/engine/engine.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "lk-agents-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const SELF = { command: "/usr/bin/node", args: ["loopkeeper.js"] };

function agents(configured: Record<string, ConfiguredAgent> = {}, change: Partial<AgentsOptions> = {}): Agents {
  const env = { PATH: join(folder, "bin") };
  return createAgents({ env, home: join(folder, "home"), self: SELF, configured, default_agent: null, ...change });
}

async function program(file: string, text = "#!/bin/sh\n"): Promise<string> {
  const path = join(folder, file);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, text);
  await chmod(path, 0o755);
  return path;
}

test("an unknown agent is refused with the names of the known ones", async () => {
  await expect(agents({ mine: { command: "sh" } }).resolve("clod")).rejects.toMatchObject({
    code: "agent_unknown",
    message: expect.stringMatching(/"clod".*mine.*claude.*codex.*opencode.*gemini.*scripted/),
  });
});

test("a built-in agent that is not installed is unavailable and says how to get it", async () => {
  await expect(agents().resolve("claude")).rejects.toMatchObject({
    code: "agent_unavailable",
    message: expect.stringMatching(/claude-agent-acp.*PATH.*@agentclientprotocol.*loopkeeper agents add claude/),
  });
});

test("without any agent the default is unavailable, though the scripted one is always there", async () => {
  await expect(agents().resolve(null)).rejects.toMatchObject({ code: "agent_unavailable" });
  expect(await agents().resolve("scripted")).toEqual({
    name: "scripted",
    profile: "scripted",
    command: "/usr/bin/node",
    args: ["loopkeeper.js", "scripted-agent"],
    env: {},
  });
});

test("the default is the named one, else the first built-in one that is found", async () => {
  const opencode = await program("bin/opencode");
  expect(await agents().resolve(null)).toMatchObject({ name: "opencode", command: opencode, args: ["acp"] });
  expect(await agents({}, { default_agent: "scripted" }).resolve(null)).toMatchObject({ name: "scripted" });
});

test("an agent on PATH comes before one that was installed into the home", async () => {
  const installed = await program("home/agents/node_modules/gemini-cli/index.js", "#!/usr/bin/env node\n");
  await mkdir(join(folder, "home/agents/node_modules/.bin"), { recursive: true });
  await symlink(installed, join(folder, "home/agents/node_modules/.bin/gemini"));
  expect(await agents().resolve("gemini")).toMatchObject({
    command: process.execPath,
    args: [installed, "--acp", "--skip-trust"],
  });
  const onPath = await program("bin/gemini");
  expect(await agents().resolve("gemini")).toMatchObject({ command: onPath, args: ["--acp", "--skip-trust"] });
});

test("a configured agent is found by absolute path or on PATH, and keeps args, environment and profile", async () => {
  const tool = await program("bin/my-agent");
  const row = { command: "my-agent", args: ["--acp"], env: { A: "1" }, profile: "claude" };
  expect(await agents({ mine: row }).resolve("mine")).toEqual({
    name: "mine",
    profile: "claude",
    command: tool,
    args: ["--acp"],
    env: { A: "1" },
  });
  expect(await agents({ mine: { command: tool } }).resolve("mine")).toMatchObject({ profile: "generic", args: [] });
});

test("a configured agent replaces a built-in one and keeps its profile", async () => {
  const tool = await program("other/claude");
  expect(await agents({ claude: { command: tool } }).resolve("claude")).toMatchObject({ command: tool, profile: "claude" });
});

test.each([["missing"], ["not-executable"], ["folder"]])("a configured command that is %s is unavailable", async (name) => {
  await writeFile(join(folder, "not-executable"), "");
  await mkdir(join(folder, "folder"));
  await expect(agents({ mine: { command: join(folder, name) } }).resolve("mine")).rejects.toMatchObject({
    code: "agent_unavailable",
    message: expect.stringContaining(name),
  });
});

test("a profile that does not exist is refused with those that do", async () => {
  const row = { command: await program("bin/x"), profile: "clod" };
  await expect(agents({ mine: row }).resolve("mine")).rejects.toMatchObject({ message: expect.stringMatching(/clod.*generic/) });
});

test("the list names all agents and says of each whether it is found", async () => {
  await program("bin/codex-acp");
  const listed = await agents({ mine: { command: "/nowhere" } }).list();
  expect(listed.map(({ name, found }) => [name, found])).toEqual([
    ["mine", false],
    ["claude", false],
    ["codex", true],
    ["opencode", false],
    ["gemini", false],
    ["scripted", true],
  ]);
});
