import { useSyncExternalStore } from "react";

/** One clock for the whole page: the server's time, so that a browser whose clock is wrong tells no wrong ages. */

let offsetMs = 0;
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

/** The server's `now` of an answer. */
export function serverSaid(now: string): void {
  offsetMs = Date.parse(now) - Date.now();
}

const nowMs = (): number => Date.now() + offsetMs;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const one of listeners) one();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** `2h 14m ago`, `in 42m`; rendered anew only when the words change. */
export function useRelative(at: string): string {
  return useSyncExternalStore(subscribe, () => relative(Date.parse(at) - nowMs()));
}

/** How long since, without `ago`: `9s`. */
export function useSince(at: string): string {
  return useSyncExternalStore(subscribe, () => span(Math.max(0, nowMs() - Date.parse(at))));
}

/** Whether an instant is still to come, by the server's clock. */
export function useIsAhead(at: string | null): boolean {
  return useSyncExternalStore(subscribe, () => at !== null && Date.parse(at) > nowMs());
}

function relative(ms: number): string {
  return ms > 0 ? `in ${span(ms)}` : ms > -2_000 ? "just now" : `${span(-ms)} ago`;
}

/** A length of time in at most two units. */
function span(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (seconds < 60) return `${seconds}s`;
  if (minutes < 60) return `${minutes}m`;
  if (hours < 24) return minutes % 60 === 0 ? `${hours}h` : `${hours}h ${minutes % 60}m`;
  return `${Math.floor(hours / 24)}d`;
}

const absoluteFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const timeFormat = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const dayFormat = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });

export const absolute = (at: string): string => absoluteFormat.format(new Date(at));

/** The time of day, with the weekday when it is not within the next hours. */
export function clockTime(at: string): string {
  const away = Math.abs(Date.parse(at) - nowMs());
  return (away < 16 * 3_600_000 ? timeFormat : dayFormat).format(new Date(at));
}

/** Our sentences name instants in UTC; a person reads them by the own clock. */
export function withLocalTimes(text: string): string {
  return text.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/gu, (at) => clockTime(at));
}
