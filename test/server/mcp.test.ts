import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { instructionsFor } from "../../src/server/instructions.ts";
import { CLIENT_LINES, type Launch } from "./support/clients.ts";
import { hello, spawnRaw } from "./support/raw-stdio.ts";
import { FIRST_RUN, TINY_TOOLS } from "./support/tiny-tools.ts";

const PATIENCE = { timeout: 20_000 };
const SERVER: Launch = {
  command: process.execPath,
  args: [join(import.meta.dirname, "support", "mcp-server.ts")],
  cwd: import.meta.dirname,
  env: { PATH: process.env["PATH"] ?? "" },
};

describe.each(CLIENT_LINES)("the MCP server and $line", ({ connect }) => {
  it("lists the tools in the order of the array, with strict schemas, all four hints and a title", async () => {
    const client = await connect(SERVER);
    const tools = await client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(TINY_TOOLS.map((tool) => tool.name));
    expect(tools.map((tool) => tool.inputSchema["additionalProperties"])).toEqual(TINY_TOOLS.map(() => false));
    expect(tools.find((tool) => tool.name === "run_reset")?.annotations).toEqual({
      title: "Tiny run_reset",
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: false,
    });
    await client.close();
  });

  it("asks clients to keep the entry tools loaded, and only those", async () => {
    const client = await connect(SERVER);
    const tools = await client.listTools();
    const loaded = tools.filter((tool) => tool._meta?.["anthropic/alwaysLoad"] === true).map((tool) => tool.name);
    expect(loaded).toEqual(["coding_loop_start", "run_wait"]);
    await client.close();
  });

  it("answers with text and structured content", async () => {
    const client = await connect(SERVER);
    await client.listTools();
    const answer = await client.callTool("coding_loop_start", { repo: ".", objective: "x" });
    expect(answer.isError).toBe(false);
    expect(answer.structured).toEqual({ summary: "coding_loop_start", args: { repo: ".", objective: "x", max_iterations: 10 } });
    expect(answer.text).toContain('"objective":"x"');
    await client.close();
  });

  it("answers a wrong argument with the product's own error and without structured content", async () => {
    const client = await connect(SERVER);
    await client.listTools();
    const answer = await client.callTool("run_wait", { run: FIRST_RUN });
    expect(answer).toEqual({ isError: true, text: "bad_input: run_wait takes: run_id.", structured: undefined });
    await client.close();
  });

  it("tells progress at once and ends only the waiting when the call is cancelled", async () => {
    const client = await connect(SERVER);
    const cancel = new AbortController();
    const seen: (string | undefined)[] = [];
    const waiting = client.callTool(
      "run_wait",
      { run_id: FIRST_RUN },
      { signal: cancel.signal, onProgress: (update) => seen.push(update.message) },
    );
    await expect.poll(() => seen, PATIENCE).toEqual(["waiting"]);
    expect((await client.callTool("run_list", {})).structured).toMatchObject({ summary: "1 waiting" });
    cancel.abort();
    await expect(waiting).rejects.toThrow();
    await expect
      .poll(async () => (await client.callTool("run_list", {})).structured, PATIENCE)
      .toMatchObject({ summary: "0 waiting" });
    await client.close();
  });

  it("sends its instructions", async () => {
    const client = await connect(SERVER);
    expect(client.instructions).toContain("coding_loop_start answers at once");
    await client.close();
  });
});

describe("the MCP server's process", () => {
  it("answers everything that was asked before its input ended, then exits with 0", async () => {
    const server = spawnRaw(SERVER.command, SERVER.args, SERVER.env, SERVER.cwd);
    server.send(
      ...hello("2025-06-18"),
      { id: 2, method: "tools/list" },
      { id: 3, method: "tools/call", params: { name: "run_list", arguments: {} } },
    );
    server.endInput();
    expect(await server.exit()).toBe(0);
    expect(await server.result(3)).toMatchObject({ content: [{ text: FIRST_RUN }] });
  });

  it("exits with 0 when its input ends while a call waits", async () => {
    const server = spawnRaw(SERVER.command, SERVER.args, SERVER.env, SERVER.cwd);
    server.send(...hello("2025-06-18"), {
      id: 2,
      method: "tools/call",
      params: { name: "run_wait", arguments: { run_id: FIRST_RUN } },
    });
    await server.result(1);
    server.endInput();
    expect(await server.exit()).toBe(0);
  });

  it.each(["SIGTERM", "SIGINT"] as const)("exits with 0 at %s, also while a call waits", async (signal) => {
    const server = spawnRaw(SERVER.command, SERVER.args, SERVER.env, SERVER.cwd);
    server.send(...hello("2025-06-18"), {
      id: 2,
      method: "tools/call",
      params: { name: "run_wait", arguments: { run_id: FIRST_RUN } },
    });
    await server.result(1);
    server.child.kill(signal);
    expect(await server.exit()).toBe(0);
  });

  it("writes nothing but JSON-RPC lines", async () => {
    const server = spawnRaw(SERVER.command, SERVER.args, SERVER.env, SERVER.cwd);
    server.send(...hello("2024-11-05"), { id: 2, method: "tools/list" });
    await server.result(2);
    server.endInput();
    await server.exit();
    expect(server.lines.map((line) => JSON.parse(line).jsonrpc)).toEqual(["2.0", "2.0"]);
  });

  it("refuses a tool that is not there with a protocol error", async () => {
    const server = spawnRaw(SERVER.command, SERVER.args, SERVER.env, SERVER.cwd);
    server.send(...hello("2025-06-18"), { id: 2, method: "tools/call", params: { name: "run_fly", arguments: {} } });
    server.endInput();
    await server.exit();
    expect(server.lines.at(-1)).toContain("-32602");
  });
});

describe("the instructions", () => {
  it("stay under 1 KB with every tool served", () => {
    const all = [
      "coding_loop_start",
      "run_wait",
      "run_list",
      "run_explain_stop",
      "run_resume",
      "run_grant_iterations",
      "run_reset",
    ];
    expect(Buffer.byteLength(instructionsFor(all))).toBeLessThanOrEqual(1_024);
  });

  it("leave out sentences on tools that are not served", () => {
    expect(instructionsFor(["run_list"])).not.toContain("run_reset");
  });
});
