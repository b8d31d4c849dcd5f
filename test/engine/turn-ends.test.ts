import { afterEach, expect, test } from "vitest";
import type { TurnEnd } from "../../src/engine/engine.ts";
import { type Workbench, workbench } from "./support/workbench.ts";

let bench: Workbench;
afterEach(() => bench.close());

async function endOf(actions: readonly object[], change = {}): Promise<TurnEnd> {
  bench = await workbench();
  const engine = await bench.engine({ turns: [actions] }, change);
  return engine.prompt("go");
}

test.each(["max_tokens", "max_turn_requests"])("a turn that ends with %s is ended", async (end) => {
  expect(await endOf([{ end }])).toMatchObject({ kind: "ended", stop_reason: end });
});

test("a script without turns left ends its turn cleanly", async () => {
  bench = await workbench();
  const engine = await bench.engine({ turns: [[{ say: "one" }]], after: [{ say: "rest" }] });
  await engine.prompt("a");
  await engine.prompt("b");
  await engine.prompt("c");
  expect(bench.texts("message")).toEqual(["one", "rest", "rest"]);
});

test("a turn keyed by a text of the prompt is played instead of the next one, again and again", async () => {
  bench = await workbench();
  const keyed = { when: "verify failed", do: [{ say: "repair" }] };
  const engine = await bench.engine({ turns: [[{ say: "first" }], keyed, [{ say: "second" }]] });
  for (const text of ["start", "the verify failed", "the verify failed", "go on"]) await engine.prompt(text);
  expect(bench.texts("message")).toEqual(["first", "repair", "repair", "second"]);
});

test.each([
  ["usage_limit", "engine_limit"],
  ["rate_limit", "engine_limit"],
  ["credit", "provider_credit"],
  ["auth", "engine_auth"],
  ["overloaded", "relay_timeout"],
  ["connection", "relay_timeout"],
  ["context", "context_overflow"],
  ["unknown", "failed"],
])("failure %s stops as %s", async (fail, reason) => {
  expect(await endOf([{ say: "working" }, { fail }])).toMatchObject({ kind: "stopped", stop: { reason, source: "acp_error" } });
});

test("a failure that is hidden in a normal end of turn stops too", async () => {
  const end = await endOf([{ fail: { kind: "credit", hidden: true } }]);
  expect(end).toMatchObject({ kind: "stopped", stop: { reason: "provider_credit" } });
});

test("the engine's own limit of turns ends an iteration", async () => {
  expect(await endOf([{ fail: "turns" }])).toMatchObject({ kind: "ended", stop_reason: "max_turn_requests" });
});

test("an error that nothing explains stops as failed with code and message", async () => {
  const end = await endOf([{ fail: { code: -31999, message: "zork" } }]);
  expect(end).toMatchObject({ kind: "stopped", stop: { reason: "failed" } });
  expect(end.kind === "stopped" ? end.stop.evidence : "").toContain("zork");
});

test("a refusal stops as failed", async () => {
  expect(await endOf([{ refuse: true }])).toMatchObject({ kind: "stopped", stop: { reason: "failed", source: "stop_reason" } });
});

test("a turn that the engine cancels unasked is not taken for a clean end", async () => {
  expect(await endOf([{ end: "cancelled" }])).toMatchObject({ kind: "stopped", stop: { reason: "interrupted" } });
});

test("an engine that exits is died with its code", async () => {
  expect(await endOf([{ say: "bye" }, { die: 7 }])).toMatchObject({ kind: "died", code: 7, signal: null });
  expect(bench.texts("message")).toEqual(["bye"]);
});

test("an engine that is killed is died with its signal", async () => {
  const end = await endOf([{ die: "SIGKILL" }]);
  expect(end).toMatchObject({ kind: "died", code: null, signal: "SIGKILL" });
  expect(end.kind === "died" ? end.evidence : "").toContain("SIGKILL");
});

test("a silent engine is silent after the limit", async () => {
  const end = await endOf([{ say: "hm" }, { hang: true }], { silence_s: 0.3 });
  expect(end).toMatchObject({ kind: "silent", after_s: 0.3 });
  expect(bench.texts("message")).toEqual(["hm"]);
});

