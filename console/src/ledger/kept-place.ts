import type { Virtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef } from "react";

/**
 * Keeps what is read where it is while rows come, go and move above it. A row in sight may itself be one that moved; so the page
 * follows the middle one of all shifts.
 */
export function useKeptPlace(virtual: Virtualizer<Window, Element>, items: readonly unknown[]): void {
  const shown = useRef({ items, places: new Map<unknown, number>() });
  useLayoutEffect(() => {
    const before = shown.current;
    const all = virtual.measurementsCache;
    shown.current = { items, places: new Map(virtual.getVirtualItems().map(({ key, start }) => [key, start])) };
    // A height that became known is seen to by the list itself. At its top the newest rows are what is wanted.
    if (before.items === items || scrollY <= virtual.options.scrollMargin) return;
    const shifts = all.flatMap(({ key, start }) => {
      const was = before.places.get(key);
      return was === undefined || was < scrollY ? [] : [start - was];
    });
    const shift = shifts.toSorted((a, b) => a - b)[Math.floor(shifts.length / 2)] ?? 0;
    if (shift !== 0) scrollBy(0, shift);
  });
}
