import { shortId } from "../run/id.ts";
import { shellQuoted } from "../run/shell-quoted.ts";
import type { RunView } from "../tools/schemas.ts";
import { instant, relative } from "./ages.ts";
import { hanging, widthOf } from "./layout.ts";
import type { Section, ViewContext } from "./view.ts";
import { commandLineFor } from "./words.ts";

/** The state in a word or two, e.g. `stopped · max_iterations`. The owner's own stop is no reason to tell: just `stopped`. */
export function stateText(run: {
  readonly state: string;
  readonly stop_reason: string | null;
  readonly waiting_until?: string | null;
}): string {
  const waits = run.waiting_until == null ? "" : " (waits)";
  if (run.state !== "stopped" || run.stop_reason === null || run.stop_reason === "cancelled") return `${run.state}${waits}`;
  return `${run.state} · ${run.stop_reason}${waits}`;
}

export function stateStyle(
  ctx: ViewContext,
  run: { readonly state: string; readonly stop_reason: string | null },
): (text: string) => string {
  const { paint } = ctx;
  if (run.state === "done") return paint.good;
  if (run.state !== "stopped") return paint.accent;
  return run.stop_reason === "failed" ? paint.bad : run.stop_reason === "cancelled" ? paint.faint : paint.warn;
}

/** A short id and the gap behind it. */
const ID_COLUMNS = 10;

/** Who it is and how it stands, in two to four lines: the part that is read first. */
export function headLines(ctx: ViewContext, run: RunView): readonly string[] {
  const { paint, screen } = ctx;
  const state = stateStyle(ctx, run)(paint.strong(stateText(run)));
  const since = run.stopped_at ?? run.started_at ?? run.created_at;
  const when = `${run.stopped_at === null ? (run.started_at === null ? "created" : "started") : run.state === "done" ? "done" : "stopped"} ${relative(since, run.now)}`;
  const room = screen.columns === null || ID_COLUMNS + widthOf(`${stateText(run)}  ${when}`) <= screen.columns;
  return [
    `${paint.strong(shortId(run.run_id))}  ${state}${room ? `  ${paint.faint(when)}` : ""}`,
    ...(room ? [] : [`${" ".repeat(ID_COLUMNS)}${paint.faint(when)}`]),
    ...(run.stop === null ? [] : hanging("", run.stop.headline, screen).map(paint.strong)),
    ...hanging(paint.faint("for  "), firstLines(run.objective), screen),
  ];
}

/** An objective can be pages long: here it only has to be recognised. */
function firstLines(text: string): string {
  const flat = text.replaceAll(/\s+/gu, " ").trim();
  return flat.length <= 200 ? flat : `${flat.slice(0, 199)}…`;
}

/** Facts about the run, a line each. */
export function factLines(ctx: ViewContext, run: RunView): readonly string[] {
  const { paint, screen } = ctx;
  const fact = (name: string, text: string): readonly string[] => hanging(`  ${paint.faint(name.padEnd(11))}`, text, screen);
  const { usage } = run;
  const cost = usage.cost_usd === null ? "" : `, ${usage.cost_usd.toFixed(2)} USD`;
  const tokens = usage.input_tokens + usage.output_tokens;
  return [
    ...fact(
      "iterations",
      `${run.iteration} of ${run.max_iterations}, ${usage.minutes} min${tokens === 0 ? "" : `, ${tokens} tokens`}${cost}`,
    ),
    ...fact("repository", `${run.repository.path}${run.repository.branch === null ? "" : ` (${run.repository.branch})`}`),
    ...fact(run.workspace.kind === "worktree" ? "worktree" : "in place", run.workspace.path),
    ...fact("agent", `${run.agent.name}${run.agent.model === null ? "" : ` ${run.agent.model}`}, permissions ${run.permissions}`),
    ...(run.budget === null
      ? []
      : fact(
          "budget",
          Object.entries(run.budget)
            .map(([name, value]) => `${name} ${String(value)}`)
            .join(", "),
        )),
    ...(run.auto_resume === null
      ? []
      : fact(
          "by itself",
          `${run.auto_resume.used} of ${run.auto_resume.times} times used, after ${run.auto_resume.reasons.join(", ")}`,
        )),
    ...(run.steps.length < 2 ? [] : fact("steps", run.steps.map((step) => `${step.step} ${step.state}`).join(", "))),
    ...(run.idle_s === null ? [] : fact("progress", `${run.idle_s} s ago`)),
    ...(run.queued_because === null ? [] : fact("queued", run.queued_because)),
    ...(run.archived_at === null ? [] : fact("archived", instant(run.archived_at))),
    ...(run.reclaimed_at === null ? [] : fact("freed", instant(run.reclaimed_at))),
  ];
}

/** What a person has to know or do before anything else: the question, the login, the wait. */
export function attentionLines(ctx: ViewContext, run: RunView): readonly string[] {
  const { paint, screen } = ctx;
  const lines: string[] = [];
  const { stop } = run;
  if (stop?.question != null) {
    const asked = stop.question.kind === "permission" ? "It wants leave:" : "It asks:";
    lines.push("", paint.warn(asked), ...hanging("  ", stop.question.text, screen));
    if (stop.question.command !== null) lines.push(...hanging("  $ ", stop.question.command, screen));
  }
  if (stop?.person_must != null) lines.push("", ...hanging(paint.warn("First: "), stop.person_must, screen));
  if (run.waiting_until !== null)
    lines.push(
      "",
      ...hanging("", `It goes on by itself at ${instant(run.waiting_until)} (${relative(run.waiting_until, run.now)}).`, screen),
    );
  else if (stop?.resets_at != null)
    lines.push(
      "",
      ...hanging("", `The usage window resets at ${instant(stop.resets_at)} (${relative(stop.resets_at, run.now)}).`, screen),
    );
  if (stop !== null && stop.same_stop_in_a_row > 2)
    lines.push("", `It stopped like this ${stop.same_stop_in_a_row} times in a row.`);
  return lines;
}

export interface Offer {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly needs: readonly string[];
  readonly why: string;
  readonly recommended?: boolean;
}

/** "Do next:" with lines that can be copied as they stand. */
export function doNext(ctx: ViewContext, run: RunView, offers: readonly Offer[]): Section | null {
  const { paint, screen } = ctx;
  const lines = offers.flatMap((offer) => {
    const line = commandLineFor(ctx.commands, offer.tool, offer.args, offer.needs);
    if (line === null) return [];
    const whole = offer.needs.includes("budget") ? line.replace("minutes=60", shellQuoted(higherBudget(run))) : line;
    const mark = offer.recommended === true ? paint.good("> ") : "  ";
    // Never wrapped: a line that is to be copied must come out as one.
    return [
      `${mark}${paint.accent(whole)}`,
      ...hanging("      ", `${offer.recommended === true ? "recommended: " : ""}${offer.why}`, screen).map(paint.faint),
    ];
  });
  return lines.length === 0 ? null : { title: "Do next:", lines };
}

/** Twice of every cap: a budget that was reached has to be raised, and the person sees by how much. */
function higherBudget(run: RunView): string {
  const pairs = Object.entries(run.budget ?? {}).map(([name, value]) => `${name}=${Number(value) * 2}`);
  return pairs.length === 0 ? "minutes=60" : pairs.join(",");
}
