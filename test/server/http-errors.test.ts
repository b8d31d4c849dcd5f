import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { newProduct } from "../support/product.ts";
import { type Reply, startServe } from "../support/serve.ts";

/** Every class of error as problem details; that each is as the OpenAPI document says, the client checks by itself. */

const product = await newProduct();
const serve = await startServe(product.env);
const repo = product.box.repo("errors");
/** A run that is live, and one that is done. */
let live: string;
let done: string;

beforeAll(async () => {
  const hangs = product.agent("hangs", [[{ hang: true }]]);
  const ends = product.agent("ends", [[{ report: { completed: ["it"], intended: [], verdict: "done" } }]]);
  product.agent("missing", [], { command: "/nowhere/agent", args: [] });
  live = await start({ repo: product.box.repo("live"), agent: hangs });
  done = await start({ repo: product.box.repo("done"), agent: ends });
  await serve.get(`/api/runs/${done}/wait?timeout_s=120`);
});

async function start(args: object): Promise<string> {
  const { body } = await serve.post("/api/runs", { objective: "x", ...args });
  return z.looseObject({ run_id: z.string() }).parse(body["run"]).run_id;
}

function expectProblem(reply: Reply, status: number, code: string, detail: RegExp): void {
  expect(reply.headers.get("content-type")).toBe("application/problem+json");
  expect(reply.headers.get("cache-control")).toBe("no-store");
  expect(reply).toMatchObject({
    status,
    body: {
      type: `urn:loopkeeper:problem:${code}`,
      status,
      code,
      title: expect.any(String),
      detail: expect.stringMatching(detail),
    },
  });
  expect(String(reply.body["detail"])).not.toMatch(new RegExp(`^${code}:`, "u"));
}

describe("errors of tools", () => {
  it("bad_input is 400 and names the known arguments, in a body and in a query", async () => {
    expectProblem(
      await serve.post("/api/runs", { repo, objective: "x", speed: 3 }),
      400,
      "bad_input",
      /"speed".*max_iterations/s,
    );
    expectProblem(await serve.get("/api/runs?limit=many"), 400, "bad_input", /limit/);
    expectProblem(await serve.get("/api/runs?limit=1&limit=2"), 400, "bad_input", /limit/);
    expectProblem(await serve.get("/api/runs?archived=yes"), 400, "bad_input", /archived/);
    expectProblem(await serve.get(`/api/runs/${live}?verbose=1`), 400, "bad_input", /verbose/);
  });

  it("a path argument is not contradicted", async () => {
    expectProblem(await serve.get(`/api/runs/${live}?run_id=${done}`), 400, "bad_input", /run_id/);
    expectProblem(await serve.post(`/api/runs/${live}/stop`, { run_id: done }), 400, "bad_input", /run_id/);
    expectProblem(await serve.post(`/api/runs/${live}/stop?why=x`), 400, "bad_input", /query/);
  });

  it("headers that mean arguments are checked", async () => {
    const stop = `/api/runs/${live}/stop`;
    const post = (body: object, headers: Readonly<Record<string, string>>) => serve.post(stop, body, headers);
    expectProblem(await post({ request_id: "a" }, { "idempotency-key": "b" }), 400, "bad_input", /request_id/);
    expectProblem(await post({}, { "idempotency-key": "" }), 400, "bad_input", /request_id/);
    expectProblem(await post({ expected_revision: 1 }, { "if-match": '"2"' }), 400, "bad_input", /expected_revision/);
    expectProblem(await post({}, { "if-match": "2" }), 400, "bad_input", /If-Match/);
    expectProblem(await serve.post("/api/runs", { repo, objective: "x" }, { "if-match": '"2"' }), 400, "bad_input", /If-Match/);
  });

  it("run_not_found is 404, for every address of a run", async () => {
    for (const rest of ["", "/wait", "/explanation", "/transcript", "/diff", "/checkpoints/cp_x/diff", "/events"])
      expectProblem(await serve.get(`/api/runs/run_nobody${rest}`), 404, "run_not_found", /run_list/);
    for (const rest of ["stop", "abandon", "resume", "reset", "archive"])
      expectProblem(await serve.post(`/api/runs/run_nobody/${rest}`), 404, "run_not_found", /run_list/);
  });

  it("not_allowed is 409 with its first word as refusal", async () => {
    const refused = await serve.get(`/api/runs/${live}/explanation`);
    expectProblem(refused, 409, "not_allowed", /run_status/);
    const ended = await serve.post(`/api/runs/${done}/resume`);
    expectProblem(ended, 409, "not_allowed", /^done: .*coding_loop_start/);
    expect(ended.body["refusal"]).toBe("done");
    expect(ended.body["instance"]).toBe(`/api/runs/${done}/resume`);
  });

  it("already_running is 409, a stale revision 412, a wrong confirm token 409", async () => {
    expectProblem(await serve.post(`/api/runs/${live}/resume`), 409, "already_running", /run_wait/);
    const stale = await serve.post(`/api/runs/${live}/stop`, {}, { "if-match": '"0"' });
    expectProblem(stale, 412, "revision_conflict", /run_status/);
    expectProblem(
      await serve.post(`/api/runs/${done}/reset`, { confirm_token: "made-up" }),
      409,
      "confirm_token_invalid",
      /token/,
    );
  });

  it("a repository that is none is 422, an unknown agent 422, one that cannot start 503", async () => {
    const empty = join(product.box.dir, "no-repository");
    mkdirSync(empty);
    expectProblem(await serve.post("/api/runs", { repo: empty, objective: "x" }), 422, "repository_problem", /./);
    expectProblem(await serve.post("/api/runs", { repo, objective: "x", agent: "nobody" }), 422, "agent_unknown", /nobody/);
    expectProblem(await serve.post("/api/runs", { repo, objective: "x", agent: "missing" }), 503, "agent_unavailable", /./);
  });

  it("a store that cannot be opened is 503, and the server serves on", async () => {
    const other = await startServe({ ...product.env, LOOPKEEPER_DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });
    expectProblem(await other.get("/api/runs"), 503, "store_unavailable", /./);
    expectProblem(await other.get("/api/events"), 503, "store_unavailable", /./);
    other.child.kill("SIGTERM");
    expect(await other.exit()).toBe(0);
  });

  it("a call from inside a run may read; a writing one is 403", async () => {
    const inside = await startServe({ ...product.env, LOOPKEEPER_RUN_ID: live });
    expect((await inside.get(`/api/runs/${live}`)).status).toBe(200);
    const refused = await inside.post(`/api/runs/${live}/stop`);
    expectProblem(refused, 403, "not_allowed", /^inside_a_run/);
    expect(refused.body["refusal"]).toBe("inside_a_run");
    inside.child.kill("SIGTERM");
    expect(await inside.exit()).toBe(0);
  });
});

