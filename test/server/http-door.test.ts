import { statSync } from "node:fs";
import { request as rawRequest } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newProduct } from "../support/product.ts";
import { type Serve, startServe } from "../support/serve.ts";

const product = await newProduct();
const serve = await startServe(product.env);

interface Raw {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
}

/** A request with exactly these headers: fetch sets Host and Origin by itself. */
function raw(path: string, headers: Readonly<Record<string, string>>, method = "GET", body = ""): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const outgoing = rawRequest({ host: "127.0.0.1", port: serve.port, path, method, headers: { ...headers } }, (incoming) => {
      let text = "";
      incoming.on("data", (chunk) => {
        text += String(chunk);
      });
      incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text }));
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

const bearer = (): { authorization: string } => ({ authorization: `Bearer ${serve.token}` });
const json = { "content-type": "application/json" };
const origin = (): string => `http://127.0.0.1:${serve.port}`;

/** Logs in as the console does; answers the cookie. */
async function login(): Promise<string> {
  const answer = await raw("/api/session", { ...json, origin: origin() }, "POST", JSON.stringify({ token: serve.token }));
  expect(answer.status).toBe(200);
  const [cookie = ""] = answer.headers["set-cookie"] ?? [];
  expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
  return cookie.split(";")[0] ?? "";
}

describe("the token", () => {
  it("is 32 random bytes in a file of the owner's alone, and a second serve of the home takes the same", async () => {
    const file = join(product.home, "serve-token");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(Buffer.from(serve.token, "base64url")).toHaveLength(32);
    const second = await startServe(product.env);
    expect(second.token).toBe(serve.token);
    expect((await second.get("/api/runs")).status).toBe(200);
    second.child.kill("SIGTERM");
    expect(await second.exit()).toBe(0);
  });

  it.each([
    ["none", {}],
    ["a wrong one", { authorization: `Bearer ${"x".repeat(43)}` }],
    ["another scheme", { authorization: "Basic eDp5" }],
    ["a cookie that is none", { cookie: "loopkeeper_1=1.2.3" }],
  ])("is demanded: %s is 401 with WWW-Authenticate", async (_what, headers) => {
    for (const path of ["/api/runs", "/api/nothing", "/api/session"]) {
      const answer = await raw(path, headers);
      expect(answer).toMatchObject({ status: 401, headers: { "content-type": "application/problem+json" } });
      expect(answer.headers["www-authenticate"]).toMatch(/^Bearer realm="loopkeeper"/);
    }
  });

  it("never comes into a log", async () => {
    await raw("/api/runs?token=x", bearer());
    expect(serve.log()).not.toContain(serve.token);
  });
});

