/** The one place that reads the clock; everything else takes its instants from here. */

/** Present instant as ISO 8601 UTC with milliseconds, e.g. `2026-11-29T19:04:00.000Z`. */
export function now(): string {
  return new Date(Date.now()).toISOString();
}

/** Milliseconds since the epoch, wall clock. Jumps when the host's clock is set: never use it to measure a duration. */
export function epochMs(): number {
  return Date.now();
}

/** Milliseconds on a clock that only moves forward while this process runs; for durations and watchdogs. */
export function monotonicMs(): number {
  return performance.now();
}

/** ISO 8601 UTC of an instant given in milliseconds since the epoch. */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Milliseconds since the epoch of an ISO 8601 instant. */
export function msOf(iso: string): number {
  return Date.parse(iso);
}

/** Resolves after `ms` milliseconds, or at once when `signal` aborts (it never rejects). */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const timer = setTimeout(finish, ms);
    signal?.addEventListener("abort", finish, { once: true });
    function finish(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    }
  });
}
