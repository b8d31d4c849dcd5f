import { type EntryPart, PART_OVERLAP, wholeEnd } from "../run/entry-part.ts";
import type { NewJournalEntry } from "../run/event.ts";

/**
 * An entry with a longer text than this is kept as several, one after the other, so that no reader ever has to hold a text of
 * unbounded length.
 */
const PART_CHARACTERS = 131_072;

/** The entry, or its parts in order. Facts of the entry stand with the first part alone. */
export function* splitEntry(entry: NewJournalEntry): Generator<NewJournalEntry> {
  const { text } = entry;
  if (text.length <= PART_CHARACTERS) {
    yield entry;
    return;
  }
  const ends = partEnds(text);
  let from = 0;
  for (const [index, end] of ends.entries()) {
    const overlap = Math.min(PART_OVERLAP, from);
    const part: EntryPart = { number: index + 1, of: ends.length, overlap, characters: text.length };
    const data = index === 0 ? { ...entry.data, part } : { part };
    yield { ...entry, text: text.slice(from - overlap, end), data };
    from = end;
  }
}

/** Cuts stand behind a line's end where there is one near, and never within a character of two halves. */
function partEnds(text: string): number[] {
  const ends: number[] = [];
  for (let from = 0; from < text.length; ) {
    let end = Math.min(text.length, from + PART_CHARACTERS);
    if (end < text.length) {
      const line = text.lastIndexOf("\n", end - 1) + 1;
      if (line > from + PART_CHARACTERS / 2) end = line;
      else end = wholeEnd(text, end);
    }
    ends.push(end);
    from = end;
  }
  return ends;
}
