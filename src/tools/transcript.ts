import { partOf } from "../run/entry-part.ts";
import { LoopkeeperError } from "../run/errors.ts";
import type { JournalEntry } from "../run/event.ts";
import type { RunRecord } from "../run/run.ts";
import type { ToolContext } from "./context.ts";
import { textOfEntry } from "./transcript-entry.ts";

/** Pages of a run's transcript, for the tool and for the resources: the same order, the same cursors, other sizes. */

export interface TranscriptQuery {
  readonly iteration?: number | undefined;
  readonly search?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit: number;
}

/** How much of a page's texts a door can take. */
export interface PageSize {
  /** Longest text of one entry, and the shortest it may be cut to so that more entries fit. */
  readonly most: number;
  readonly least: number;
  /** Characters of all texts together. */
  readonly room: number;
  /** What one entry costs of the room beside its text. */
  readonly overhead: number;
  /** What a text costs of the room. */
  cost(text: string): number;
}

export interface TranscriptEntry {
  /** Number of the entry in the run's transcript, from 1. */
  n: number;
  who: JournalEntry["who"];
  kind: JournalEntry["kind"];
  text: string;
  iteration: number;
  at: string;
  /** What the text belongs to: the tool call of an output, the place of a part. */
  about: string | null;
  /** Set when `text` is not all of it: its whole length and the cursor that reads it on. */
  cut: { characters: number; rest: string } | null;
}

export interface TranscriptPage {
  readonly entries: TranscriptEntry[];
  /** Parts that can no longer be read, met on this page. */
  readonly gaps: readonly string[];
  /** Entries of the run, or of the one iteration. */
  readonly total: number;
  readonly next_cursor: string | null;
}

type Place =
  | { readonly kind: "before" | "after"; readonly n: number }
  | { readonly kind: "entry"; readonly n: number; readonly offset: number };

/**
 * The newest entries first, page by page backwards, each page in order of time; `start` reads from the first entry on. A long
 * text is cut: its cursor reads that one entry to its end.
 */
export async function transcriptPage(
  ctx: ToolContext,
  run: RunRecord,
  query: TranscriptQuery,
  size: PageSize,
): Promise<TranscriptPage> {
  const place = parseCursor(query.cursor);
  if (place?.kind === "entry") return entryPage(ctx, run, place, size);
  const { iteration, search, limit } = query;
  const page = await ctx.store.journal(run.run_id, {
    ...(iteration === undefined ? {} : { iteration }),
    ...(search === undefined ? {} : { search }),
    ...(place === null ? {} : { [place.kind]: place.n }),
    limit,
  });
  const forward = place?.kind === "after";
  const shown = fitted(page.entries, size, forward, search ?? null);
  const dropped = shown.length < page.entries.length;
  const edge = dropped ? ((forward ? shown.at(-1) : shown[0])?.n ?? null) : page.rest;
  return {
    entries: shown,
    gaps: page.gaps,
    total: page.total,
    next_cursor: edge === null ? null : `${forward ? "after" : "before"}-${edge}`,
  };
}

/** One entry's text from a place in it on, over all its parts. */
async function entryPage(
  ctx: ToolContext,
  run: RunRecord,
  place: Extract<Place, { kind: "entry" }>,
  size: PageSize,
): Promise<TranscriptPage> {
  const page = await ctx.store.journal(run.run_id, { after: place.n - 1, limit: 1, continuations: true });
  const [entry] = page.entries;
  if (entry?.n !== place.n && page.gaps.length === 0) throw badCursor(`entry-${place.n}-${place.offset}`);
  if (entry === undefined || entry.n !== place.n) return { entries: [], gaps: page.gaps, total: page.total, next_cursor: null };
  const { text } = textOfEntry(entry);
  const from = Math.min(place.offset, text.length);
  const end = from + fitting(text.slice(from), size.room - size.overhead, size);
  const part = partOf(entry);
  const next =
    end < text.length ? `entry-${entry.n}-${end}` : part !== null && part.number < part.of ? `entry-${entry.n + 1}-0` : null;
  const view = { ...viewOf(entry, { from, end }), cut: null };
  return { entries: [view], gaps: [], total: page.total, next_cursor: next };
}

