import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { classifyStop, type StopEvidence } from "../../src/engine/classify-stop.ts";
import type { ClassifiedStop } from "../../src/engine/engine.ts";
import { evidenceOf, parseCases, type StopCase } from "./classify-stop-cases.ts";

const read = (name: string): readonly StopCase[] => parseCases(readFileSync(new URL(`./data/${name}`, import.meta.url), "utf8"));

describe.each(["stop-signals.json", "stop-signals-own.json", "stop-signals-more.json"])("%s", (file) => {
  test.each(read(file).map((one) => [one.id, one] as const))("%s is read as it has to be", (_id, one) => {
    const stop = classifyStop(evidenceOf(one));
    expect(one.expect.accept ?? [one.expect.reason]).toContain(stop?.reason ?? null);
    expectReset(one, stop);
  });
});

function expectReset({ expect: wanted }: StopCase, stop: ClassifiedStop | null): void {
  const resetsAt = stop?.resets_at ?? null;
  if (wanted.resets_at === null) expect(resetsAt).toBeNull();
  const any = wanted.resets_at_any ?? (wanted.resets_at == null ? [] : [wanted.resets_at]);
  if (any.length === 0) return;
  const off = any.map((at) => Math.abs(Date.parse(at) - Date.parse(resetsAt ?? "")) / 1000);
  expect(
    off.some((seconds) => seconds <= (wanted.tolerance_s ?? 0)),
    `${resetsAt} is none of ${any.join(", ")}`,
  ).toBe(true);
}

describe("classifyStop", () => {
  const nothing: StopEvidence = {
    agent_profile: "claude",
    acp_error: null,
    acp_stop_reason: null,
    exit: null,
    rate_limit: null,
    session_failure: null,
    thread_status: null,
    last_message: null,
    seen_at: "2026-07-19T15:42:00Z",
    timezone: "UTC",
  };

  test("keeps the raw signal as evidence, without secrets and cut", () => {
    const message = `401 Unauthorized, Authorization: Bearer abcdefgh12345678ijkl ${"x".repeat(5000)}`;
    const stop = classifyStop({ ...nothing, acp_error: { code: -32603, message, data: { errorKind: "authentication_failed" } } });
    expect(stop?.evidence).toContain("error -32603: 401 Unauthorized");
    expect(stop?.evidence).toContain("[redacted: authorization]");
    expect(stop?.evidence).not.toContain("abcdefgh12345678ijkl");
    expect(stop?.evidence.length).toBeLessThanOrEqual(2000);
  });

  test.each([
    ["acp_error", { acp_error: { code: 503, message: "overloaded", data: null } }],
    ["exit", { exit: { code: 137, signal: null, stderr_tail: "Killed" } }],
    ["text", { acp_stop_reason: "end_turn", last_message: "Prompt is too long" }],
    ["stop_reason", { acp_stop_reason: "refusal" }],
    ["owner", { own: "stop_requested", acp_stop_reason: "cancelled" }],
    ["recovery", { own: "lease_lost" }],
  ] as const)("names %s as the source", (source, part) => {
    expect(classifyStop({ ...nothing, ...part })?.source).toBe(source);
  });

  test("lets our own fact stand over everything the engine printed", () => {
    const stop = classifyStop({
      ...nothing,
      own: "watchdog_fired",
      acp_error: { code: -32603, message: "Credit balance is too low", data: { errorKind: "billing_error" } },
    });
    expect(stop?.reason).toBe("relay_timeout");
  });

  test("calls the death of the engine process interrupted and a closed connection without one relay_timeout", () => {
    const closed = { ...nothing, acp_error: { code: null, message: "ACP connection closed", data: null } };
    expect(classifyStop(closed)?.reason).toBe("relay_timeout");
    expect(classifyStop({ ...closed, exit: { code: null, signal: "SIGKILL", stderr_tail: "" } })?.reason).toBe("interrupted");
    expect(classifyStop({ ...closed, exit: { code: 0, signal: null, stderr_tail: "" } })?.reason).toBe("interrupted");
    expect(classifyStop({ ...closed, exit: { code: 1, signal: null, stderr_tail: "TypeError: x" } })?.reason).toBe("failed");
  });

  test("gives a reset time only where waiting for it helps", () => {
    const data = { errorKind: "overloaded", headers: { "retry-after": "3600" } };
    expect(classifyStop({ ...nothing, acp_error: { code: -32603, message: "Overloaded", data } })?.resets_at).toBeNull();
  });

  test("is silent when nothing was seen", () => {
    expect(classifyStop(nothing)).toBeNull();
  });
});
