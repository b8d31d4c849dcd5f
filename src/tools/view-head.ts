import { z } from "zod";
import { groupOfRun, RUN_GROUPS } from "../run/group.ts";
import { defineView } from "./define-view.ts";
import { offerSchema, offersOf } from "./offer.ts";
import { findRun, gateFacts, runView } from "./present.ts";
import { takeOver, takeOverSchema } from "./run-status.ts";
import { runIdArgument, runViewSchema, verifySchema } from "./schemas.ts";

const output = z.object({
  run: runViewSchema,
  group: z.enum(RUN_GROUPS),
  /** Whole, where `run.objective` is cut. */
  objective: z.string(),
  actions: z.array(offerSchema),
  verify: z.array(verifySchema),
  take_over: takeOverSchema,
  stop_request: z.object({ mode: z.enum(["now", "after_iteration"]), why: z.string().nullable(), at: z.string() }).nullable(),
  undelivered: z.array(z.object({ kind: z.enum(["instructions", "updates", "permission"]), text: z.string(), at: z.string() })),
  /** Set while a reset to the start stands: the checkpoint that brings the work back. */
  was_reset: z.string().nullable(),
});
export type Head = z.infer<typeof output>;

export const headView = defineView({
  name: "head",
  title: "The head of a run's page",
  description:
    "A run, what may be done with it, its checks, and what waits to be delivered. Looks at no repository, so it is quick.",
  input: z.strictObject({ run_id: runIdArgument }),
  output,
  read: async ({ run_id }, ctx) => {
    const run = await findRun(ctx, run_id);
    const facts = await gateFacts(ctx, run);
    const [view, verify, take_over] = await Promise.all([
      runView(ctx, facts),
      ctx.store.lastVerify(run.run_id),
      takeOver(ctx, run),
    ]);
    return {
      run: view,
      group: groupOfRun(run),
      objective: run.objective,
      actions: offersOf(facts, ctx.caller.audience),
      verify: [...verify],
      take_over,
      stop_request: run.stop_request,
      undelivered: facts.undelivered.map(({ kind, text, at }) => ({ kind, text, at })),
      was_reset: run.was_reset,
    };
  },
});
