import { z } from "zod";
import { reclaimConsequences } from "../resume/reclaim-consequences.ts";
import { type ReclaimOutlook, reclaimOutlook } from "../resume/reclaim-outlook.ts";
import { refusalOf } from "../resume/refusals.ts";
import type { RunRecord } from "../run/run.ts";
import type { ToolContext } from "./context.ts";
import { defineView } from "./define-view.ts";
import { refuseIf } from "./guards.ts";
import { sessionsHere } from "./host-view.ts";
import { findRun } from "./present.ts";
import { consequencesSchema, runIdArgument } from "./schemas.ts";

export const reclaimPreviewOutput = z.object({
  run_id: z.string(),
  /** The one that was looked at: run_archive takes it as expected_revision. */
  revision: z.number().int(),
  archived: z.boolean(),
  /** Null: a removal was broken off, and what goes is known only when it is taken up again. */
  frees: z.boolean().nullable(),
  consequences: consequencesSchema,
  freed: z.array(z.string()),
  /** What stays, each with its reason; all of it when nothing is freed. */
  kept: z.array(z.string()),
  /** What keeps it goes away by itself soon: a process, or a lock of git's. */
  passing: z.boolean(),
  freed_bytes: z.number().int(),
  kept_bytes: z.number().int(),
});
export type ReclaimPreview = z.output<typeof reclaimPreviewOutput>;

export const viewReclaimPreview = defineView({
  name: "reclaim_preview",
  title: "What freeing a run's workspace would do",
  description:
    "What run_archive with reclaim would free and keep now, by the rule that carries it out, with bytes. Looks at the repository and changes nothing.",
  input: z.strictObject({ run_id: runIdArgument }),
  output: reclaimPreviewOutput,
  read: async ({ run_id }, ctx) => {
    const run = await findRun(ctx, run_id);
    refuseIf(refusalOf("archive", run));
    const outlook = await outlookOf(ctx, run);
    const { done, broken_off, freed, kept, ...rest } = outlook;
    return {
      run_id,
      revision: run.revision,
      archived: run.archived_at !== null,
      frees: broken_off ? null : done && run.reclaimed_at === null,
      consequences: await reclaimConsequences(ctx, run, outlook),
      freed: [...freed],
      kept: [...kept],
      ...rest,
    };
  },
});

/** What was freed before is not freed again. */
async function outlookOf(ctx: ToolContext, run: RunRecord): Promise<ReclaimOutlook> {
  if (run.reclaimed_at === null) return reclaimOutlook({ ...ctx, sessions: sessionsHere(ctx) }, run);
  return { freed: [], kept: [], done: false, passing: false, broken_off: false, freed_bytes: 0, kept_bytes: 0 };
}