test("an open tool call has the longer limit", async () => {
  const end = await endOf([{ run: "sleep 1" }, { hang: true }], { silence_s: 0.2, tool_silence_s: 30 });
  expect(end).toMatchObject({ kind: "silent", after_s: 0.2 });
  expect(bench.heard.calls.at(-1)).toMatchObject({ command: "sleep 1", status: "completed" });
});

test("a tool call that stays open beyond its own limit is silent", async () => {
  const end = await endOf([{ run: "sleep 60" }], { silence_s: 0.1, tool_silence_s: 0.4 });
  expect(end).toMatchObject({ kind: "silent", after_s: 0.4 });
  expect(bench.heard.entries.at(-1)).toMatchObject({ kind: "tool_result", data: { status: "in_progress" } });
});

test("a cancelled turn is cancelled and the session takes the next prompt", async () => {
  bench = await workbench();
  const engine = await bench.engine({ turns: [[{ say: "a" }, { hang: true }], [{ say: "b" }]] });
  const turn = engine.prompt("go");
  while (bench.heard.activities === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  await engine.cancel();
  expect(await turn).toMatchObject({ kind: "cancelled" });
  expect(await engine.prompt("again")).toMatchObject({ kind: "ended" });
  expect(bench.texts("message")).toEqual(["a", "b"]);
});

test("an engine that ignores a cancel is left behind after the limit", async () => {
  bench = await workbench();
  const engine = await bench.engine({ turns: [[{ hang: "deaf" }]] });
  const turn = engine.prompt("go");
  await engine.cancel();
  expect(await turn).toMatchObject({ kind: "cancelled" });
});

test("a stop under way ends the turn as cancelled", async () => {
  bench = await workbench();
  const engine = await bench.engine({ turns: [[{ hang: true }]] });
  const turn = engine.prompt("go");
  await engine.stop();
  expect(await turn).toMatchObject({ kind: "cancelled" });
  await engine.stop();
});

test("a kind of update that nobody knows is journalled", async () => {
  await endOf([{ update: { sessionUpdate: "weather_update", sky: "blue", token: "ghp_0123456789abcdefghijABCDEFGHIJ012345" } }]);
  const entry = bench.heard.entries.find((one) => one.kind === "engine");
  expect(entry).toMatchObject({ who: "agent", text: "weather_update" });
  expect(JSON.stringify(entry)).toContain("blue");
  expect(JSON.stringify(entry)).not.toContain("ghp_0123456789");
});

test("secrets in messages and tool output are redacted, also when they come in pieces", async () => {
  await endOf([
    { say: "key ghp_0123456789abcdef" },
    { say: "ghijABCDEFGHIJ012345 end" },
    { run: "echo ghp_0123456789abcdefghijABCDEFGHIJ012345" },
  ]);
  expect(bench.texts("message").join()).toBe("key [redacted: github-token] end");
  expect(JSON.stringify(bench.heard)).not.toContain("ghp_0123456789");
});

test("a long tool output is kept whole, with its size", async () => {
  await endOf([{ run: "head -c 100000 /dev/zero | tr '\\0' x" }]);
  const entry = bench.heard.entries.find((one) => one.kind === "tool_result");
  expect(entry?.data).toMatchObject({ bytes: 100_000 });
  expect(entry?.text.length).toBe(100_000);
});

test("many small updates are one message", async () => {
  await endOf([{ repeat: { times: 50, do: [{ say: "word " }] } }]);
  expect(bench.texts("message")).toEqual(["word ".repeat(50)]);
});

test("a message beyond 8 KB is journalled in parts that end between words", async () => {
  await endOf([{ repeat: { times: 300, do: [{ say: "0123456789 0123456789 0123456789 abc" }] } }]);
  const texts = bench.texts("message");
  expect(texts.length).toBeGreaterThan(1);
  expect(texts.join("")).toBe("0123456789 0123456789 0123456789 abc".repeat(300));
  expect(texts.slice(0, -1).every((text) => text.endsWith(" "))).toBe(true);
});
