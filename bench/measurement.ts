/** One measured number beside its floor: the least that the same machine needs for the same bytes, in the same run. */
export interface Measurement {
  readonly name: string;
  readonly value: number;
  readonly floor: number;
  readonly ratio: number;
  /** The highest ratio that is accepted, or null when `note` says what is judged instead. */
  readonly limit: number | null;
  readonly unit: string;
  readonly note: string;
}

export function measurement(fields: Omit<Measurement, "ratio">): Measurement {
  return { ...fields, ratio: fields.value / fields.floor };
}

/** Value below which the share `part` (0 to 1) of the samples lies. */
export function quantile(samples: readonly number[], part: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** Milliseconds that the work took. */
export async function timed(work: () => Promise<unknown> | unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
