import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { z } from "zod";
import { contradiction } from "./openapi.ts";
import { BIN } from "./product.ts";

const readySchema = z.object({
  url: z.string(),
  login_url: z.string().nullable(),
  token_file: z.string().nullable(),
  port: z.number(),
  pid: z.number(),
});

/** A real `loopkeeper serve`, and requests to it as its owner makes them. */
export interface Serve {
  readonly url: string;
  readonly token: string;
  readonly port: number;
  readonly child: ChildProcess;
  /** Everything it wrote to stderr so far. */
  readonly log: () => string;
  /** A request with the token. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** JSON answers; each is held against the OpenAPI document. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  post(path: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  /** Exit code, or the signal that ended it. */
  exit(): Promise<number | NodeJS.Signals | null>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function startServe(
  env: Readonly<Record<string, string>>,
  words: readonly string[] = ["--port", "0"],
): Promise<Serve> {
  const child = spawn(process.execPath, [BIN, "serve", "--json", ...words], {
    env: { ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  child.stderr.on("data", (chunk) => {
    log += String(chunk);
  });
  const exited = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  const line = await Promise.race([
    new Promise<string>((resolve) => createInterface({ input: child.stdout }).once("line", resolve)),
    exited.then((code) => Promise.reject(new Error(`serve ended with ${String(code)}: ${log}`))),
  ]);
  const ready = readySchema.parse(JSON.parse(line));
  const token = env["LOOPKEEPER_TOKEN"] ?? ready.login_url?.split("#token=")[1] ?? "";
  const request = (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${token}`);
    return fetch(`${ready.url}${path}`, { ...init, headers });
  };
  return {
    url: ready.url,
    token,
    port: ready.port,
    child,
    log: () => log,
    request,
    get: async (path, headers = {}) => replyOf("GET", path, await request(path, { headers })),
    post: async (path, body = {}, headers = {}) => {
      const init = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", ...headers } };
      return replyOf("POST", path, await request(path, init));
    },
    exit: () => exited,
  };
}

async function replyOf(method: string, path: string, response: Response): Promise<Reply> {
  const body = z.record(z.string(), z.unknown()).parse(await response.json());
  const fault = contradiction(method, path, response, body);
  if (fault !== null) throw new Error(fault);
  return { status: response.status, headers: response.headers, body };
}
