import { z } from "zod";
import type { NewJournalEntry } from "./event.ts";

/** A journal entry with a very long text is kept as several, one after the other: its parts. */

/** Each later part begins with the end of the one before it: a search of up to this length finds what a cut went through. */
export const PART_OVERLAP = 256;

export const partSchema = z.object({
  /** From 1. */
  number: z.number().int(),
  of: z.number().int(),
  /** Characters at the beginning of `text` that the part before holds too. */
  overlap: z.number().int(),
  /** Length of the whole text. */
  characters: z.number().int(),
});
export type EntryPart = z.infer<typeof partSchema>;

/** The end of a cut of at most `end` characters, never between the halves of one. */
export function wholeEnd(text: string, end: number): number {
  const code = text.charCodeAt(end - 1);
  return end < text.length && code >= 0xd800 && code <= 0xdbff ? end - 1 : Math.min(end, text.length);
}

/** Which part of a long entry this is; null for one that is whole. */
export function partOf(entry: Pick<NewJournalEntry, "data">): EntryPart | null {
  return partSchema.safeParse(entry.data?.["part"]).data ?? null;
}
