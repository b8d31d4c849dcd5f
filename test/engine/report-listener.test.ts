import { stat } from "node:fs/promises";
import { connect } from "node:net";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, expect, test } from "vitest";
import { openReportListener, type ReportListener } from "../../src/engine/report-listener.ts";
import type { Report } from "../../src/run/run.ts";

let listener: ReportListener;
afterEach(() => listener.close());

async function exchange(lines: readonly (object | string)[]): Promise<unknown[]> {
  const socket = connect(listener.socket);
  const replies: unknown[] = [];
  for (const line of lines) socket.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
  for await (const text of createInterface({ input: socket })) {
    replies.push(JSON.parse(text));
    if (replies.length === lines.length) break;
  }
  socket.destroy();
  return replies;
}

test("reports with the attempt's token are taken, others are refused and change nothing", async () => {
  const reports: Report[] = [];
  listener = await openReportListener("right", (report) => reports.push(report));
  const report = { completed: ["a"], intended: ["b"], verdict: "blocked" };
  const replies = await exchange([
    { id: 1, token: "wrong", type: "listed" },
    { id: 2, token: "wrong", type: "report", report },
    "not json",
    { id: 3, token: "right", type: "report", report: { completed: "a" } },
  ]);
  expect(replies).toMatchObject([
    { id: 1, ok: false },
    { id: 2, ok: false },
    { id: 0, ok: false },
    { id: 0, ok: false },
  ]);
  expect([listener.listed(), reports]).toEqual([false, []]);

  const taken = await exchange([
    { id: 1, token: "right", type: "listed" },
    { id: 2, token: "right", type: "report", report },
  ]);
  expect(taken).toEqual([
    { id: 1, ok: true },
    { id: 2, ok: true },
  ]);
  expect(listener.listed()).toBe(true);
  expect(reports).toEqual([
    { completed: ["a"], midway: null, intended: ["b"], verdict: "blocked", question: null, summary: null },
  ]);
});

test("only this user reaches the socket, and its folder goes when it is closed", async () => {
  listener = await openReportListener("t", () => {});
  const folder = dirname(listener.socket);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  await listener.close();
  await expect(stat(folder)).rejects.toThrow();
  listener = await openReportListener("t", () => {});
});
