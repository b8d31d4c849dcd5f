import { describe, expect, test } from "vitest";
import { readResetTime } from "../../src/engine/reset-time.ts";

const SEEN_AT = "2026-07-19T15:42:00.000Z";
const EPOCH = 1_784_480_400; // 2026-07-19T17:00:00Z

const fromText = (text: string, seen_at = SEEN_AT, timezone = "UTC"): string | null =>
  readResetTime({ structured: null, text, seen_at, timezone })?.at ?? null;
const fromFields = (structured: unknown): string | null =>
  readResetTime({ structured, text: null, seen_at: SEEN_AT, timezone: "UTC" })?.at ?? null;

describe("readResetTime on texts", () => {
  test.each([
    ["resets 3pm (Europe/Berlin)", "2026-07-20T13:00:00.000Z"],
    ["resets 10:30pm (Europe/Berlin)", "2026-07-19T20:30:00.000Z"],
    ["resets 9pm (Asia/Calcutta)", "2026-07-20T15:30:00.000Z"],
    ["resets 1pm (Etc/GMT+5)", "2026-07-19T18:00:00.000Z"],
    ["resets 9pm (GMT-3)", "2026-07-20T00:00:00.000Z"],
    ["resets 21:00 UTC+2", "2026-07-19T19:00:00.000Z"],
    ["resets 9:30pm (UTC+05:30)", "2026-07-19T16:00:00.000Z"],
    ["resets 3pm ET", "2026-07-19T19:00:00.000Z"],
    ["resets 12am", "2026-07-20T00:00:00.000Z"],
    ["resets 12pm", "2026-07-20T12:00:00.000Z"],
    ["resets at noon", "2026-07-20T12:00:00.000Z"],
    ["resets 3:42 p.m.", "2026-07-20T15:42:00.000Z"],
    ["resets Aug 4, 8pm (Europe/Budapest)", "2026-08-04T18:00:00.000Z"],
    ["resets on 4 August at 20:00", "2026-08-04T20:00:00.000Z"],
    ["try again at Aug 5th, 2026 8:19 PM.", "2026-08-05T20:19:00.000Z"],
    ["try again at 8:19 PM on Aug 5", "2026-08-05T20:19:00.000Z"],
    ["resets tomorrow at 9am", "2026-07-20T09:00:00.000Z"],
    ["resets Sunday 9am", "2026-07-26T09:00:00.000Z"],
    ["available again at 2026-08-01 at 00:00 UTC", "2026-08-01T00:00:00.000Z"],
    ["retry after 2026-07-19T18:00:00+02:00", "2026-07-19T16:00:00.000Z"],
    ["try again in 3h 20m", "2026-07-19T19:02:00.000Z"],
    ["try again in 5 days 22 hours 11\nminutes.", "2026-07-25T13:53:00.000Z"],
    ["will reset after 2h52m39s.", "2026-07-19T18:34:39.000Z"],
    ["try again in an hour", "2026-07-19T16:42:00.000Z"],
    ["Please try again in 61.5s", "2026-07-19T15:43:01.500Z"],
    ["resets at 2026/07/20 12:00 UTC", "2026-07-20T12:00:00.000Z"],
    ["resets next Monday at 9am", "2026-07-20T09:00:00.000Z"],
    ["try again after Mon, 20 Jul 2026 12:30:00 GMT", "2026-07-20T12:30:00.000Z"],
    ["Limit resets at: Mon Jul 20 2026 03:00:00 GMT+0200 (CEST)", "2026-07-20T01:00:00.000Z"],
    ["429 too many requests, retry-after: 3600", "2026-07-19T16:42:00.000Z"],
    ["limit reached|1784480400", "2026-07-19T17:00:00.000Z"],
    ["limit reached|1784480400000", "2026-07-19T17:00:00.000Z"],
  ])("reads %j as %s", (text, at) => {
    expect(fromText(text)).toBe(at);
  });

  test.each([
    "or wait for limits to reset (every 5h and every week.)",
    "resets every 5h",
    "try again later",
    "try again in a moment",
    "resets 10 de jul. de 2026, 11:52",
    "Usage will reset when your monthly cycle ends on 9/23/2026.",
    "Try again Aug 18.",
    "resets 3pm (Nowhere/Atlantis)",
    "resets 25:00",
    "resets 13pm",
    "resets soon",
    "resets at 15h00",
    "resets Nov 31, 5pm",
    "resets Feb 30 at 5pm",
    "resets 9am MSK",
    "resets 9am IST",
    "resets 9am (BRT)",
    "resets on 2026-11-21",
    "resets 11/21/2026",
    "Try again at 21.11.2026 14:00",
    "resets in less than a minute",
    "the limit is 5h and 40 messages",
  ])("reads no instant from %j", (text) => {
    expect(fromText(text)).toBeNull();
  });

  test("takes the host's zone only when the text names none", () => {
    expect(fromText("resets 10pm", SEEN_AT, "America/New_York")).toBe("2026-07-20T02:00:00.000Z");
    expect(fromText("resets 10pm (UTC)", SEEN_AT, "America/New_York")).toBe("2026-07-19T22:00:00.000Z");
  });

  test("takes the next such time of day, also when it is this very minute", () => {
    expect(fromText("resets 3:42pm", "2026-07-19T15:42:00.000Z")).toBe("2026-07-20T15:42:00.000Z");
    expect(fromText("resets 3:43pm", "2026-07-19T15:42:30.000Z")).toBe("2026-07-19T15:43:00.000Z");
  });

  test("counts the hours that a change of the clock adds or takes", () => {
    expect(fromText("resets 4am (Europe/Berlin)", "2026-10-24T21:30:00Z")).toBe("2026-10-25T03:00:00.000Z");
    expect(fromText("resets 4am (Europe/Berlin)", "2026-03-28T21:30:00Z")).toBe("2026-03-29T02:00:00.000Z");
    expect(fromText("try again in 6 hours", "2026-10-24T21:30:00Z", "Europe/Berlin")).toBe("2026-10-25T03:30:00.000Z");
  });

  test("stays inside the hour that the clock skips or repeats", () => {
    expect(["2026-03-29T00:30:00.000Z", "2026-03-29T01:30:00.000Z"]).toContain(
      fromText("resets 2:30am (Europe/Berlin)", "2026-03-28T21:30:00Z"),
    );
    expect(["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z"]).toContain(
      fromText("resets 2:30am (Europe/Berlin)", "2026-10-24T21:30:00Z"),
    );
  });

  test("takes a month and day for the next year when this year's is over", () => {
    expect(fromText("resets Jan 2, 8am", "2026-12-29T10:00:00Z")).toBe("2027-01-02T08:00:00.000Z");
    expect(fromText("resets Jul 19, 3pm", SEEN_AT)).toBe("2026-07-19T15:43:00.000Z");
  });
});

