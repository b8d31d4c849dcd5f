import type { z } from "zod";
import { shortId } from "../run/id.ts";
import type { statusOutput } from "../tools/run-status.ts";
import { hanging } from "./layout.ts";
import { attentionLines, doNext, factLines, headLines } from "./render-run.ts";
import { type Section, sections, type ViewContext } from "./view.ts";

type Status = z.output<typeof statusOutput>;

export function renderStatus(status: Status, ctx: ViewContext): string {
  const { run } = status;
  return [
    ...headLines(ctx, run),
    ...attentionLines(ctx, run),
    "",
    ...factLines(ctx, run),
    ...sections(ctx, [
      { title: "Plan (the agent's own)", lines: status.plan.flatMap((entry) => planLine(ctx, entry)) },
      { title: "Checks", lines: status.verify.flatMap((check) => checkLine(ctx, check)) },
      { title: "Warnings", lines: status.warnings.flatMap((text) => hanging("  ! ", text, ctx.screen)) },
      { title: "Last events", lines: status.last_events.slice(-5).flatMap((text) => hanging("  ", text, ctx.screen)) },
      takeOver(ctx, status),
      doNext(ctx, run, status.next_actions),
    ]),
  ].join("\n");
}

const MARKS = { pending: "[ ]", in_progress: "[>]", completed: "[x]" } as const;

function planLine(ctx: ViewContext, entry: Status["plan"][number]): readonly string[] {
  return hanging(`  ${MARKS[entry.status]} `, entry.content, ctx.screen);
}

function checkLine(ctx: ViewContext, check: Status["verify"][number]): readonly string[] {
  return check.exit_code === 0
    ? hanging(`  ${ctx.paint.good("passes")} `, check.command, ctx.screen)
    : hanging(
        `  ${ctx.paint.bad("fails")}  `,
        `${check.command} (exit ${check.exit_code ?? "none"}, iteration ${check.iteration})`,
        ctx.screen,
      );
}

function takeOver(ctx: ViewContext, { take_over: over, run }: Status): Section | null {
  if (over === null) return null;
  const commits = `${over.commits} ${over.commits === 1 ? "commit" : "commits"}`;
  return {
    title: `To take the work of ${shortId(run.run_id)} over (${commits}, ${over.uncommitted_files} uncommitted files):`,
    lines: over.commands.map((command) => `  ${ctx.paint.accent(command)}`),
  };
}
