import { type Context, Hono } from "hono";
import { LoopkeeperError } from "../run/errors.ts";
import { failureOf } from "../tools/call.ts";
import type { Feed } from "../tools/feed.ts";
import type { OpenFeed } from "../tools/runtime.ts";
import { Changes } from "./changes.ts";
import type { HttpEnvironment } from "./http-environment.ts";
import { problemOf, problemResponse } from "./problem.ts";
import { routerPath } from "./routes.ts";
import { eventStream, type Message, type Reading } from "./sse.ts";
import { RUN_STREAM, RUNS_STREAM } from "./stream-paths.ts";

/** The addresses that push: a run's events and transcript, and the changes of all runs. */

const MAX_STREAMS = 64;

export interface StreamDoor {
  readonly feed: OpenFeed;
  /** Aborts when the server ends. */
  readonly ending: AbortSignal;
  readonly onDefect: (error: unknown) => void;
}

export function streams(door: StreamDoor): Hono<HttpEnvironment> {
  const app = new Hono<HttpEnvironment>();
  const changes = new Changes(async () => (await door.feed()).stamp());
  let open = 0;

  async function answer(c: Context<HttpEnvironment>, start: (feed: Feed) => Promise<Reading>): Promise<Response> {
    // Hono answers HEAD as GET without the body: the stream would stay open and be read by nobody.
    if (c.req.method === "HEAD") return c.body(null, 200, STREAM_HEADERS);
    if (open >= MAX_STREAMS) return tooMany(c);
    open += 1;
    try {
      const reading = await start(await door.feed());
      const body = eventStream(reading, {
        changes,
        ended: AbortSignal.any([c.req.raw.signal, door.ending]),
        onFault: door.onDefect,
        drop: () => c.env.outgoing.destroy(),
        onEnd: () => {
          open -= 1;
        },
      });
      return c.body(body, 200, STREAM_HEADERS);
    } catch (error) {
      open -= 1;
      if (!(error instanceof LoopkeeperError)) throw error;
      return problemOf(failureOf(error, { audience: "agent" }), c.req.path);
    }
  }

  app.get(routerPath(RUN_STREAM), (c) =>
    answer(c, async (feed) => {
      const place = placeOf(c);
      const runId = c.req.param("run_id") ?? "";
      await feed.requireRun(runId);
      if (!flag(c, "transcript")) return runReading(feed, runId, place.first ?? 0);
      const entry = place.second ?? number(c, "transcript_after") ?? (await feed.newestEntry(runId));
      return runAndTranscriptReading(feed, runId, place.first ?? 0, entry);
    }),
  );
  app.get(RUNS_STREAM, (c) => answer(c, async (feed) => runsReading(feed, placeOf(c).first)));
  return app;
}

const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  // Asks nginx and its like not to collect what comes in small pieces.
  "x-accel-buffering": "no",
};

function tooMany(c: Context): Response {
  return problemResponse({
    code: "too_many_streams",
    detail: `${MAX_STREAMS} event streams are open already. Close one, or try again later.`,
    instance: c.req.path,
    headers: { "retry-after": "5" },
  });
}

interface Place {
  readonly first: number | null;
  readonly second: number | null;
}

/** Where the client goes on: browsers send it as a header, and only when they connect again. */
function placeOf(c: Context): Place {
  const text = c.req.header("last-event-id") ?? c.req.query("after") ?? "";
  if (text === "") return { first: null, second: null };
  const [, first, second] = /^(\d{1,15})(?:\.(\d{1,15}))?$/u.exec(text) ?? [];
  if (first === undefined)
    throw new LoopkeeperError("bad_input", "Last-Event-ID and after take the id of a message of this stream, as it came.");
  return { first: Number(first), second: second === undefined ? null : Number(second) };
}

function number(c: Context, name: string): number | null {
  const text = c.req.query(name);
  if (text === undefined) return null;
  if (/^\d{1,15}$/u.test(text)) return Number(text);
  throw new LoopkeeperError("bad_input", `${name} takes a number from 0 up.`);
}

function flag(c: Context, name: string): boolean {
  const text = c.req.query(name) ?? "0";
  if (["1", "true"].includes(text)) return true;
  if (["0", "false"].includes(text)) return false;
  throw new LoopkeeperError("bad_input", `${name} takes 1 or 0.`);
}

function runReading(feed: Feed, runId: string, from: number): Reading {
  let seq = from;
  return async () => {
    const events = await feed.events(runId, seq);
    seq = events.at(-1)?.seq ?? seq;
    return events.map((event) => ({ id: String(event.seq), data: event }));
  };
}

/** Ids name the place in both sequences, so that one header is enough to go on in both. */
function runAndTranscriptReading(feed: Feed, runId: string, fromEvent: number, fromEntry: number): Reading {
  let seq = fromEvent;
  let n = fromEntry;
  return async () => {
    const messages: Message[] = [];
    for (const event of await feed.events(runId, seq)) {
      seq = event.seq;
      messages.push({ id: `${seq}.${n}`, data: event });
    }
    for (const entry of await feed.entries(runId, n)) {
      n = entry.n;
      messages.push({ id: `${seq}.${n}`, event: "transcript", data: entry });
    }
    return messages;
  };
}

/** Begins with `ready`, unless the client's place is known and nothing between is lost. */
function runsReading(feed: Feed, from: number | null): Reading {
  let position = from;
  return async () => {
    const known = position ?? Number.MAX_SAFE_INTEGER;
    const { rows, present, forgotten } = await feed.changes(known);
    if (position === null || forgotten) {
      position = present;
      return [{ id: String(present), event: "ready", data: { position: present } }];
    }
    position = rows.at(-1)?.position ?? position;
    return rows.map((row) => ({ id: String(row.position), data: row }));
  };
}
