/** One credential in a text: where it stands and what kind it is. */
export interface Span {
  readonly start: number;
  /** Index behind its last character. */
  readonly end: number;
  readonly kind: string;
}

/** Spans in order and without overlap; where some overlap, the one that came first in `spans` names the kind. */
export function merged(spans: readonly Span[]): readonly Span[] {
  const ranked = spans.map((span, rank) => ({ ...span, rank })).sort((a, b) => a.start - b.start || a.rank - b.rank);
  const out: { start: number; end: number; kind: string; rank: number }[] = [];
  for (const span of ranked) {
    const last = out.at(-1);
    if (last === undefined || span.start >= last.end) {
      out.push({ ...span });
      continue;
    }
    last.end = Math.max(last.end, span.end);
    if (span.rank < last.rank) {
      last.kind = span.kind;
      last.rank = span.rank;
    }
  }
  return out;
}
