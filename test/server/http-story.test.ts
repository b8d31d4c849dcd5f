import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { newProduct } from "../support/product.ts";
import { read } from "../support/repos.ts";
import { type Reply, type Serve, startServe } from "../support/serve.ts";
import { readEvents, type SseClient } from "../support/sse.ts";
import { backends, rawSql } from "../support/stores.ts";

const runSchema = z.looseObject({
  run_id: z.string(),
  state: z.string(),
  stop_reason: z.string().nullable(),
  revision: z.number(),
  workspace: z.looseObject({ path: z.string() }),
});
const runOf = (reply: Reply): z.infer<typeof runSchema> => runSchema.parse(reply.body["run"]);

/** What an owner does over REST alone; every answer is held against the OpenAPI document by the way. */
function owner(serve: Serve) {
  const ended = async (runId: string) => {
    for (;;) {
      const reply = await serve.get(`/api/runs/${runId}/wait?timeout_s=30`);
      if (reply.body["timed_out"] === false) return runOf(reply);
    }
  };
  const confirmed = async (path: string, body: object): Promise<Reply> => {
    const preview = await serve.post(path, body);
    expect(preview).toMatchObject({ status: 200, body: { needs_confirmation: true } });
    return serve.post(path, { ...body, confirm_token: preview.body["confirm_token"] });
  };
  const stream = (path: string, lastId?: string): Promise<SseClient> =>
    readEvents((signal) => serve.request(path, { signal, headers: lastId === undefined ? {} : { "last-event-id": lastId } }));
  return { ended, confirmed, stream };
}

const says = (text: string) => (message: { event: string; data: Readonly<Record<string, unknown>> }) =>
  message.event === "transcript" && String(message.data["text"]).includes(text);
const isType = (type: string) => (message: { event: string; data: Readonly<Record<string, unknown>> }) =>
  message.event === "message" && message.data["type"] === type;

