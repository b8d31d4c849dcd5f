import { useSyncExternalStore } from "react";

/** One value for the whole page, which is told from anywhere and followed by whoever shows it. */
export interface Shared<T> {
  get(): T;
  set(next: T): void;
  /** The value, in a component that is rendered anew when it changes. */
  use(): T;
}

export function shared<T>(first: T): Shared<T> {
  let value = first;
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const get = (): T => value;
  return {
    get,
    set: (next) => {
      if (next === value) return;
      value = next;
      for (const listener of listeners) listener();
    },
    use: () => useSyncExternalStore(subscribe, get),
  };
}
