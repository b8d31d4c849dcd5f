import { expect, test } from "vitest";
import { mergeToolCall, type ToolCallState } from "../../src/engine/tool-calls.ts";
import { toolUpdateSchema } from "../../src/engine/updates.ts";

function merged(...updates: readonly object[]): ToolCallState | undefined {
  let state: ToolCallState | undefined;
  for (const update of updates) state = mergeToolCall(state, toolUpdateSchema.parse({ toolCallId: "1", ...update }));
  return state;
}

test("an update overwrites only what it names", () => {
  const state = merged(
    { title: "Terminal", kind: "execute", status: "pending" },
    { title: "ls", rawInput: { command: "ls" } },
    { status: "completed", content: [{ type: "content", content: { type: "text", text: "a\nb" } }] },
  );
  expect(state).toMatchObject({
    title: "ls",
    kind: "execute",
    command: "ls",
    status: "completed",
    output: { head: "a\nb", bytes: 3 },
  });
});

test.each([
  [{ command: "git status" }, "git status"],
  [{ command: ["bash", "-lc", "git status"] }, "git status"],
  [{ command: ["/bin/sh", "-c", "ls; rm a"] }, "ls; rm a"],
  [{ command: ["git", "status"] }, "git status"],
  [{ cmd: "make" }, "make"],
  [{ file_path: "/a" }, null],
  ["text", null],
  [undefined, null],
])("the command of %j is %j", (rawInput, command) => {
  expect(merged({ rawInput })?.command).toBe(command);
});

test("paths are those of the input, the locations and the diffs, once each", () => {
  const state = merged(
    { rawInput: { filePath: "/w/a" }, locations: [{ path: "/w/a" }, { path: "/w/b" }] },
    { rawInput: { changes: { "/w/c": {} } }, content: [{ type: "diff", path: "/w/d" }] },
  );
  expect(state?.paths).toEqual(["/w/a", "/w/b", "/w/c", "/w/d"]);
});

test("output that comes in pieces is joined, and its size is counted beyond what is kept", () => {
  const piece = (data: string): object => ({ _meta: { terminal_output_delta: { data, terminal_id: "1" } } });
  expect(merged(piece("one "), piece("two"), { status: "completed" })?.output).toEqual({ head: "one two", bytes: 7 });
  const long = merged(piece("x".repeat(40_000_000)), piece("y".repeat(40_000_000)))?.output;
  expect(long).toMatchObject({ bytes: 80_000_000 });
  expect(long?.head.length).toBe(16_777_216);
});

test.each([
  [{ rawOutput: "text" }, "text"],
  [{ rawOutput: { output: "o", metadata: {} } }, "o"],
  [{ rawOutput: { stdout: "a", stderr: "b" } }, "a\nb"],
  [{ rawOutput: { stdout: "", stderr: "b" } }, "b"],
  [{ rawOutput: { exit_code: 0 } }, ""],
])("the output of %j is %j", (update, text) => {
  expect(merged(update)?.output.head).toBe(text);
});

test("an odd status or content does not lose the rest of the update", () => {
  expect(merged({ title: "t", status: "dreaming", content: "odd", locations: 7 })).toMatchObject({
    title: "t",
    status: "pending",
  });
});
