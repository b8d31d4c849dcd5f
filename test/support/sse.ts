import { z } from "zod";

/** A client of server-sent events, by the letter of their specification where our streams use it. */

const dataSchema = z.record(z.string(), z.unknown());

export interface SeenMessage {
  readonly id: string;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface SseClient {
  /** Every message so far, in order. */
  readonly seen: readonly SeenMessage[];
  /** The value to go on with. */
  readonly lastId: () => string;
  /** Resolves once a message fits; rejects when the stream ends before. */
  until(fits: (message: SeenMessage) => boolean): Promise<SeenMessage>;
  /** Resolves when the server, or a lost connection, ended the stream. */
  readonly ended: Promise<void>;
  close(): void;
}

/** `open` makes the request; it must answer 200 with an event stream. */
export async function readEvents(open: (signal: AbortSignal) => Promise<Response>): Promise<SseClient> {
  const gone = new AbortController();
  const response = await open(gone.signal);
  if (response.status !== 200 || response.body === null) throw new Error(`${response.status}: ${await response.text()}`);
  const seen: SeenMessage[] = [];
  const waiting = new Set<() => void>();
  let over = false;
  let id = "";
  const wake = (): void => {
    for (const resolve of waiting) resolve();
    waiting.clear();
  };

  function take(block: string): void {
    const fields = block.split("\n").filter((line) => !line.startsWith(":"));
    const fieldOf = (name: string): string | undefined =>
      fields.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    id = fieldOf("id") ?? id;
    const data = fieldOf("data");
    if (data === undefined) return;
    seen.push({ id, event: fieldOf("event") ?? "message", data: dataSchema.parse(JSON.parse(data)) });
    wake();
  }

  async function read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for await (const chunk of body) {
        const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
        rest = blocks.pop() ?? "";
        blocks.forEach(take);
      }
    } catch {
      // The connection was lost, or closed by us.
    }
    over = true;
    wake();
  }

  const ended = read(response.body);
  return {
    seen,
    lastId: () => id,
    until: async (fits) => {
      for (let from = 0; ; ) {
        const found = seen.slice(from).find(fits);
        if (found !== undefined) return found;
        if (over) throw new Error(`the stream ended before it; seen: ${JSON.stringify(seen.slice(-5))}`);
        from = seen.length;
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
    ended,
    close: () => gone.abort(),
  };
}
