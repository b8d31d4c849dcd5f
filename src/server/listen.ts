import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import type { HttpEnvironment } from "./http-environment.ts";
import { problemResponse } from "./problem.ts";

/** Where the door listens, once it does. */
export interface Listening {
  readonly port: number;
  /** Resolves once nobody has asked for anything for so long; who follows a stream asks all the time. */
  idle(ms: number): Promise<void>;
  /** Takes no new request; lets answers under way end, then closes what is left. */
  close(): Promise<void>;
}

/** How long answers under way have to end after the server was told to, in milliseconds. */
const LAST_ANSWERS_MS = 2_000;

const LIMITS = {
  /** A request's line and headers must be here within this time, its body too; a slow sender holds no connection for long. */
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  /** Bytes of a request's line and headers. */
  maxHeaderSize: 16_384,
};
const MAX_CONNECTIONS = 512;

/** Rejects with the system's error (`EADDRINUSE`, `EACCES`...) when it cannot listen there. */
export async function listen(
  app: Hono<HttpEnvironment>,
  at: { readonly host: string; readonly port: number },
): Promise<Listening> {
  const server = createServer(LIMITS, getRequestListener(app.fetch, { overrideGlobalObjects: false, errorHandler: unreadable }));
  server.maxConnections = MAX_CONNECTIONS;
  await listening(server, at);
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : at.port,
    idle: (ms) => idle(server, ms),
    close: () => closed(server),
  };
}

/** What never becomes a request: an address or a Host that is none. */
function unreadable(): Response {
  return problemResponse({ code: "bad_input", detail: "the request's address or Host cannot be read.", instance: "/" });
}

function listening(server: Server, { host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port, exclusive: true }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function idle(server: Server, ms: number): Promise<void> {
  return new Promise((resolve) => {
    let answering = 0;
    // Not waited for by itself: a server that was told to end is not kept by it.
    const begin = () => setTimeout(resolve, ms).unref();
    let timer = begin();
    server.on("request", (_request, response) => {
      answering += 1;
      clearTimeout(timer);
      response.once("close", () => {
        answering -= 1;
        if (answering === 0) timer = begin();
      });
    });
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const last = setTimeout(() => server.closeAllConnections(), LAST_ANSWERS_MS);
    server.close(() => {
      clearTimeout(last);
      resolve();
    });
    server.closeIdleConnections();
  });
}