describe("errors of the door", () => {
  it("an unknown path is 404, another method 405 with Allow", async () => {
    for (const path of ["/api", "/api/", "/api/run", `/api/runs/${live}/fly`, "/api/runs/a/b/c"])
      expectProblem(await serve.get(path), 404, "not_found", /openapi/);
    const put = await serve.request("/api/runs", { method: "PUT" });
    expect([put.status, put.headers.get("allow")]).toEqual([405, "POST, GET, HEAD"]);
    const get = await serve.get(`/api/runs/${live}/stop`);
    expectProblem(get, 405, "method_not_allowed", /POST/);
    expect(get.headers.get("allow")).toBe("POST");
    const options = await serve.request("/api/runs", { method: "OPTIONS" });
    expect([options.status, options.headers.get("access-control-allow-origin")]).toEqual([405, null]);
  });

  it("a body of another type is 415, one too large 413, one that is no JSON object 400", async () => {
    const post = async (body: string | Uint8Array<ArrayBuffer>, type: string) =>
      serve.request("/api/runs", { method: "POST", body, headers: { "content-type": type } });
    expect((await post("repo=x", "application/x-www-form-urlencoded")).status).toBe(415);
    expect((await post("{}", "text/plain")).status).toBe(415);
    expect((await post("{", "application/json")).status).toBe(400);
    expect((await post(new Uint8Array([0x22, 0xff, 0x22]), "application/json")).status).toBe(400);
    expect((await post("[1]", "application/json; charset=utf-8")).status).toBe(400);
    const large = await post(JSON.stringify({ objective: "x".repeat(2_000_000) }), "application/json");
    expect(large.status).toBe(413);
    expect(await large.json()).toMatchObject({ code: "body_too_large" });
    expect((await serve.get("/api/runs")).status).toBe(200);
  });

  it("HEAD is answered without a body, also for a stream", async () => {
    for (const path of [`/api/runs/${live}`, `/api/runs/${live}/events`, "/api/events", "/"]) {
      const head = await serve.request(path, { method: "HEAD" });
      expect([head.status, await head.text()]).toEqual([200, ""]);
    }
  });
});

it("a client that goes away ends its waiting and not the run", async () => {
  const gone = new AbortController();
  const waiting = serve.request(`/api/runs/${live}/wait?timeout_s=280`, { signal: gone.signal });
  const others = await Promise.all([serve.get(`/api/runs/${live}`), serve.get("/api/runs")]);
  expect(others.map((reply) => reply.status)).toEqual([200, 200]);
  gone.abort();
  await expect(waiting).rejects.toThrow();
  expect((await serve.get(`/api/runs/${live}`)).body).toMatchObject({ run: { state: expect.stringMatching(/queued|running/) } });
});

it("a server that is told to end answers who waits, and exits with 0", async () => {
  const other = await startServe(product.env);
  const waiting = other.get(`/api/runs/${live}/wait?timeout_s=280`);
  await other.get("/api/runs");
  other.child.kill("SIGTERM");
  expect(await waiting).toMatchObject({ status: 200, body: { timed_out: true } });
  expect(await other.exit()).toBe(0);
});
