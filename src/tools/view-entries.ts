import { z } from "zod";
import { PART_OVERLAP, partOf } from "../run/entry-part.ts";
import { JOURNAL_KINDS, type JournalEntry } from "../run/event.ts";
import type { JournalQuery } from "../store/store.ts";
import type { ToolContext } from "./context.ts";
import { defineView } from "./define-view.ts";
import { findRun } from "./present.ts";
import { runIdArgument } from "./schemas.ts";
import { textOfEntry } from "./transcript-entry.ts";

/** Entries of one answer, characters of one text in it, and of one text that a search found. */
const MOST_ENTRIES = 500;
const TEXT_CHARACTERS = 4_000;
const HIT_CHARACTERS = 240;

const reportSchema = z.object({
  completed: z.array(z.string()),
  midway: z.string().nullable(),
  intended: z.array(z.string()),
  verdict: z.string().nullable(),
  question: z.string().nullable(),
  summary: z.string().nullable(),
});

const entrySchema = z.object({
  n: z.number().int(),
  who: z.enum(["loop", "agent", "tool", "owner"]),
  kind: z.enum(JOURNAL_KINDS),
  iteration: z.number().int(),
  at: z.string(),
  /** Its beginning, or what stands around the text that was searched for. */
  text: z.string(),
  /** Length of the whole text; `entry` reads it on where `text` is shorter. */
  characters: z.number().int(),
  about: z.string().nullable(),
  /** Of a tool's call or output. */
  call: z
    .object({
      id: z.string(),
      kind: z.string().nullable(),
      status: z.string().nullable(),
      title: z.string(),
      paths: z.array(z.string()),
    })
    .nullable(),
  /** Of a report: what the agent told. */
  report: reportSchema.nullable(),
});
export type EntryView = z.output<typeof entrySchema>;

const output = z.object({
  entries: z.array(entrySchema),
  /** Entries of the run, or of the one iteration asked for. */
  total: z.number().int(),
  gaps: z.array(z.string()),
  /** Where the next page goes on: as `from` when it was read forwards, else as `before`. Null at the end. */
  rest: z.number().int().nullable(),
});
export type EntryPage = z.output<typeof output>;

const place = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional();

export const viewEntries = defineView({
  name: "entries",
  title: "Entries of a run's transcript",
  description:
    "What was said and done, as records in order of n: from an entry on, or the newest before one. Long texts are cut; later parts of one text are left out and found with entry.",
  input: z.strictObject({
    run_id: runIdArgument,
    from: place.describe("Entries from this n on, oldest first."),
    before: place.describe("Entries below this n; without from the newest of them."),
    iteration: z.number().int().min(0).optional().describe("Only entries of this iteration."),
    search: z.string().min(1).max(PART_OVERLAP).optional().describe("Only entries that hold this text, whatever its case."),
    limit: z.number().int().min(1).max(MOST_ENTRIES).optional().describe(`Entries at most, 1 to ${MOST_ENTRIES}; default 100.`),
  }),
  output,
  read: async ({ run_id, from, limit = 100, ...query }, ctx) => {
    await findRun(ctx, run_id);
    const wanted = {
      ...(query.before === undefined ? {} : { before: query.before }),
      ...(query.iteration === undefined ? {} : { iteration: query.iteration }),
      ...(query.search === undefined ? {} : { search: query.search }),
    };
    return readPage(ctx, run_id, { from, limit, wanted });
  },
});

/** A page of very long texts comes out of the store in several: only their beginnings are kept. */
async function readPage(
  ctx: ToolContext,
  runId: string,
  { from, limit, wanted }: { from: number | undefined; limit: number; wanted: Omit<JournalQuery, "limit" | "after"> },
): Promise<EntryPage> {
  const entries: EntryView[] = [];
  const gaps: string[] = [];
  const forwards = from !== undefined;
  /** Where the next reading goes on, as the store counts: nothing at or beyond it was read. */
  let edge: { readonly after?: number; readonly before?: number } = forwards ? { after: from - 1 } : {};
  for (;;) {
    const page = await ctx.store.journal(runId, { ...wanted, ...edge, limit: limit - entries.length });
    const views = page.entries.map((entry) => entryView(entry, wanted.search));
    if (forwards) entries.push(...views);
    else entries.unshift(...views);
    gaps.push(...page.gaps);
    const { rest, total } = page;
    if (wanted.search !== undefined || rest === null || entries.length >= limit)
      return { entries, total, gaps: gaps.slice(0, 50), rest: rest !== null && forwards ? rest + 1 : rest };
    edge = forwards ? { after: rest } : { before: rest };
  }
}

const callSchema = z.looseObject({
  id: z.string(),
  title: z.string().catch("a tool call"),
  kind: z.string().nullable().catch(null),
  status: z.string().nullable().catch(null),
  paths: z.array(z.string()).catch([]),
});

const usageSchema = z.looseObject({
  used: z.number(),
  size: z.number(),
  cost: z.looseObject({ amount: z.number(), currency: z.string().optional() }).nullish(),
});

/** What an engine says of its context, in words where it says it as most do. */
function usageText(entry: JournalEntry): string | null {
  const told = usageSchema.safeParse(entry.data);
  if (entry.kind !== "usage" || !told.success) return null;
  const { used, size, cost } = told.data;
  const money = cost == null ? "" : `; the session cost ${Number(cost.amount.toFixed(4))} ${cost.currency ?? "USD"} so far`;
  return `${used.toLocaleString("en")} of ${size.toLocaleString("en")} tokens of context used${money}`;
}

function entryView(entry: JournalEntry, search: string | undefined): EntryView {
  const { text: plain, about } = textOfEntry(entry);
  const text = usageText(entry) ?? plain;
  const call = entry.kind === "tool_call" || entry.kind === "tool_result" ? callSchema.safeParse(entry.data).data : undefined;
  const { n, who, kind, iteration, at } = entry;
  return {
    n,
    who,
    kind,
    iteration,
    at,
    text: search === undefined ? beginning(text) : around(text, search),
    characters: partOf(entry)?.characters ?? text.length,
    about,
    call:
      call === undefined
        ? null
        : { id: call.id, kind: call.kind, status: call.status, title: call.title, paths: call.paths.slice(0, 20) },
    report: entry.kind === "report" ? (reportSchema.safeParse(entry.data).data ?? null) : null,
  };
}

function beginning(text: string): string {
  return whole(text.slice(0, TEXT_CHARACTERS));
}

function around(text: string, search: string): string {
  const hit = Math.max(0, text.toLowerCase().indexOf(search.toLowerCase()));
  const from = Math.max(0, hit - Math.floor(HIT_CHARACTERS / 3));
  const end = from + HIT_CHARACTERS;
  return `${from > 0 ? "…" : ""}${whole(text.slice(from, end))}${end < text.length ? "…" : ""}`;
}

/** A cut never leaves half a character. */
const whole = (text: string): string => text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/gu, "");
