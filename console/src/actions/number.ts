/** A number as it was typed, or null when it is none within the bounds. */
export function wholeNumber(text: string, least: number, most: number): number | null {
  const number = /^\s*\d+\s*$/u.test(text) ? Number(text) : Number.NaN;
  return number >= least && number <= most ? number : null;
}

/** A positive number, or null. */
export function positive(text: string): number | null {
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) && number > 0 ? number : null;
}
