import { expect, it } from "vitest";
import { LoopkeeperError } from "../../src/run/errors.ts";
import type { Caller } from "../../src/tools/context.ts";
import { lazyCalls } from "../../src/tools/runtime.ts";
import { TINY_TOOLS } from "./support/tiny-tools.ts";

const caller: Caller = { audience: "agent", signal: new AbortController().signal, progress: () => undefined };
const [tool] = TINY_TOOLS;
if (tool === undefined) throw new Error("no tools");

it("connects at the first call, and again at the next one after a failure", async () => {
  let connections = 0;
  const { call } = lazyCalls({
    connect: async () => {
      connections += 1;
      throw new LoopkeeperError("store_unavailable", "the store cannot be opened.");
    },
    onDefect: () => undefined,
  });
  expect(connections).toBe(0);
  expect(await call(tool, {}, caller)).toEqual({
    ok: false,
    code: "store_unavailable",
    refusal: null,
    text: "store_unavailable: the store cannot be opened.",
  });
  await call(tool, {}, caller);
  expect(connections).toBe(2);
});

it("keeps the words of an unforeseen failure for the log", async () => {
  const defects: unknown[] = [];
  const { call } = lazyCalls({
    connect: async () => {
      throw new Error("password=hunter2");
    },
    onDefect: (error) => defects.push(error),
  });
  const result = await call(tool, {}, caller);
  expect(result).toMatchObject({ ok: false, code: "internal" });
  expect(JSON.stringify(result)).not.toContain("hunter2");
  expect(defects).toHaveLength(1);
});

it("closes without ever having connected", async () => {
  const { close } = lazyCalls({ connect: () => Promise.reject(new Error("never called")), onDefect: () => undefined });
  await expect(close()).resolves.toBeUndefined();
});
