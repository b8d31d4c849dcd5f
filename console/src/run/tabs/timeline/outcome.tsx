import type { TimelineIteration } from "../../../../../src/tools/view-timeline.ts";

export type Tone = "good" | "busy" | "needs" | "bad";

export interface Outcome {
  readonly tone: Tone;
  readonly words: string;
}

/** How an iteration came out; checks that fail stand over a clean end of the turn. */
export function outcomeOf(iteration: TimelineIteration): Outcome {
  const { ended_ms, finished, outcome, verify } = iteration;
  if (ended_ms === null) return { tone: "busy", words: "under way" };
  if (!finished) return { tone: "bad", words: `cut off: ${outcome ?? "unknown"}` };
  const failing = verify.filter((code) => code !== 0).length;
  if (failing > 0) return { tone: "needs", words: failing === 1 ? "a check failed" : `${failing} checks failed` };
  switch (outcome) {
    case "end_turn":
      return { tone: "good", words: verify.length > 0 ? "checks passed" : "ended its turn" };
    case "max_turn_requests":
      return { tone: "good", words: "turn limit" };
    case "max_tokens":
      return { tone: "needs", words: "token limit" };
    case "refusal":
      return { tone: "bad", words: "refused" };
    default:
      return { tone: "good", words: outcome ?? "ended" };
  }
}

const SHAPES: Record<Tone, string> = {
  good: "M6 1.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 0 1 0-9z",
  busy: "M6 1.5a4.5 4.5 0 0 1 0 9z M6 1.5a4.5 4.5 0 0 0 0 9",
  needs: "M6 1.2L11.2 10.6H.8z",
  bad: "M2 3.4L3.4 2L6 4.6L8.6 2L10 3.4L7.4 6L10 8.6L8.6 10L6 7.4L3.4 10L2 8.6L4.6 6z",
};
const INKS: Record<Tone, string> = { good: "text-good", busy: "text-busy", needs: "text-needs", bad: "text-bad" };
export const BARS: Record<Tone, string> = { good: "bg-good", busy: "bg-busy", needs: "bg-needs", bad: "bg-bad" };

/** A state's shape in its colour: the shape alone tells it too. */
export function Sign({ tone }: { readonly tone: Tone }) {
  return (
    <svg viewBox="0 0 12 12" className={`inline-block size-3 shrink-0 ${INKS[tone]}`} aria-hidden="true">
      <path
        d={SHAPES[tone]}
        fill="currentColor"
        stroke="currentColor"
        strokeWidth={tone === "busy" ? 1 : 0}
        fillOpacity={tone === "busy" ? 0.45 : 1}
      />
    </svg>
  );
}