describe("readResetTime on fields", () => {
  test.each([
    [{ resets_at_epoch: EPOCH }, "2026-07-19T17:00:00.000Z"],
    [{ error: { resets_at: EPOCH, resets_in_seconds: 4680 } }, "2026-07-19T17:00:00.000Z"],
    [{ error: { resets_in_seconds: 7200 } }, "2026-07-19T17:42:00.000Z"],
    [{ headers: { "anthropic-ratelimit-unified-reset": String(EPOCH), "retry-after": "99" } }, "2026-07-19T17:00:00.000Z"],
    [{ headers: { "Retry-After": "90" } }, "2026-07-19T15:43:30.000Z"],
    [{ headers: { "retry-after-ms": "90000" } }, "2026-07-19T15:43:30.000Z"],
    [{ headers: { "retry-after": "Sun, 19 Jul 2026 16:00:00 GMT" } }, "2026-07-19T16:00:00.000Z"],
    [{ headers: { "X-RateLimit-Reset": String(EPOCH * 1000) } }, "2026-07-19T17:00:00.000Z"],
    [{ headers: { "x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "0" } }, "2026-07-19T15:48:00.000Z"],
    [{ details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "94.07s" }] }, "2026-07-19T15:43:34.070Z"],
    [{ metadata: { quotaResetDelay: "2h52m39s" } }, "2026-07-19T18:34:39.000Z"],
    [{ message: 'API Error: 429 {"error":{"resets_at":1784480400}}' }, "2026-07-19T17:00:00.000Z"],
    [{ raw: JSON.stringify({ inner: JSON.stringify({ retryDelay: "120s" }) }) }, "2026-07-19T15:44:00.000Z"],
  ])("reads %j as %s", (structured, at) => {
    expect(fromFields(structured)).toBe(at);
  });

  test("takes the window that is used up", () => {
    const headers = {
      "X-Codex-Primary-Used-Percent": "40",
      "X-Codex-Primary-Reset-At": String(EPOCH),
      "X-Codex-Secondary-Used-Percent": "100",
      "X-Codex-Secondary-Reset-At": String(EPOCH + 86_400),
    };
    expect(fromFields({ headers })).toBe("2026-07-20T17:00:00.000Z");
  });

  test("reads nothing from fields that say nothing", () => {
    for (const nothing of [null, undefined, 5, "text", [], { resets_at: null }, { resets_at: "soon" }, { retry_after: 0 }]) {
      expect(fromFields(nothing)).toBeNull();
    }
  });
});

describe("readResetTime", () => {
  test("trusts a field more than the words and names what it read", () => {
    const both = { structured: { resetsAt: EPOCH }, text: "resets 9pm (UTC)", seen_at: SEEN_AT, timezone: "UTC" };
    expect(readResetTime(both)).toMatchObject({ at: "2026-07-19T17:00:00.000Z", source: "resets_at: 1784480400" });
    expect(readResetTime({ ...both, structured: null })?.source).toBe("resets 9pm (UTC)");
  });

  test.each([
    [{ structured: { resetsAt: EPOCH }, text: null }, null, "high"],
    [{ structured: null, text: "resets 9pm (Asia/Calcutta)" }, "Asia/Calcutta", "high"],
    [{ structured: null, text: "try again in 3h 20m" }, null, "high"],
    [{ structured: null, text: "limit reached|1784480400" }, null, "high"],
    [{ structured: null, text: "resets 9pm" }, "Europe/Berlin", "medium"],
    [{ structured: null, text: "available again at 2026-08-01 at 00:00" }, "Europe/Berlin", "medium"],
    [{ structured: { resets_at: 1_784_000_000 }, text: null }, null, "low"],
    [{ structured: null, text: "resets Jan 2, 8am (UTC)" }, "UTC", "low"],
  ])("C34: tells the zone it read %j in, and how sure that is", (input, zone, confidence) => {
    expect(readResetTime({ ...input, seen_at: SEEN_AT, timezone: "Europe/Berlin" })).toMatchObject({ zone, confidence });
  });

  test("moves a past instant to the next minute and a far one to 32 days", () => {
    expect(fromFields({ resets_at: 1_784_000_000 })).toBe("2026-07-19T15:43:00.000Z");
    expect(fromFields({ resets_at: 1_999_999_999 })).toBe("2026-08-20T15:42:00.000Z");
  });

  test("survives objects that contain themselves", () => {
    const loop: Record<string, unknown> = { resets_at: EPOCH };
    loop["self"] = loop;
    expect(fromFields(loop)).toBe("2026-07-19T17:00:00.000Z");
  });
});