for (const backend of backends) {
  describe.concurrent(`a run over REST on ${backend}`, async () => {
    const product = await newProduct(backend);

    test(`its whole life: start, live events, stop, explanation, instruct, resume, grant, redo, reset, archive`, async () => {
      const repo = product.box.repo("rest");
      const agent = product.agent("rest", [
        [{ say: "I begin." }, { edit: { path: "a.txt", content: "half\n" } }, { hang: true }],
        [{ edit: { path: "a.txt", content: "more\n" } }],
        [{ edit: { path: "a.txt", content: "whole\n" } }, { report: { completed: ["a.txt"], intended: [], verdict: "done" } }],
      ]);
      const serve = await startServe(product.env);
      const { ended, confirmed, stream } = owner(serve);
      const ledger = await stream("/api/events");
      await ledger.until((message) => message.event === "ready");

      const wish = { repo, objective: "Write a.txt", agent, max_iterations: 1 };
      const dry = await serve.post("/api/runs", { ...wish, dry_run: true });
      expect(dry).toMatchObject({ status: 200, body: { would: { agent } } });
      expect(dry.headers.get("location")).toBeNull();
      const started = await serve.post("/api/runs", wish, { "idempotency-key": '"start-1"' });
      expect(started.status).toBe(201);
      const id = runOf(started).run_id;
      const at = `/api/runs/${id}`;
      expect(started.headers.get("location")).toBe(at);
      expect(started.headers.get("etag")).toBe(`"${runOf(started).revision}"`);
      const again = await serve.post("/api/runs", { ...wish, request_id: "start-1" });
      expect(again).toMatchObject({ status: 201, body: { run: { run_id: id }, replayed: { first_at: expect.any(String) } } });
      expect(await serve.post("/api/runs", { ...wish, objective: "Other" }, { "idempotency-key": "start-1" })).toMatchObject({
        status: 400,
        body: { code: "bad_input" },
      });

      const live = await stream(`${at}/events?transcript=1&transcript_after=0`);
      await live.until(says("I begin."));
      expect(await serve.post(`${at}/resume`, { instructions: "x" })).toMatchObject({
        status: 409,
        body: { code: "already_running" },
      });
      const status = await serve.get(at);
      const revision = runOf(status).revision;
      expect(await serve.post(`${at}/stop`, {}, { "if-match": '"0"' })).toMatchObject({
        status: 412,
        body: { code: "revision_conflict" },
      });
      const stopping = await serve.post(`${at}/abandon`, { why: "look first" }, { "if-match": `"${revision}"` });
      expect(stopping.status).toBe(200);
      await live.until(isType("run_stopped"));
      expect(await ended(id)).toMatchObject({ state: "stopped", stop_reason: "cancelled" });

      const explained = await serve.get(`${at}/explanation`);
      expect(explained.body["explanation"]).toMatchObject({ cause: { stop_reason: "cancelled", source: "owner" } });
      const text = await serve.request(`${at}/explanation`, { headers: { accept: "text/plain" } });
      expect(text.headers.get("content-type")).toMatch(/^text\/plain/);
      expect(await text.text()).toContain(id);
      expect(await serve.get(`${at}/transcript?search=I+begin&limit=5`)).toMatchObject({
        body: { entries: [{ kind: "message" }] },
      });
      const diff = await serve.get(`${at}/diff?to=stop`);
      expect(diff.body).toMatchObject({ files: [{ path: "a.txt" }], patch: expect.stringContaining("+half") });
      const checkpoint = z.looseObject({ checkpoint: z.string() }).parse(diff.body["to"]).checkpoint;
      expect((await serve.get(`${at}/checkpoints/${checkpoint}/diff`)).body["patch"]).toBe(diff.body["patch"]);

      expect(await serve.post(`${at}/instruct`, { instructions: "Write more." })).toMatchObject({
        status: 200,
        body: { delivered: false },
      });
      const resumed = await serve.post(`${at}/resume`, {}, { "idempotency-key": "resume-1" });
      expect(resumed).toMatchObject({ status: 200, body: { resumed: { from: "stop" } } });
      expect(await ended(id)).toMatchObject({ state: "stopped", stop_reason: "max_iterations" });
      const granted = await serve.post(`${at}/grant`, { iterations: 2, run_id: id });
      expect(granted).toMatchObject({ status: 200, body: { continued: true, granted: { max_iterations: 3 } } });
      expect(await ended(id)).toMatchObject({ state: "done" });

      const redone = await confirmed(`${at}/redo`, { step: "main" });
      expect(redone.body).toMatchObject({ redone: { step: "main" } });
      await live.until((message) => isType("engine_started")(message) && live.seen.some(isType("step_redone")));
      await serve.post(`${at}/stop`);
      const stopped = await ended(id);
      const reset = await confirmed(`${at}/reset`, {});
      expect(reset.body).toMatchObject({ reset: { safety_checkpoint: expect.any(String) } });
      expect(read(stopped.workspace.path, "a.txt")).toBe(read(repo, "a.txt"));
      expect(await serve.post(`${at}/resume`, { instructions: "x" })).toMatchObject({
        status: 409,
        body: { refusal: "was_reset" },
      });
      await serve.post(`${at}/archive`);
      expect((await serve.get("/api/runs")).body["runs"]).toEqual([]);
      expect((await serve.get("/api/runs?archived=true&limit=5")).body).toMatchObject({ runs: [{ run_id: id }], total: 1 });

      await live.until(isType("run_archived"));
      const second = await stream(`${at}/events`);
      await second.until(isType("run_archived"));
      const events = live.seen.filter((message) => message.event === "message").map((message) => message.data);
      expect(second.seen.map((message) => message.data)).toEqual(events);
      const seqs = events.map((event) => Number(event["seq"]));
      expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
      // Those that only keep the books are not told.
      expect(events.filter((event) => event["type"] === "checkpoint_taken")).toEqual([]);
      await ledger.until((message) => message.data["archived_at"] != null);
      const positions = ledger.seen.slice(1).map((message) => Number(message.data["position"]));
      expect(positions).toEqual(positions.toSorted((a, b) => a - b));
      expect(new Set(positions).size).toBe(positions.length);
      expect(ledger.seen.at(-1)?.data).toMatchObject({ run: { run_id: id, state: "stopped" } });

      serve.child.kill("SIGTERM");
      await Promise.all([live.ended, second.ended, ledger.ended]);
      expect(await serve.exit()).toBe(0);
      expect(serve.log()).not.toContain(serve.token);
    });
  });
}

