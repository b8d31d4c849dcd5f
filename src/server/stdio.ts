import { Transform } from "node:stream";
import {
  isJSONRPCErrorResponse,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type McpServer,
  type Server,
} from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { sleep } from "../run/clock.ts";

/** How long requests that were read before stdin ended may still be answered, in milliseconds. */
const LAST_ANSWERS_MS = 1_000;

/**
 * Serves MCP on this process's stdin and stdout. Resolves when the client has gone (end of stdin) or the process was told to
 * end (SIGTERM, SIGINT), after every call was aborted; the caller then frees what it holds and exits.
 */
export async function serveMcpOverStdio(factory: () => McpServer | Server, onFault: (error: Error) => void): Promise<void> {
  const input = new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    // The SDK aborts what is in flight as soon as its input ends, also the calls of a script that writes them and closes:
    // the end is passed on only after their answers.
    flush: (done) => {
      setImmediate(() => transport.settled(LAST_ANSWERS_MS).then(() => done()));
    },
  });
  const transport = new CountingTransport(input, process.stdout);
  const handle = serveStdio(factory, { transport, onerror: onFault });
  process.stdin.pipe(input);
  await Promise.race([clientGone(input), endSignal()]);
  process.stdin.destroy();
  await handle.close();
}

function clientGone(input: Transform): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ["end", "close"]) input.once(event, resolve);
    process.stdin.once("error", resolve);
    process.stdout.once("error", resolve);
  });
}

function endSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.once(signal, () => resolve());
  });
}

/** The SDK's stdio transport, which also knows whether a request is still without its answer. */
class CountingTransport extends StdioServerTransport {
  readonly #open = new Set<string | number>();
  #whenIdle: (() => void) | null = null;

  override async start(): Promise<void> {
    const deliver = this.onmessage;
    this.onmessage = (message) => {
      this.#note(message);
      deliver?.(message);
    };
    await super.start();
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    await super.send(message);
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) this.#settle(message.id);
  }

  /** Resolves when no request is open any more, or after `ms` milliseconds. */
  async settled(ms: number): Promise<void> {
    const answered = new AbortController();
    this.#whenIdle = () => answered.abort();
    this.#settle(undefined);
    await sleep(ms, answered.signal);
  }

  #note(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) this.#open.add(message.id);
    // A cancelled request gets no answer.
    else if ("method" in message && message.method === "notifications/cancelled") this.#settle(cancelledId(message.params));
  }

  #settle(id: string | number | undefined): void {
    if (id !== undefined) this.#open.delete(id);
    if (this.#open.size === 0) this.#whenIdle?.();
  }
}

function cancelledId(params: Readonly<Record<string, unknown>> | undefined): string | number | undefined {
  const id = params?.["requestId"];
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}
