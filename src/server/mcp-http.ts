import { randomUUID } from "node:crypto";
import { createMcpHandler, type McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { readBytes } from "./read-json.ts";

/** Bytes of one message. */
const LARGEST_MESSAGE = 4 * 1024 * 1024;
const SESSION_HEADER = "mcp-session-id";

export interface McpOverHttp {
  readonly fetch: (request: Request) => Promise<Response>;
  close(): Promise<void>;
}

const messageSchema = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({ requestId: z.union([z.string(), z.number()]).optional() }).optional(),
});
type Message = z.infer<typeof messageSchema>;

/**
 * MCP over Streamable HTTP, both protocol lines. Nothing is kept between requests, so a restart of the server is not noticed.
 * A client of 2026-07-28 cancels a call by closing its stream. One of the 2025 revisions sends a notification, in a request of
 * its own: it gets a session id, which says nothing but whose calls its notifications can mean.
 */
export function mcpOverHttp(
  factory: () => McpServer,
  options: { readonly ending: AbortSignal; readonly onFault: (error: Error) => void },
): McpOverHttp {
  const handler = createMcpHandler(factory, {
    legacy: "stateless",
    // Some clients drop a call that has sent nothing for a minute; an open stream counts as something.
    responseMode: "sse",
    maxRequestBodySize: LARGEST_MESSAGE,
    onerror: options.onFault,
  });
  const open = new Map<string, AbortController>();

  async function post(request: Request): Promise<Response> {
    const bytes = await readBytes(request, LARGEST_MESSAGE);
    if (bytes === null) return new Response(null, { status: 413 });
    const message = messageOf(bytes);
    const session = request.headers.get(SESSION_HEADER);
    if (session !== null && message.method === "notifications/cancelled")
      open.get(keyOf(session, message.params?.requestId))?.abort();
    const cancel = new AbortController();
    const key = session !== null && message.method !== undefined && message.id !== undefined ? keyOf(session, message.id) : null;
    if (key !== null) open.set(key, cancel);
    const abort = (): void => cancel.abort();
    // Linked by hand: the server's own signal lives for weeks, and would hold whatever waits for it until then.
    const sources = [request.signal, options.ending];
    for (const source of sources) source.addEventListener("abort", abort, { once: true });
    const closed = (): void => {
      for (const source of sources) source.removeEventListener("abort", abort);
      if (key !== null && open.get(key) === cancel) open.delete(key);
    };
    cancel.signal.addEventListener("abort", closed, { once: true });
    const { url, method, headers } = request;
    const response = await handler.fetch(new Request(url, { method, headers, body: bytes, signal: cancel.signal }));
    if (message.method === "initialize") response.headers.set(SESSION_HEADER, randomUUID());
    if (response.body === null) {
      closed();
      return response;
    }
    const body = response.body.pipeThrough(new TransformStream({ flush: closed }));
    return new Response(body, { status: response.status, headers: response.headers });
  }

  return {
    fetch: (request) => (request.method === "POST" ? post(request) : handler.fetch(request)),
    close: () => handler.close(),
  };
}

/** Numbers and texts are different ids. */
const keyOf = (session: string, id: string | number | undefined): string => `${session} ${JSON.stringify(id ?? null)}`;

function messageOf(bytes: Uint8Array): Message {
  try {
    return messageSchema.safeParse(JSON.parse(new TextDecoder().decode(bytes))).data ?? {};
  } catch {
    // The handler answers what is no message.
    return {};
  }
}
