import { monotonicMs } from "../run/clock.ts";
import { isOpen } from "./engine.ts";
import type { SessionState } from "./session-state.ts";

/** Watches one turn for silence: no update within the limit, which is longer while a tool call is open. */
export interface Watchdog {
  /** Resolves with the limit in seconds once it was exceeded. */
  readonly silent: Promise<number>;
  stop(): void;
}

export function watchSilence(state: SessionState): Watchdog {
  const { silence_s, tool_silence_s } = state.launch;
  let timer: NodeJS.Timeout | undefined;
  const silent = new Promise<number>((resolve) => {
    const look = (): void => {
      const limit = [...state.calls.values()].some(isOpen) ? tool_silence_s : silence_s;
      if (monotonicMs() - state.last_activity_ms >= limit * 1000) resolve(limit);
      else timer = setTimeout(look, Math.min(1000, silence_s * 250));
    };
    look();
  });
  return { silent, stop: () => clearTimeout(timer) };
}
