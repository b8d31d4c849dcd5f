import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { EngineLaunch } from "../../src/engine/engine.ts";
import { type Workbench, workbench } from "./support/workbench.ts";

let bench: Workbench;
afterEach(() => bench.close());

async function engineWith(actions: readonly object[], change: Partial<EngineLaunch>, mcp = false) {
  bench = await workbench();
  return bench.engine({ turns: [actions, [{ say: "next turn" }]], mcp }, change);
}

const touched = (): boolean => existsSync(join(bench.cwd, "made"));
const TOUCH = [{ run: "touch made" }, { say: "after" }];

test("a command outside the allow-list ends the turn as escalated with the exact command, and is not run", async () => {
  const engine = await engineWith(TOUCH, { permissions: "edits" });
  const end = await engine.prompt("go");
  expect(end).toMatchObject({
    kind: "stopped",
    stop: { reason: "escalated", question: { kind: "permission", command: "touch made" } },
  });
  expect(touched()).toBe(false);
  expect(bench.texts("message")).toEqual([]);
  expect(bench.texts("permission")).toEqual(["asks a person: touch made"]);
});

test("edits pass at level edits and escalate at level ask", async () => {
  const edit = [{ edit: { path: "made", content: "x" } }];
  const engine = await engineWith(edit, { permissions: "edits" });
  expect(await engine.prompt("go")).toMatchObject({ kind: "ended" });
  expect(touched()).toBe(true);
  await bench.close();

  const asking = await engineWith(edit, { permissions: "ask" });
  const end = await asking.prompt("go");
  expect(end).toMatchObject({ kind: "stopped", stop: { question: { command: `edit ${join(bench.cwd, "made")}` } } });
  expect(touched()).toBe(false);
});

test.each([
  ["an allow prefix", { allow: ["touch"] }],
  ["a command allowed for the run", { allowed_commands: ["touch made"] }],
  ["a command allowed once", { allow_once: "touch made" }],
])("%s lets the command run at level edits", async (_what, change) => {
  const engine = await engineWith(TOUCH, { permissions: "edits", ...change });
  expect(await engine.prompt("go")).toMatchObject({ kind: "ended" });
  expect(touched()).toBe(true);
});

test("a command allowed once escalates the second time", async () => {
  const engine = await engineWith([{ run: "touch made" }, { run: "touch made" }], {
    permissions: "edits",
    allow_once: "touch made",
  });
  expect(await engine.prompt("go")).toMatchObject({ kind: "stopped", stop: { reason: "escalated" } });
  expect(touched()).toBe(true);
});

test("level all answers what the engine asks by itself", async () => {
  const engine = await engineWith([{ ask_permission: "rm -rf build" }, { run: { command: "touch made", ask: true } }], {});
  expect(await engine.prompt("go")).toMatchObject({ kind: "ended" });
  expect(bench.texts("message")).toEqual(["allowed: rm -rf build"]);
  expect(touched()).toBe(true);
});

test("reports need no permission at level ask", async () => {
  const engine = await engineWith([{ report: { completed: ["x"], intended: [] } }], { permissions: "ask" }, true);
  expect(await engine.prompt("go")).toMatchObject({ kind: "ended" });
  expect(bench.heard.reports).toHaveLength(1);
});

test("the session takes the next prompt after an escalation", async () => {
  const engine = await engineWith(TOUCH, { permissions: "edits" });
  await engine.prompt("go");
  expect(await engine.prompt("go on")).toMatchObject({ kind: "ended" });
  expect(bench.texts("message")).toEqual(["next turn"]);
});
