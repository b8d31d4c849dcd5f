import { monotonicMs } from "../run/clock.ts";
import type { LeaseRecord } from "../store/store.ts";

/** A lease's sign of life: it moves at each renewal. */
export function signOf(lease: Pick<LeaseRecord, "fence" | "beat">): string {
  return `${lease.fence} ${lease.beat}`;
}

/** Longest share of the time between two looks that counts: an observer that was itself asleep has seen nothing of it. */
const LOOK_MS = 6_000;
/** What was seen unmoved for so long of the observer's own running time is dead. */
export const DEAD_MS = 15_000;

/**
 * Tells how long a sign of life was seen not to move, in this process's own running time: neither another host's clock nor
 * a sleep of this one kills anything.
 */
export class Stillness {
  readonly #seen = new Map<string, { readonly sign: string; readonly sinceMs: number }>();
  #ranMs = 0;
  #lookedMs: number | null = null;

  /** One look at all things that are watched, by key, each with its present sign of life. */
  look(signs: ReadonlyMap<string, string>): void {
    const nowMs = monotonicMs();
    if (this.#lookedMs !== null) this.#ranMs += Math.min(LOOK_MS, nowMs - this.#lookedMs);
    this.#lookedMs = nowMs;
    for (const key of this.#seen.keys()) if (!signs.has(key)) this.#seen.delete(key);
    for (const [key, sign] of signs) if (this.#seen.get(key)?.sign !== sign) this.#seen.set(key, { sign, sinceMs: this.#ranMs });
  }

  isDead(key: string): boolean {
    const seen = this.#seen.get(key);
    return seen !== undefined && this.#ranMs - seen.sinceMs > DEAD_MS;
  }
}
