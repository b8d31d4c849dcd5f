import type { z } from "zod";
import { shortId } from "../run/id.ts";
import type { redoOutput } from "../tools/run-redo.ts";
import type { resetOutput } from "../tools/run-reset.ts";
import type { consequencesSchema } from "../tools/schemas.ts";
import type { ReclaimPreview } from "../tools/view-reclaim-preview.ts";
import { hanging } from "./layout.ts";
import { doNext } from "./render-run.ts";
import { sections, type ViewContext } from "./view.ts";

/** What a reset or a redo would do, and what it did. */
export type Restoring = z.output<typeof resetOutput> | z.output<typeof redoOutput>;

type Consequences = z.output<typeof consequencesSchema>;

export function renderPreview(answer: Restoring, ctx: ViewContext): string {
  const { consequences, preview_again: again } = answer;
  return [
    ...(again == null
      ? []
      : hanging(
          "",
          ctx.paint.warn(
            `The token was not used: ${again === "expired" ? "it expired" : "something changed since"}. This is how it is now.`,
          ),
          ctx.screen,
        )),
    ...hanging("", answer.summary, ctx.screen),
    ...(consequences === undefined ? [] : consequenceLines(consequences, ctx)),
  ].join("\n");
}

/** What freeing a run's workspace would do; what has to stay as a whole stands with its reasons. */
export function renderReclaimPreview({ frees, consequences, kept }: ReclaimPreview, ctx: ViewContext): string {
  const why = frees === true ? null : { title: "Why it stays", lines: bullets(kept, ctx) };
  return [...consequenceLines(consequences, ctx).slice(1), ...sections(ctx, [why])].join("\n");
}

function consequenceLines(consequences: Consequences, ctx: ViewContext): readonly string[] {
  const { happens, undoes, cannot_undo, conflicts } = consequences;
  return sections(ctx, [
    { title: "What happens", lines: bullets(happens, ctx) },
    { title: "What it undoes", lines: bullets(undoes, ctx) },
    { title: "What it cannot undo", lines: bullets(cannot_undo, ctx) },
    {
      title: "Left alone, because others changed it since (--overwrite PATH takes it back all the same)",
      lines: bullets(
        conflicts.map((one) => `${one.path}: changed by ${one.changed_by}`),
        ctx,
      ),
    },
  ]);
}

function bullets(list: readonly string[], ctx: ViewContext): readonly string[] {
  return list.flatMap((text) => hanging("  * ", text, ctx.screen));
}

export function renderRestored(answer: Restoring, ctx: ViewContext): string {
  const { reset } = answer;
  const lines = (list: readonly string[]): readonly string[] => list.flatMap((text) => hanging("  ", text, ctx.screen));
  const restarted = "restarted_run_id" in answer ? answer.restarted_run_id : null;
  return [
    ...hanging("", ctx.paint.strong(answer.summary), ctx.screen),
    ...sections(ctx, [
      { title: "Restored", lines: lines(reset?.restored ?? []) },
      { title: "Removed", lines: lines(reset?.removed ?? []) },
      { title: "Kept as others left it", lines: lines(reset?.kept ?? []) },
      reset === undefined
        ? null
        : {
            title: "To undo this:",
            lines: [`  ${ctx.paint.accent(`loopkeeper reset ${shortId(answer.run.run_id)} --to ${reset.safety_checkpoint}`)}`],
          },
      restarted == null
        ? null
        : { title: "Started anew:", lines: [`  ${ctx.paint.accent(`loopkeeper wait ${shortId(restarted)}`)}`] },
      restarted == null ? doNext(ctx, answer.run, answer.next_actions.slice(0, 3)) : null,
    ]),
  ].join("\n");
}
