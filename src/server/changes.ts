import { monotonicMs, sleep } from "../run/clock.ts";

const POLL_MS = 250;
/** While the store cannot be asked. */
const RETRY_MS = 2_000;

/**
 * Tells all streams of this server when something was written to the store, by one look for all of them. It looks only while
 * somebody waits.
 */
export class Changes {
  readonly #stamp: () => Promise<string>;
  readonly #waiting = new Set<() => void>();
  #last: string | null = null;
  #version = 0;
  #looking = false;

  constructor(stamp: () => Promise<string>) {
    this.#stamp = stamp;
  }

  /** To be taken before reading: what is written after that moves it. */
  get version(): number {
    return this.#version;
  }

  /** Resolves once the version is not `seen` any more, after `ms` milliseconds, or when the signal aborts. */
  async after(seen: number, ms: number, signal: AbortSignal): Promise<void> {
    const deadline = monotonicMs() + ms;
    while (this.#version === seen && !signal.aborted && monotonicMs() < deadline) {
      const woken = new AbortController();
      const wake = (): void => woken.abort();
      this.#waiting.add(wake);
      void this.#look();
      await sleep(Math.max(0, deadline - monotonicMs()), AbortSignal.any([signal, woken.signal]));
      this.#waiting.delete(wake);
    }
  }

  async #look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    while (this.#waiting.size > 0) {
      const pause = await this.#compare();
      await sleep(pause);
    }
    this.#looking = false;
  }

  /** Milliseconds until the next look. A store that cannot be asked is met by the streams too, which say so. */
  async #compare(): Promise<number> {
    try {
      const stamp = await this.#stamp();
      if (stamp === this.#last) return POLL_MS;
      this.#last = stamp;
      this.#version += 1;
      for (const wake of this.#waiting) wake();
      return POLL_MS;
    } catch {
      return RETRY_MS;
    }
  }
}
