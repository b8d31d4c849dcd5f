import { MAX_ITERATIONS_PER_CALL } from "../../../src/run/grant.ts";

/** Iterations to add as they were typed, or null while that is no number that one call may add. */
export function iterationsIn(text: string): number | null {
  const number = /^\s*\d+\s*$/u.test(text) ? Number(text) : Number.NaN;
  return number >= 1 && number <= MAX_ITERATIONS_PER_CALL ? number : null;
}

/** A positive number, or null. */
export function positive(text: string): number | null {
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) && number > 0 ? number : null;
}
