import type { z } from "zod";
import type { explainOutput } from "../tools/run-explain-stop.ts";
import { hanging } from "./layout.ts";
import { attentionLines, doNext, factLines, headLines } from "./render-run.ts";
import { type Section, sections, type ViewContext } from "./view.ts";

type Explained = z.output<typeof explainOutput>;
type Explanation = Explained["explanation"];

/** Choices shown: what is offered, the recommended one first, and what is refused only when it is all there is. */
const SHOWN = 6;

/** Why it stopped, what is at stake and what to do, in this order: the last lines are what stays on the screen. */
export function renderExplain({ run, explanation, choices, put_away = [] }: Explained, ctx: ViewContext): string {
  const { cause } = explanation;
  const allowed = choices.filter((choice) => choice.allowed);
  const ordered = [...allowed.filter((choice) => choice.recommended), ...allowed.filter((choice) => !choice.recommended)];
  const refused = allowed.some((choice) => choice.action === "resume")
    ? null
    : choices.find((choice) => choice.action === "resume");
  return [
    ...headLines(ctx, run),
    ...attentionLines(ctx, run),
    "",
    ...factLines(ctx, run),
    ...hanging(
      `  ${ctx.paint.faint("evidence".padEnd(11))}`,
      `${cause.evidence} (${cause.stop_reason}, source: ${cause.source})`,
      ctx.screen,
    ),
    ...sections(ctx, [
      { title: "Completed", lines: items(ctx, explanation.completed) },
      { title: "Mid-way", lines: items(ctx, explanation.midway) },
      { title: "Still intended", lines: items(ctx, explanation.intended) },
      atStake(ctx, explanation),
      changedSince(ctx, explanation),
      { title: "Put away", lines: bullets(ctx, put_away) },
      { title: "Not covered", lines: bullets(ctx, explanation.context.gaps) },
      refused == null ? null : { title: "It cannot be resumed", lines: bullets(ctx, [refused.why]) },
      doNext(ctx, run, ordered.slice(0, SHOWN)),
    ]),
  ].join("\n");
}

/** What was observed stands plain; what only the agent says is its words, in quotes and with its name. */
function items(ctx: ViewContext, list: Explanation["completed"]): readonly string[] {
  return list.flatMap(({ what, source }) =>
    source === "observed"
      ? hanging(`  ${ctx.paint.good("*")} `, what, ctx.screen)
      : hanging(`  ${ctx.paint.faint("- agent says:")} `, `"${what.replaceAll('"', "'")}"`, ctx.screen),
  );
}

function bullets(ctx: ViewContext, list: readonly string[]): readonly string[] {
  return list.flatMap((text) => hanging("  * ", text, ctx.screen));
}

/** What could be lost, repeated by mistake or is already out in the world. */
function atStake(ctx: ViewContext, explanation: Explanation): Section {
  const { acts, uncommitted, undelivered_instructions: orders } = explanation;
  const more = uncommitted.total_files - Math.min(uncommitted.files.length, FILES);
  return {
    title: "At stake",
    lines: [
      ...acts.unobserved.flatMap((act) =>
        hanging(
          `  ${ctx.paint.warn("!")} `,
          `${act.kind} ${act.what}: begun, its end never seen - check before it is repeated`,
          ctx.screen,
        ),
      ),
      ...acts.landed.flatMap((act) =>
        hanging(
          "  * ",
          `${act.kind} ${act.ref ?? ""} ${act.what}: landed, a reset does not undo it elsewhere`.replaceAll("  ", " "),
          ctx.screen,
        ),
      ),
      ...(uncommitted.total_files === 0
        ? []
        : [
            ...hanging(
              "  * ",
              `${uncommitted.total_files} uncommitted ${uncommitted.total_files === 1 ? "file" : "files"} (+${uncommitted.added} -${uncommitted.removed}), saved in checkpoint ${uncommitted.checkpoint ?? "none"}:`,
              ctx.screen,
            ),
            ...uncommitted.files
              .slice(0, FILES)
              .flatMap((file) => hanging("      ", `${file.path} (${file.status}${OWNERS[file.owner]})`, ctx.screen)),
            ...(more > 0 ? [`      and ${more} more`] : []),
          ]),
      ...orders.flatMap((text) => hanging("  * ", `an instruction that it never got: "${text}"`, ctx.screen)),
      ...explanation.verify
        .filter((check) => check.exit_code !== 0)
        .flatMap((check) =>
          hanging(`  ${ctx.paint.bad("x")} `, `fails: ${check.command} (exit ${check.exit_code ?? "none"})`, ctx.screen),
        ),
      ...(explanation.context.engine_session === "lost"
        ? bullets(ctx, ["the agent's own conversation is lost: it goes on by hand-off, from a note"])
        : []),
    ],
  };
}

const FILES = 8;
const OWNERS = { this_run: "", other_run: ", of another run", unattributed: ", of unknown origin" } as const;

function changedSince(ctx: ViewContext, { drift }: Explanation): Section {
  return {
    title: "Changed since by others",
    lines: bullets(ctx, [
      ...drift.notes,
      ...drift.commits_by_others.map((commit) => `commit ${commit.sha.slice(0, 10)} by ${commit.author}: ${commit.subject}`),
      ...drift.files_changed.map((path) => `file: ${path}`),
    ]),
  };
}
