/** The known word that was most likely meant, or null when none is near. */
export function nearest(word: string, known: readonly string[]): string | null {
  const limit = Math.max(1, Math.floor(word.length / 3));
  const ranked = known
    .map((candidate) => ({ candidate, away: candidate.startsWith(word) && word.length > 2 ? 0 : distance(word, candidate) }))
    .toSorted((a, b) => a.away - b.away);
  const [best] = ranked;
  return best !== undefined && best.away <= limit ? best.candidate : null;
}

/** Insertions, deletions, replacements and swaps of neighbours that lead from one word to the other. */
function distance(a: string, b: string): number {
  let before: readonly number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          (above[j] ?? 0) + 1,
          (row[j - 1] ?? 0) + 1,
          (above[j - 1] ?? 0) + (same ? 0 : 1),
          ...(swapped ? [(before[j - 2] ?? 0) + 1] : []),
        ),
      );
    }
    before = above;
    above = row;
  }
  return above[b.length] ?? 0;
}
