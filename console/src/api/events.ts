import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent } from "react";
import { Problem, read } from "./client.ts";
import { tellConnection } from "./connection.ts";

/** One message of a stream, as the server sends it. */
export interface StreamEvent {
  /** `message` for the ordinary ones. */
  readonly type: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface StreamHandlers {
  /** Id after which it begins; left out: where the server has it begin. */
  readonly from?: string;
  /** The stream stands; `again` after a break. */
  opened?(again: boolean): void;
  broke?(): void;
  /** The session is over. */
  refused?(): void;
  event(event: StreamEvent): void;
}

/** Waits between attempts once the browser itself has given up (it does when a server answers with an error), in ms. */
const RETRIES = [1_000, 2_000, 5_000, 10_000];
/** A page that nobody looks at lets go of its streams: a browser keeps only six connections to a server, over all its pages. */
const HIDDEN_MS = 5_000;
/** Messages that have a name of their own. */
const NAMED = ["ready", "transcript"];

/** Follows an event stream while the component is shown. The browser reconnects by itself and says where it was (Last-Event-ID). */
export function useEventStream(path: string | null, handlers: StreamHandlers): void {
  const opened = useEffectEvent((again: boolean) => handlers.opened?.(again));
  const broke = useEffectEvent(() => handlers.broke?.());
  const refused = useEffectEvent(() => handlers.refused?.());
  const event = useEffectEvent((one: StreamEvent) => handlers.event(one));
  const from = handlers.from ?? "";
  useEffect(() => {
    if (path === null) return;
    return follow(path, { from, opened, broke, refused, event });
  }, [path, from]);
}

function follow(path: string, handlers: Required<StreamHandlers>): () => void {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hiding: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let stood = false;
  let ended = false;
  let last = handlers.from;

  function connect(): void {
    clearTimeout(timer);
    source?.close();
    const from = last === "" ? "" : `${path.includes("?") ? "&" : "?"}after=${encodeURIComponent(last)}`;
    source = new EventSource(`${path}${from}`);
    source.onopen = () => {
      failures = 0;
      handlers.opened(stood);
      stood = true;
    };
    source.onerror = () => {
      handlers.broke();
      if (source?.readyState === EventSource.CLOSED) void later();
    };
    const take = (message: MessageEvent<string>): void => {
      last = message.lastEventId;
      handlers.event({ type: message.type, id: last, data: factsOf(message.data) });
    };
    source.onmessage = take;
    for (const name of NAMED) source.addEventListener(name, take);
  }

  async function later(): Promise<void> {
    source?.close();
    if (await isRefused()) return handlers.refused();
    if (ended) return;
    timer = setTimeout(connect, RETRIES[Math.min(failures, RETRIES.length - 1)]);
    failures += 1;
  }

  function seen(): void {
    clearTimeout(hiding);
    if (!document.hidden) {
      if (source === null || source.readyState === EventSource.CLOSED) connect();
      return;
    }
    hiding = setTimeout(() => {
      clearTimeout(timer);
      source?.close();
    }, HIDDEN_MS);
  }

  connect();
  document.addEventListener("visibilitychange", seen);
  return () => {
    ended = true;
    clearTimeout(timer);
    clearTimeout(hiding);
    document.removeEventListener("visibilitychange", seen);
    source?.close();
  };
}

function factsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {};
  } catch {
    return {};
  }
}

async function isRefused(): Promise<boolean> {
  try {
    await read("/api/session");
    return false;
  } catch (error) {
    return error instanceof Problem && error.status === 401;
  }
}

/** After so long without a stream the page says that it is offline. */
const OFFLINE_AFTER_MS = 12_000;
/** Changes are gathered for so long, so that many at once cost one reading. */
const GATHER_MS = 250;

/** The one stream over all runs: says how the connection is, and which of what is shown has to be read anew. */
export function useFollowing(signedOut: () => void): void {
  const queries = useQueryClient();
  const state = useEffectEvent(() => ({ queries, signedOut }));
  useEffect(() => {
    const { queries } = state();
    let offline: ReturnType<typeof setTimeout> | undefined;
    let refresh: ReturnType<typeof setTimeout> | undefined;
    const touched = new Set<string>();
    const flush = (): void => {
      refresh = undefined;
      void queries.invalidateQueries({ queryKey: ["ledger"] });
      for (const id of touched) void queries.invalidateQueries({ queryKey: ["run", id] });
      touched.clear();
    };
    // Each try that fails tells of it anew: the time counts from the first one, and what was said then stands.
    const broken = (): void => {
      if (offline !== undefined) return;
      tellConnection(navigator.onLine ? "reconnecting" : "offline");
      offline = setTimeout(() => tellConnection("offline"), OFFLINE_AFTER_MS);
    };
    const stop = follow("/api/events", {
      from: "",
      opened: (again) => {
        clearTimeout(offline);
        offline = undefined;
        tellConnection("live");
        if (again) void queries.invalidateQueries();
      },
      broke: broken,
      refused: () => state().signedOut(),
      event: ({ type, data }) => {
        if (type === "ready") return void queries.invalidateQueries();
        const id = runOf(data);
        if (id !== null) touched.add(id);
        refresh ??= setTimeout(flush, GATHER_MS);
      },
    });
    const wentOffline = (): void => tellConnection("offline");
    addEventListener("offline", wentOffline);
    return () => {
      stop();
      clearTimeout(offline);
      clearTimeout(refresh);
      removeEventListener("offline", wentOffline);
    };
  }, []);
}

function runOf({ run }: StreamEvent["data"]): string | null {
  if (typeof run !== "object" || run === null || !("run_id" in run)) return null;
  return typeof run.run_id === "string" ? run.run_id : null;
}
