import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { type Workbench, workbench } from "./support/workbench.ts";

let bench: Workbench;
afterEach(() => bench.close());

test("a turn that says, plans, edits, runs and reports ends cleanly and is journalled in order", async () => {
  bench = await workbench();
  const engine = await bench.engine({
    mcp: true,
    turns: [
      [
        { think: "Let me " },
        { think: "see." },
        { say: "I start" },
        { say: " now." },
        {
          plan: [
            ["write", "in_progress"],
            ["check", "pending"],
          ],
        },
        { edit: { path: "a/b.txt", content: "one\n" } },
        { edit: { path: "a/b.txt", append: "two\n" } },
        { edit: { path: "a/b.txt", replace: ["one", "$&1"] } },
        { run: "cat a/b.txt" },
        { report: { completed: ["b.txt"], intended: [], verdict: "done", summary: "All written." } },
        { usage: { input: 100, output: 7, cost: 0.25 } },
        { say: "Done." },
      ],
    ],
  });
  const end = await engine.prompt("Write a/b.txt");

  expect(end).toEqual({
    kind: "ended",
    stop_reason: "end_turn",
    usage: { input_tokens: 100, output_tokens: 7, session_cost_usd: 0.25 },
  });
  expect(engine.context).toBe("new");
  expect(engine.canReport()).toBe(true);
  expect(await readFile(join(bench.cwd, "a/b.txt"), "utf8")).toBe("$&1\ntwo\n");
  expect(bench.texts("thought")).toEqual(["Let me see."]);
  expect(bench.texts("message")).toEqual(["I start now.", "Done."]);
  expect(bench.heard.plans).toEqual([
    [
      { content: "write", status: "in_progress" },
      { content: "check", status: "pending" },
    ],
  ]);
  expect(bench.heard.reports).toEqual([
    { completed: ["b.txt"], midway: null, intended: [], verdict: "done", question: null, summary: "All written." },
  ]);
  const kinds = bench.heard.entries.map((entry) => entry.kind).filter((kind) => kind !== "report");
  const edit = ["tool_call", "tool_result"];
  expect(kinds).toEqual([
    ...["thought", "message", "plan", ...edit, ...edit, ...edit, ...edit],
    ...["tool_call", "tool_result", "message", "usage"],
  ]);
  const ran = bench.heard.calls.filter((call) => call.kind === "execute").at(-1);
  expect(ran).toMatchObject({ command: "cat a/b.txt", status: "completed" });
  const output = bench.heard.entries.filter((entry) => entry.kind === "tool_result")[3];
  expect(output).toMatchObject({ who: "tool", text: "$&1\ntwo\n", data: { bytes: 8, status: "completed" } });
});
