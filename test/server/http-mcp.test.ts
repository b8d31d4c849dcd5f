import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { BIN, newProduct } from "../support/product.ts";
import { startServe } from "../support/serve.ts";
import { cancelledWait } from "./support/cancelled-wait.ts";
import { HTTP_CLIENT_LINES } from "./support/clients.ts";
import { ROOT } from "./support/product.ts";
import { hello, spawnRaw } from "./support/raw-stdio.ts";

const RECORDED: unknown = JSON.parse(readFileSync(join(ROOT, "test/contract/tools.json"), "utf8"));
/** What V8 counts is every script that was loaded. */
const loadedSchema = z.looseObject({ result: z.array(z.looseObject({ url: z.string() })) });
const runSchema = z.looseObject({ run: z.looseObject({ run_id: z.string(), state: z.string() }) });

const product = await newProduct();
const serve = await startServe(product.env);
const agent = product.agent("hangs", [[{ say: "I begin." }, { hang: true }]]);

const headers = (more: Readonly<Record<string, string>> = {}) => ({
  authorization: `Bearer ${serve.token}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  ...more,
});

function post(message: object, more: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${serve.url}/mcp`, {
    method: "POST",
    headers: headers(more),
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
}

const HELLO = {
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};

describe.each(HTTP_CLIENT_LINES)("MCP over HTTP and $line", ({ line, connect }) => {
  it("lists the tools of stdio, calls, reads resources, tells progress, and a cancel ends only the wait", async () => {
    const client = await connect(new URL(`${serve.url}/mcp`), serve.token);
    expect(await client.listTools()).toEqual(RECORDED);
    expect(client.instructions).toContain("coding_loop_start answers at once");
    const repo = product.box.repo(line.replaceAll(/\W+/gu, "-"));
    const started = await client.callTool("coding_loop_start", { repo, objective: "never end", agent });
    const { run } = runSchema.parse(started.structured);
    expect(started).toMatchObject({ isError: false, text: expect.stringContaining(run.run_id) });
    const wrong = await client.callTool("run_status", { run_id: run.run_id, verbose: true });
    expect(wrong).toMatchObject({ isError: true, structured: undefined, text: expect.stringMatching(/^bad_input: /) });
    expect(await client.readResource(`loopkeeper://runs/${run.run_id}/report`)).toContain(run.run_id);

    await cancelledWait(client, run.run_id);
    expect(runSchema.parse((await client.callTool("run_status", { run_id: run.run_id })).structured).run.state).toMatch(
      /queued|running/,
    );
    expect(await client.callTool("run_stop", { run_id: run.run_id })).toMatchObject({ isError: false });
    await client.close();
  });
});

describe("/mcp", () => {
  it("ends the wait of a 2025 client on the server when its notification of a cancel comes, in a request of its own", async () => {
    const hello = await post(HELLO);
    const session = { "mcp-session-id": hello.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-06-18" };
    expect(session["mcp-session-id"]).toMatch(/^[\w-]{36}$/);
    await hello.text();
    const started = await serve.post("/api/runs", { repo: product.box.repo("cancelled"), objective: "never end", agent });
    const { run_id } = runSchema.parse(started.body).run;
    const call = { method: "tools/call", params: { name: "run_wait", arguments: { run_id, timeout_s: 280 } } };
    const waiting = await post({ ...call, id: 7 }, session);
    // Another client's notification of the same number means another call.
    const other = { method: "notifications/cancelled", params: { requestId: 7 } };
    expect((await post(other, { ...session, "mcp-session-id": "another" })).status).toBe(202);
    expect((await post(other, session)).status).toBe(202);
    expect(await waiting.text()).not.toContain("result");
  });

  it("goes on for a client whose server was started anew", async () => {
    const hello = await post(HELLO);
    await hello.text();
    const session = { "mcp-session-id": hello.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": "2025-06-18" };
    const other = await startServe(product.env);
    const listed = await fetch(`${other.url}/mcp`, {
      method: "POST",
      headers: headers(session),
      body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" }),
    });
    expect(await listed.text()).toContain("coding_loop_start");
    other.child.kill("SIGTERM");
    expect(await other.exit()).toBe(0);
  });

  it("wants the token: none is 401, and a browser's session does not count", async () => {
    const login = await fetch(`${serve.url}/api/session`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: serve.url },
      body: JSON.stringify({ token: serve.token }),
    });
    const cookie = login.headers.get("set-cookie")?.split(";")[0] ?? "";
    for (const credentials of [{}, { authorization: "Bearer wrong" }, { cookie, origin: serve.url, "x-loopkeeper": "1" }]) {
      const answer = await fetch(`${serve.url}/mcp`, {
        method: "POST",
        headers: { "content-type": "application/json", ...credentials },
        body: JSON.stringify({ jsonrpc: "2.0", ...HELLO }),
      });
      expect([answer.status, answer.headers.get("www-authenticate")?.split(" ")[0]]).toEqual([401, "Bearer"]);
    }
  });

  it("refuses a page of another origin with 403, with the token too, and takes its own", async () => {
    for (const origin of ["http://evil.example", "null", "http://127.0.0.1:1"])
      expect((await post(HELLO, { origin })).status).toBe(403);
    expect((await post(HELLO, { origin: serve.url })).status).toBe(200);
  });

  it("answers what is no message, and other methods, without harm", async () => {
    const raw = (body: string) => fetch(`${serve.url}/mcp`, { method: "POST", headers: headers(), body });
    expect((await raw("{")).status).toBe(400);
    expect((await raw(`{"x":"${"y".repeat(5_000_000)}"}`)).status).toBe(413);
    for (const method of ["GET", "DELETE"]) expect((await serve.request("/mcp", { method })).status).toBe(405);
    expect((await post(HELLO)).status).toBe(200);
  });
});

it("a server over stdio loads nothing of the HTTP door", async () => {
  const folder = join(product.box.dir, "loaded");
  const env = { ...product.env, NODE_V8_COVERAGE: folder };
  const server = spawnRaw(process.execPath, [BIN], env, product.box.dir);
  server.send(...hello("2025-06-18"), { id: 2, method: "tools/call", params: { name: "run_list", arguments: {} } });
  server.endInput();
  expect(await server.exit()).toBe(0);
  const scripts = readdirSync(folder).flatMap(
    (name) => loadedSchema.parse(JSON.parse(readFileSync(join(folder, name), "utf8"))).result,
  );
  const files = scripts.flatMap(({ url }) => (url.startsWith("file:") ? [readFileSync(new URL(url), "utf8")] : []));
  // The bin's bundle names before each module where it comes from.
  const modules = files.flatMap((text) => [...text.matchAll(/^\/\/ (\S+\.[jt]s)$/gmu)].map((match) => match[1] ?? ""));
  expect(modules).toContain("src/server/mcp.ts");
  expect(modules.filter((name) => /\/hono\/|^src\/server\/(http|api|streams|openapi)\.ts$/u.test(name))).toEqual([]);
});