describe.concurrent("streams", async () => {
  // Each story watches all runs of its home.
  const [killed, away, many] = [await newProduct(), await newProduct(), await newProduct()];
  const secrets = await newProduct();

  test("go on at another server after the first was killed, without loss and without repeat", async () => {
    const product = killed;
    const repo = product.box.repo("killed");
    const agent = product.agent("talks", [
      [{ repeat: { times: 40, do: [{ say: "word " }, { sleep: 60 }, { run: "true" }] } }],
      [{ say: "and the last" }, { report: { completed: ["it"], intended: [], verdict: "done" } }],
    ]);
    const first = await startServe(product.env);
    const started = await first.post("/api/runs", { repo, objective: "Talk", agent, max_iterations: 3 });
    const at = `/api/runs/${runOf(started).run_id}/events`;
    const whole = `${at}?transcript=1&transcript_after=0`;
    const before = await owner(first).stream(whole);
    const plain = await owner(first).stream(at);
    await before.until((message) => message.event === "transcript" && Number(message.data["n"]) > 8);
    first.child.kill("SIGKILL");
    await Promise.all([before.ended, plain.ended]);

    const second = await startServe(product.env);
    const { stream } = owner(second);
    const after = await stream(whole, before.lastId());
    // A client that cannot set the header.
    const plainAfter = await stream(`${at}?after=${plain.lastId()}`);
    await Promise.all([after.until(isType("run_done")), plainAfter.until(isType("run_done"))]);
    await after.until(says("and the last"));
    const [fresh, freshPlain] = await Promise.all([stream(whole), stream(at)]);
    await Promise.all([fresh.until(isType("run_done")), freshPlain.until(isType("run_done")), fresh.until(says("and the last"))]);

    const of = (event: string, ...clients: SseClient[]) =>
      clients.flatMap((client) => client.seen.filter((message) => message.event === event).map((message) => message.data));
    expect(of("message", before, after)).toEqual(of("message", freshPlain));
    expect(of("message", plain, plainAfter)).toEqual(of("message", freshPlain));
    const entries = of("transcript", before, after);
    expect(entries.map((entry) => entry["n"])).toEqual(of("transcript", fresh).map((entry) => entry["n"]));
    expect(entries).toEqual(of("transcript", fresh));
    second.child.kill("SIGTERM");
    expect(await second.exit()).toBe(0);
  });

  test("of all runs tell a client that was away what changed, and one with an unknown place to begin anew", async () => {
    const product = away;
    const agent = product.agent("quick", [[{ report: { completed: ["it"], intended: [], verdict: "done" } }]]);
    const serve = await startServe(product.env);
    const { stream, ended } = owner(serve);
    const start = async (name: string): Promise<string> => {
      const id = runOf(await serve.post("/api/runs", { repo: product.box.repo(name), objective: name, agent })).run_id;
      await ended(id);
      return id;
    };
    const first = await start("one");
    const client = await stream("/api/events");
    const ready = await client.until((message) => message.event === "ready");
    client.close();
    const second = await start("two");
    await serve.post(`/api/runs/${first}/archive`);
    const back = await stream("/api/events", ready.id);
    await back.until((message) => message.data["archived_at"] != null);
    expect(back.seen.map(({ data }) => z.looseObject({ run_id: z.string() }).parse(data["run"]).run_id)).toEqual([second, first]);
    const lost = await stream("/api/events", "999999999");
    expect(await lost.until(() => true)).toMatchObject({ event: "ready", id: back.lastId() });
    for (const wrong of ["x", "-1", "1.5.2"])
      expect(await serve.get("/api/events", { "last-event-id": wrong })).toMatchObject({
        status: 400,
        body: { code: "bad_input" },
      });
  });

  test("hold no credential, not even one that stands in the store", async () => {
    const agent = secrets.agent("quick", [[{ report: { completed: ["it"], intended: [], verdict: "done" } }]]);
    const serve = await startServe(secrets.env);
    const { stream, ended } = owner(serve);
    const id = runOf(await serve.post("/api/runs", { repo: secrets.box.repo("secret"), objective: "x", agent })).run_id;
    await ended(id);
    const secret = `ghp_${"Ab3dE6gH9j".repeat(4).slice(0, 36)}`;
    const path = join(secrets.home, "loopkeeper.db");
    await rawSql({ options: { url: null, path } }, `update events set data = '{"said":"${secret}"}' where seq = 1`);
    const client = await stream(`/api/runs/${id}/events`);
    expect((await client.until(() => true)).data["data"]).toEqual({ said: "[redacted: github-token]" });
  });

  test("are limited in number, and one that was closed makes room", async ({ expect }) => {
    const product = many;
    const serve = await startServe(product.env);
    const { stream } = owner(serve);
    const open = await Promise.all(Array.from({ length: 64 }, () => stream("/api/events")));
    const refused = await serve.get("/api/events");
    expect(refused).toMatchObject({ status: 503, body: { code: "too_many_streams" } });
    expect(refused.headers.get("retry-after")).toBe("5");
    open[0]?.close();
    await expect
      .poll(
        () =>
          stream("/api/events").then(
            () => true,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
  });
});
