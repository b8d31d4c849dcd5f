import { monotonicMs, sleep } from "../run/clock.ts";
import type { Changes } from "./changes.ts";

/** Server-sent events out of readings that take up where the last one ended. */

export interface Message {
  /** Where a client goes on that saw this message. */
  readonly id: string;
  /** Left out for the stream's ordinary messages. */
  readonly event?: string;
  readonly data: object;
}

/** Answers what is new since its last answer; an empty one means that nothing is. */
export type Reading = () => Promise<readonly Message[]>;

/** A comment now and then, so that no proxy takes the connection for dead. */
const BEAT_MS = 15_000;
const BEAT = ": beat\n\n";
/** A client that takes nothing for so long is gone, or as good as gone. */
const STUCK_MS = 60_000;
/** How long clients wait before they connect again. */
const OPENING = "retry: 2000\n\n";
const AFTER_FAULT_MS = 2_000;

export interface StreamOptions {
  readonly changes: Changes;
  /** Aborts when the client has gone or the server ends. */
  readonly ended: AbortSignal;
  readonly onFault: (error: unknown) => void;
  /** Ends the connection of a client that takes nothing. */
  readonly drop: () => void;
  /** Called once, however it ends. */
  readonly onEnd: () => void;
}

/**
 * The stream reads from the store only when the client has taken what was read before: however slow it is, one page of it is in
 * memory. A fault of the store is waited out, since a browser would not come again after an error.
 */
export function eventStream(reading: Reading, options: StreamOptions): ReadableStream<Uint8Array> {
  const closing = new AbortController();
  const ended = AbortSignal.any([options.ended, closing.signal]);
  const encoder = new TextEncoder();
  let offeredAt: number | null = null;
  let opened = false;
  let watch: NodeJS.Timeout | undefined;

  function end(): void {
    if (closing.signal.aborted) return;
    clearInterval(watch);
    options.ended.removeEventListener("abort", end);
    closing.abort();
    options.onEnd();
  }

  async function next(): Promise<string> {
    if (!opened) {
      opened = true;
      return OPENING;
    }
    const seen = options.changes.version;
    const messages = await reading();
    if (messages.length > 0) return messages.map(textOf).join("");
    await options.changes.after(seen, BEAT_MS, ended);
    return options.changes.version === seen ? BEAT : "";
  }

  async function nextOrBeat(): Promise<string> {
    try {
      return await next();
    } catch (error) {
      options.onFault(error);
      await sleep(AFTER_FAULT_MS, ended);
      return BEAT;
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      start: () => {
        options.ended.addEventListener("abort", end, { once: true });
        watch = setInterval(() => {
          if (offeredAt !== null && monotonicMs() - offeredAt >= STUCK_MS) options.drop();
        }, BEAT_MS);
        watch.unref();
      },
      pull: async (controller) => {
        offeredAt = null;
        let text = "";
        while (text === "" && !ended.aborted) text = await nextOrBeat();
        if (ended.aborted) {
          end();
          controller.close();
          return;
        }
        offeredAt = monotonicMs();
        controller.enqueue(encoder.encode(text));
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

function textOf({ id, event, data }: Message): string {
  return `${event === undefined ? "" : `event: ${event}\n`}id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}
