import { z } from "zod";
import { msOf } from "../run/clock.ts";
import { isLive, type PlanEntry } from "../run/run.ts";
import type { ToolContext } from "./context.ts";
import { defineView } from "./define-view.ts";
import { findRun } from "./present.ts";
import { planSchema, runIdArgument } from "./schemas.ts";

const MOST = 2_000;
/** Entries looked at for what a live iteration says of its plan by now. */
const NEWEST_ENTRIES = 500;
const STATUSES = ["pending", "in_progress", "completed"] as const;

const output = z.object({
  /** Every item that any plan had, in order of its first appearance. */
  items: z.array(z.string()),
  /** Each plan that differed from the one before, at the end of its iteration; oldest first. */
  plans: z.array(
    z.object({
      iteration: z.number().int(),
      step: z.string(),
      at_ms: z.number(),
      /** Place in `items`, and status: 0 pending, 1 in progress, 2 completed. */
      entries: z.array(z.tuple([z.number().int(), z.number().int()])),
    }),
  ),
  present: planSchema,
  /** The entry of the transcript that holds it, where it is newer than the last iteration's end. */
  present_n: z.number().int().nullable(),
});
export type PlanHistory = z.output<typeof output>;

const changeSchema = z.looseObject({ iteration: z.number(), step: z.string(), entries: planSchema });

export const viewPlans = defineView({
  name: "plans",
  title: "How a run's plan moved",
  description: "The agent's own to-do list as it was at the end of each iteration that changed it, and as it is now.",
  input: z.strictObject({ run_id: runIdArgument }),
  output,
  read: async ({ run_id }, ctx) => {
    const run = await findRun(ctx, run_id);
    const events = await ctx.store.events(run_id, { types: ["plan_changed"], limit: MOST });
    const items = new Map<string, number>();
    const placeOf = (content: string): number => {
      const place = items.get(content) ?? items.size;
      items.set(content, place);
      return place;
    };
    const plans = events.flatMap(({ at, data }) => {
      const told = changeSchema.safeParse(data);
      if (!told.success) return [];
      const { iteration, step, entries } = told.data;
      const cells = entries.map((entry): [number, number] => [placeOf(entry.content), STATUSES.indexOf(entry.status)]);
      return [{ iteration, step, at_ms: msOf(at), entries: cells }];
    });
    const newer = isLive(run.state) ? await toldSince(ctx, run_id, run.iteration + 1) : null;
    return {
      items: [...items.keys()],
      plans,
      present: [...(newer?.plan ?? run.plan)],
      present_n: newer?.n ?? null,
    };
  },
});

const entriesSchema = z.looseObject({ entries: planSchema });

/** The plan of an iteration that has not ended yet, out of its newest entries. */
async function toldSince(
  ctx: ToolContext,
  runId: string,
  iteration: number,
): Promise<{ readonly plan: readonly PlanEntry[]; readonly n: number } | null> {
  const { entries } = await ctx.store.journal(runId, { iteration, limit: NEWEST_ENTRIES });
  const last = entries.findLast((entry) => entry.kind === "plan");
  const told = entriesSchema.safeParse(last?.data);
  return last === undefined || !told.success ? null : { plan: told.data.entries, n: last.n };
}