describe("names and pages that are not trusted", () => {
  it.each(["evil.example", "evil.example:80", "localhost", "localhost:1", "127.0.0.1.evil.example", "[::2]:7433"])(
    "Host %j is 403, for the API and for pages",
    async (host) => {
      expect((await raw("/api/runs", { ...bearer(), host })).status).toBe(403);
      expect((await raw("/", { host })).status).toBe(403);
    },
  );

  it("loopback names with the port are trusted", async () => {
    for (const name of ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
      expect((await raw("/api/runs", { ...bearer(), host: `${name}:${serve.port}` })).status).toBe(200);
  });

  it("an Origin other than the server's own is 403, with the token too", async () => {
    for (const other of [
      "http://evil.example",
      "null",
      `http://localhost:${serve.port}`,
      "http://127.0.0.1:1",
      `${origin()}.evil`,
    ])
      expect((await raw("/api/runs", { ...bearer(), origin: other })).status).toBe(403);
    const own = await raw("/api/runs", { ...bearer(), origin: origin() });
    expect(own.status).toBe(200);
    expect(own.headers["access-control-allow-origin"]).toBeUndefined();
  });
});

describe("a browser's session", () => {
  it("reads, and writes only from the server's own page", async () => {
    const cookie = await login();
    expect((await raw("/api/runs", { cookie })).status).toBe(200);
    const write = (headers: Readonly<Record<string, string>>) => raw("/api/runs", { ...json, cookie, ...headers }, "POST", "{}");
    // 400: it came in, and the arguments are missing.
    expect((await write({ origin: origin(), "sec-fetch-site": "same-origin" })).status).toBe(400);
    expect((await write({ origin: origin(), "x-loopkeeper": "1" })).status).toBe(400);
    expect((await write({})).status).toBe(403);
    expect((await write({ origin: origin() })).status).toBe(403);
    expect((await write({ "x-loopkeeper": "1" })).status).toBe(403);
    // A page of another port of this host: the browser sends it the cookie all the same.
    expect((await write({ origin: "http://127.0.0.1:3000", "sec-fetch-site": "same-site", "x-loopkeeper": "1" })).status).toBe(
      403,
    );
    expect((await write({ origin: origin(), "sec-fetch-site": "same-site", "x-loopkeeper": "1" })).status).toBe(403);
    expect((await raw("/api/runs", { cookie, "sec-fetch-site": "same-site" })).status).toBe(403);
    expect((await raw("/api/runs", { cookie, "sec-fetch-site": "cross-site" })).status).toBe(403);
  });

  it("is begun with the token alone, from an own page alone", async () => {
    const wrong = await raw("/api/session", json, "POST", JSON.stringify({ token: "x".repeat(43) }));
    expect(wrong.status).toBe(401);
    expect(wrong.headers["set-cookie"]).toBeUndefined();
    const foreign = { ...json, "sec-fetch-site": "cross-site" };
    expect((await raw("/api/session", foreign, "POST", JSON.stringify({ token: serve.token }))).status).toBe(403);
  });

  it("ends when the page says so, outlives a restart, and not the token", async () => {
    const cookie = await login();
    expect(JSON.parse((await raw("/api/session", { cookie })).text)).toEqual({ expires_at: expect.stringMatching(/^2/) });
    const value = cookie.split("=")[1] ?? "";
    const other = await startServe(product.env);
    const foreign = await startServe({ ...product.env, LOOPKEEPER_TOKEN: "t".repeat(40) });
    const at = (one: Serve) => fetch(`${one.url}/api/runs`, { headers: { cookie: `loopkeeper_${one.port}=${value}` } });
    expect((await at(other)).status).toBe(200);
    expect((await at(foreign)).status).toBe(401);
    const longer = value.replace(/^\d+/, (ends) => String(Number(ends) + 1));
    expect((await raw("/api/runs", { cookie: `loopkeeper_${serve.port}=${longer}` })).status).toBe(401);
    const ended = await raw("/api/session", { cookie, origin: origin(), "x-loopkeeper": "1" }, "DELETE");
    expect(ended).toMatchObject({ status: 204, headers: { "set-cookie": [expect.stringContaining("Max-Age=0")] } });
    for (const one of [other, foreign]) one.child.kill("SIGINT");
    expect(await Promise.all([other.exit(), foreign.exit()])).toEqual([0, 0]);
  });
});

describe("pages", () => {
  it("come with a strict policy and without a token", async () => {
    const answer = await raw("/", {});
    expect(answer).toMatchObject({ status: 200, headers: { "x-content-type-options": "nosniff", "x-frame-options": "DENY" } });
    const policy = String(answer.headers["content-security-policy"]);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
  });

  it("are never taken from outside of their folder", async () => {
    for (const path of [
      "/../serve-command.js",
      "/%2e%2e/serve-command.js",
      "/..%2fserve-command.js",
      "/%00.js",
      "/.compile-cache/x.js",
    ])
      expect((await raw(path, {})).status).toBe(404);
  });
});

describe("starting", () => {
  const failure = (words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> =>
    startServe({ ...product.env, ...env }, words).then(
      () => "it serves",
      (error: unknown) => String(error),
    );

  it("says what to do when the port is taken, and exits with 1", async () => {
    expect(await failure(["--port", String(serve.port)])).toMatch(/ended with 1: .*port \d+ .*is in use.*--port/s);
  });

  it("refuses another address without a token of the owner's own and a name", async () => {
    const token = { LOOPKEEPER_TOKEN: "t".repeat(40) };
    const any = ["--host", "0.0.0.0", "--port", "0"];
    const texts = await Promise.all([
      failure(any),
      failure(any, token),
      failure([...any, "--allow-host", "box"]),
      failure(["--port", "0"], { LOOPKEEPER_TOKEN: "short" }),
    ]);
    expect(texts).toEqual([
      expect.stringMatching(/ended with 1: .*LOOPKEEPER_TOKEN/s),
      expect.stringContaining("--allow-host"),
      expect.stringContaining("LOOPKEEPER_TOKEN"),
      expect.stringContaining("32 to 512"),
    ]);
  });

  it("answers under an allowed name, and prints no token that its owner set", async () => {
    const env = { ...product.env, LOOPKEEPER_TOKEN: "t".repeat(40) };
    const open = await startServe(env, ["--host", "0.0.0.0", "--allow-host", "box.example", "--port", "0"]);
    const at = (host: string) =>
      new Promise<number>((resolve, reject) => {
        const headers = { host, authorization: `Bearer ${open.token}` };
        rawRequest({ host: "127.0.0.1", port: open.port, path: "/api/runs", headers }, (incoming) => {
          incoming.resume();
          resolve(incoming.statusCode ?? 0);
        })
          .on("error", reject)
          .end();
      });
    expect(await at("box.example")).toBe(200);
    expect(await at("box.example:8443")).toBe(200);
    expect(await at("other.example")).toBe(403);
    expect(open.log()).not.toContain(open.token);
    open.child.kill("SIGTERM");
    expect(await open.exit()).toBe(0);
  });
});
