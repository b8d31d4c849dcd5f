import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { coalescer } from "../../src/engine/coalesce.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function recorder() {
  const out: string[] = [];
  return { out, chunks: coalescer<"message" | "thought">((kind, text) => out.push(`${kind}: ${text}`)) };
}

test("chunks of one kind are one text until another kind comes or it is flushed", () => {
  const { out, chunks } = recorder();
  for (const part of ["a", "b ", "c"]) chunks.add("message", part);
  chunks.add("thought", "hm");
  expect(out).toEqual(["message: ab c"]);
  chunks.flush();
  chunks.flush();
  expect(out).toEqual(["message: ab c", "thought: hm"]);
});

test("after two seconds whole words go out, the word that is begun waits", () => {
  const { out, chunks } = recorder();
  chunks.add("message", "one tw");
  vi.advanceTimersByTime(2000);
  expect(out).toEqual(["message: one "]);
  chunks.add("message", "o three");
  vi.advanceTimersByTime(2000);
  expect(out).toEqual(["message: one ", "message: two "]);
  chunks.flush();
  expect(out.at(-1)).toBe("message: three");
});

test("a text without any break goes out at 8 KB", () => {
  const { out, chunks } = recorder();
  chunks.add("message", "x".repeat(8191));
  vi.advanceTimersByTime(10_000);
  expect(out).toEqual([]);
  chunks.add("message", "x");
  expect(out).toEqual([`message: ${"x".repeat(8192)}`]);
});