/** Cuts texts as far as it may, then leaves entries out at the far end of the page. */
function fitted(entries: readonly JournalEntry[], size: PageSize, forward: boolean, search: string | null): TranscriptEntry[] {
  for (let most = size.most; ; most = Math.max(size.least, Math.floor(most / 2))) {
    const views = entries.map((entry) => cutView(entry, most, size, search));
    const sizes = views.map((view) => size.overhead + size.cost(view.text) + size.cost(view.about ?? ""));
    if (sizes.reduce((sum, one) => sum + one, 0) <= size.room) return views;
    if (most > size.least) continue;
    return kept(views, sizes, size.room, forward);
  }
}

function kept(views: TranscriptEntry[], sizes: readonly number[], room: number, forward: boolean): TranscriptEntry[] {
  let left = room;
  const order = views.map((_, index) => (forward ? index : views.length - 1 - index));
  const fits = order.findIndex((index) => {
    left -= sizes[index] ?? 0;
    return left < 0;
  });
  // One at least: a page that shows nothing would never end.
  const count = Math.max(1, fits < 0 ? views.length : fits);
  return forward ? views.slice(0, count) : views.slice(-count);
}

/** The beginning of an entry, or what stands around the text that was searched for. */
function cutView(entry: JournalEntry, most: number, size: PageSize, search: string | null): TranscriptEntry {
  const { text } = textOfEntry(entry);
  const part = partOf(entry);
  const hit = search === null ? -1 : text.toLowerCase().indexOf(search.toLowerCase());
  const wanted = hit > most / 2 ? Math.max(0, hit - Math.floor(most / 4)) : 0;
  const from = isLowSurrogate(text.charCodeAt(wanted)) ? wanted + 1 : wanted;
  const end = from + fitting(text.slice(from), most, size);
  const whole = from === 0 && end === text.length && (part === null || part.of === 1);
  const rest = end < text.length ? `entry-${entry.n}-${from > 0 ? 0 : end}` : `entry-${entry.n}-0`;
  const view = viewOf(entry, { from, end });
  return { ...view, cut: whole ? null : { characters: part?.characters ?? text.length, rest } };
}

function viewOf(entry: JournalEntry, { from, end }: { readonly from: number; readonly end: number }): TranscriptEntry {
  const { text, about } = textOfEntry(entry);
  const shown = `${from > 0 ? "…" : ""}${text.slice(from, end)}${end < text.length ? "…" : ""}`;
  const { n, who, kind, iteration, at } = entry;
  return { n, who, kind, text: shown, iteration, at, about, cut: null };
}

/** How many characters of a text fit into a room, never half of one. */
function fitting(text: string, room: number, size: PageSize): number {
  if (text.length <= room && size.cost(text) <= room) return text.length;
  let low = 1;
  let high = Math.min(text.length, Math.max(1, room));
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (size.cost(text.slice(0, middle)) <= room) low = middle;
    else high = middle - 1;
  }
  return isLowSurrogate(text.charCodeAt(low)) && low > 1 ? low - 1 : low;
}

const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;

const CURSOR = /^(?:(start)|(before|after)-(\d{1,15})|entry-(\d{1,15})-(\d{1,9}))$/u;

function parseCursor(cursor: string | undefined): Place | null {
  if (cursor === undefined) return null;
  const [whole, start, direction, n, entry, offset] = CURSOR.exec(cursor) ?? [];
  if (whole === undefined) throw badCursor(cursor);
  if (start !== undefined) return { kind: "after", n: 0 };
  if (entry !== undefined) {
    if (Number(entry) < 1) throw badCursor(cursor);
    return { kind: "entry", n: Number(entry), offset: Number(offset) };
  }
  return { kind: direction === "after" ? "after" : "before", n: Number(n) };
}

function badCursor(cursor: string): LoopkeeperError {
  return new LoopkeeperError(
    "bad_input",
    `cursor "${cursor.slice(0, 40)}" is none of this run's transcript. Valid: next_cursor or cut.rest of an answer, start (the first entry on), before-N or after-N (N: number of an entry). Leave it out for the newest page.`,
  );
}
