import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useEventStream } from "../../../api/events.ts";

/** An engine sends many times a second; the page asks again at most this often. */
const THROTTLE_MS = 250;
/** A place after every event of a run: the stream then tells only what is said from now on. */
const NO_EVENTS = 999_999_999;

/** Looks again whenever the run's stream tells of something new. */
export function useLiveEntries(id: string, live: boolean): void {
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const look = (): void => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void client.invalidateQueries({ queryKey: ["entries", id, "total"] });
    }, THROTTLE_MS);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const path = live ? `/api/runs/${encodeURIComponent(id)}/events?transcript=1` : null;
  useEventStream(path, { from: String(NO_EVENTS), opened: look, event: look });
}
