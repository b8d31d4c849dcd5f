import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { REPORT_SOCKET_VARIABLE, REPORT_TOKEN_VARIABLE } from "../../src/run/report.ts";
import { CLIENT_LINES, type Launch } from "./support/clients.ts";
import { type DriverSocket, listenAsDriver } from "./support/driver-socket.ts";
import { hello, spawnRaw } from "./support/raw-stdio.ts";

const PATIENCE = { timeout: 20_000 };
const SERVER = join(import.meta.dirname, "support", "report-server.ts");
const OLD_REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const REPORT = { completed: ["read the code"], intended: ["fix it"], summary: "half way" };

let driver: DriverSocket;
beforeEach(async () => {
  driver = await listenAsDriver();
});
afterEach(() => driver.close());

function launch(token = driver.token): Launch {
  const env = { PATH: process.env["PATH"] ?? "", [REPORT_SOCKET_VARIABLE]: driver.path, [REPORT_TOKEN_VARIABLE]: token };
  return { command: process.execPath, args: [SERVER], cwd: import.meta.dirname, env };
}

describe.each(CLIENT_LINES)("the injected report server and $line", ({ connect }) => {
  it("offers report_progress alone and tells the driver that it was asked", async () => {
    const client = await connect(launch());
    const tools = await client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(["report_progress"]);
    expect(tools[0]?.inputSchema).toMatchObject({ type: "object", additionalProperties: false });
    await expect.poll(() => driver.lines.map((line) => line.type), PATIENCE).toContain("listed");
    await client.close();
  });

  it("carries a report to the driver before it answers", async () => {
    const client = await connect(launch());
    const answer = await client.callTool("report_progress", REPORT);
    expect(answer).toEqual({ isError: false, text: "Recorded.", structured: undefined });
    expect(driver.lines.filter((line) => line.type === "report")).toMatchObject([{ report: REPORT, token: driver.token }]);
    await client.close();
  });

  it("names the known arguments when one is unknown, and tells the driver nothing", async () => {
    const client = await connect(launch());
    const answer = await client.callTool("report_progress", { ...REPORT, percent: 50 });
    expect(answer.isError).toBe(true);
    expect(answer.text).toMatch(/^bad_input: .*percent.*completed, midway, intended, verdict, question, summary/);
    expect(driver.lines.filter((line) => line.type === "report")).toEqual([]);
    await client.close();
  });

  it("wants the question with needs_human", async () => {
    const client = await connect(launch());
    const answer = await client.callTool("report_progress", { ...REPORT, verdict: "needs_human" });
    expect(answer).toMatchObject({ isError: true, text: expect.stringMatching(/^bad_input: .*question/) });
    await client.close();
  });

  it("says so when the driver refuses the token", async () => {
    const client = await connect(launch("stale"));
    const answer = await client.callTool("report_progress", REPORT);
    expect(answer).toMatchObject({ isError: true, text: expect.stringContaining("not recorded (wrong token)") });
    await client.close();
  });

  it("dials again after the driver's connection was lost", async () => {
    const client = await connect(launch());
    await client.callTool("report_progress", REPORT);
    driver.drop();
    await expect.poll(async () => (await client.callTool("report_progress", REPORT)).text, PATIENCE).toBe("Recorded.");
    await client.close();
  });
});

describe("the injected report server by itself", () => {
  it.each(OLD_REVISIONS)("speaks %s when the engine asks for it", async (revision) => {
    const { command, args, env, cwd } = launch();
    const server = spawnRaw(command, args, env, cwd);
    server.send(...hello(revision), { id: 2, method: "tools/call", params: { name: "report_progress", arguments: REPORT } });
    expect(await server.result(1)).toMatchObject({ protocolVersion: revision });
    expect(await server.result(2)).toMatchObject({ content: [{ type: "text", text: "Recorded." }] });
    server.endInput();
    expect(await server.exit()).toBe(0);
  });

  it("tells the engine when nobody drives it", async () => {
    const { command, args, cwd } = launch();
    const server = spawnRaw(command, args, {}, cwd);
    server.send(...hello("2025-06-18"), { id: 2, method: "tools/call", params: { name: "report_progress", arguments: REPORT } });
    expect(await server.result(2)).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/^not_allowed: /) }] });
    server.endInput();
    expect(await server.exit()).toBe(0);
  });

  it("answers what it was asked before its input ended", async () => {
    const { command, args, env, cwd } = launch();
    const server = spawnRaw(command, args, env, cwd);
    server.send(...hello("2025-06-18"), { id: 2, method: "tools/call", params: { name: "report_progress", arguments: REPORT } });
    server.endInput();
    expect(await server.exit()).toBe(0);
    expect(await server.result(2)).toMatchObject({ content: [{ text: "Recorded." }] });
  });
});
