import { z } from "zod";
import { defineView } from "./define-view.ts";
import { findRun } from "./present.ts";
import { runIdArgument } from "./schemas.ts";

const output = z.object({
  total: z.number().int(),
  /** Where each iteration's entries lie; neighbours may overlap, since places are known to a chunk. In order of `first_n`. */
  iterations: z.array(z.object({ iteration: z.number().int(), first_n: z.number().int(), last_n: z.number().int() })),
});
export type EntryIndex = z.output<typeof output>;

export const viewEntryIndex = defineView({
  name: "entry_index",
  title: "Where iterations lie in a transcript",
  description: "How many entries a run's transcript has, and between which of them each iteration lies.",
  input: z.strictObject({ run_id: runIdArgument }),
  output,
  read: async ({ run_id }, ctx) => {
    await findRun(ctx, run_id);
    const [iterations, newest] = await Promise.all([
      ctx.store.journalIndex(run_id),
      ctx.store.journal(run_id, { limit: 1, continuations: true }),
    ]);
    return { total: newest.total, iterations: [...iterations] };
  },
});
