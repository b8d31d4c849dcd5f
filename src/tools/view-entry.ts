import { z } from "zod";
import { partOf, wholeEnd } from "../run/entry-part.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { defineView } from "./define-view.ts";
import { findRun } from "./present.ts";
import { runIdArgument } from "./schemas.ts";
import { textOfEntry } from "./transcript-entry.ts";

/** Characters of one answer: about what a person reads on at once. */
const CHARACTERS = 64_000;

const output = z.object({
  n: z.number().int(),
  text: z.string(),
  /** Length of the whole text, over all its parts. */
  characters: z.number().int(),
  /** Where it goes on: the entry that holds the next part, and a place in it. Null at the end. */
  next: z.object({ n: z.number().int(), offset: z.number().int() }).nullable(),
});
export type EntryText = z.output<typeof output>;

export const viewEntry = defineView({
  name: "entry",
  title: "The text of one entry",
  description: "One entry's text from a place in it on; next names the place after it, over all parts of a long text.",
  input: z.strictObject({
    run_id: runIdArgument,
    n: z.number().int().min(1).describe("Number of the entry."),
    offset: z.number().int().min(0).optional().describe("Characters of it to leave out; default 0."),
  }),
  output,
  read: async ({ run_id, n, offset = 0 }, ctx) => {
    await findRun(ctx, run_id);
    const page = await ctx.store.journal(run_id, { after: n - 1, before: n + 1, limit: 1, continuations: true });
    const [entry] = page.entries;
    if (entry === undefined || entry.n !== n)
      throw new LoopkeeperError(
        "bad_input",
        `there is no entry ${n} that can be read${page.gaps.length > 0 ? ` (${page.gaps[0]})` : ""}; the run has ${page.total}.`,
      );
    const { text } = textOfEntry(entry);
    const part = partOf(entry);
    const end = wholeEnd(text, offset + CHARACTERS);
    const more = part !== null && part.number < part.of ? { n: n + 1, offset: 0 } : null;
    return {
      n,
      text: text.slice(offset, end),
      characters: part?.characters ?? text.length,
      next: end < text.length ? { n, offset: end } : more,
    };
  },
});
