import { z } from "zod";
import { tool } from "../run/names.ts";
import type { Audience } from "../run/said.ts";
import type { Store } from "../store/store.ts";

/** What is missing from a run's record, and from the memory of its engine, in words. */
export interface RecordGaps {
  /** Entries of the journal; null when not even that could be read. */
  readonly total: number | null;
  readonly gaps: readonly string[];
}

const compactedSchema = z.looseObject({ iteration: z.number() });
const LISTED_COMPACTIONS = 20;

/** Nothing here reads the journal as a whole, and nothing throws: a damaged record is what is asked about. */
export async function recordGaps(
  store: Pick<Store, "journalHealth" | "events">,
  runId: string,
  to: Audience = "agent",
): Promise<RecordGaps> {
  const [journal, compactions] = await Promise.all([journalGaps(store, runId, to), compactionGaps(store, runId)]);
  return { total: journal.total, gaps: [...journal.gaps, ...compactions] };
}

async function journalGaps(store: Pick<Store, "journalHealth">, runId: string, to: Audience): Promise<RecordGaps> {
  try {
    const { total, gaps, unchecked_below } = await store.journalHealth(runId);
    if (unchecked_below === null) return { total, gaps };
    const unseen = `events 1-${unchecked_below - 1} were not checked for damage (the transcript is longer than one look takes); a page of ${tool("run_transcript")[to]} names what it cannot read`;
    return { total, gaps: [...gaps, unseen] };
  } catch {
    return { total: null, gaps: ["the transcript could not be read at all: the store is damaged or out of reach"] };
  }
}

async function compactionGaps(store: Pick<Store, "events">, runId: string): Promise<string[]> {
  const events = await store.events(runId, { types: ["context_compacted"], limit: LISTED_COMPACTIONS }).catch(() => []);
  const iterations = events.flatMap((event) => {
    const parsed = compactedSchema.safeParse(event.data);
    return parsed.success ? [parsed.data.iteration] : [];
  });
  if (iterations.length === 0) return [];
  const list = [...new Set(iterations)].join(", ");
  return [
    `the engine compacted its context in iteration ${list}: of what came before, it remembers a summary of its own; the transcript has all of it`,
  ];
}
