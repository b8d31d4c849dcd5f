import { useSyncExternalStore } from "react";

/** Whether what is shown follows the server: one fact for the whole page, told by the event stream and by every failed call. */
export type Connection = "connecting" | "live" | "reconnecting" | "offline";

let connection: Connection = "connecting";
const listeners = new Set<() => void>();

export function tellConnection(next: Connection): void {
  if (next === connection) return;
  connection = next;
  for (const listener of listeners) listener();
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => connection);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
