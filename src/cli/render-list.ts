import type { z } from "zod";
import { shortId } from "../run/id.ts";
import { needForPeople } from "../run/stop-reason.ts";
import type { listOutput } from "../tools/run-list.ts";
import { age, relative } from "./ages.ts";
import { cutTo } from "./layout.ts";
import { stateStyle, stateText } from "./render-run.ts";
import { type Cell, type Column, table } from "./table.ts";
import type { ViewContext } from "./view.ts";

type List = z.output<typeof listOutput>;
type Row = List["runs"][number];

/** Most agents do not say what they cost: then there is no such column. */
const COST: Column = { title: "COST", least: null, align: "right", drop: 5 };
const COLUMNS: readonly Column[] = [
  { title: "RUN", least: null, drop: null },
  { title: "STATE", least: null, drop: null },
  { title: "AGE", least: null, align: "right", drop: 3 },
  { title: "ITER", least: null, align: "right", drop: 2 },
  COST,
  { title: "OBJECTIVE", least: 16, drop: null },
  { title: "NEEDS", least: 12, drop: 4 },
];

/** Below this a table would show three letters of everything: each run gets lines of its own. */
const NARROW = 64;

export function renderList(list: List, ctx: ViewContext): string {
  const { columns } = ctx.screen;
  if (list.runs.length === 0)
    return list.total === 0 ? `No runs. Start one with: loopkeeper start "what it is to reach"` : "No runs on this page.";
  const body =
    columns !== null && columns < NARROW ? list.runs.flatMap((run) => stacked(run, list.now, ctx, columns)) : rows(list, ctx);
  const states = Object.entries(list.by_state).filter(([, count]) => count > 0);
  const left = list.next_cursor === null ? [] : [`More: loopkeeper list --cursor ${list.next_cursor}`];
  const total = `${list.total} ${list.total === 1 ? "run" : "runs"}: ${states.map(([state, count]) => `${count} ${state}`).join(", ")}`;
  return [...body, "", ctx.paint.faint(total), ...left].join("\n");
}

function rows(list: List, ctx: ViewContext): readonly string[] {
  const cells = list.runs.map((run): readonly Cell[] => [
    { text: shortId(run.run_id), style: ctx.paint.strong },
    { text: stateText(run).replace(" · ", "·"), style: stateStyle(ctx, run) },
    { text: age(run.changed_at, list.now) },
    { text: `${run.iteration}/${run.max_iterations}` },
    { text: run.cost_usd === null ? "" : `$${run.cost_usd.toFixed(2)}` },
    { text: oneLine(run.objective) },
    { text: needsText(run, list.now), style: ctx.paint.warn },
  ]);
  const columns = list.runs.some((run) => run.cost_usd !== null) ? COLUMNS : COLUMNS.filter((column) => column !== COST);
  const shown = columns === COLUMNS ? cells : cells.map((row) => row.toSpliced(COLUMNS.indexOf(COST), 1));
  return table(columns, shown, ctx.screen.columns, ctx.paint.faint);
}

function stacked(run: Row, now: string, ctx: ViewContext, columns: number): readonly string[] {
  const needs = needsText(run, now);
  const first = `${stateText(run)} ${run.iteration}/${run.max_iterations} ${age(run.changed_at, now)}`;
  return [
    `${ctx.paint.strong(shortId(run.run_id))} ${stateStyle(ctx, run)(cutTo(first, columns - 9))}`,
    `  ${cutTo(oneLine(run.objective), columns - 2)}`,
    ...(needs === "" ? [] : [`  ${ctx.paint.warn(cutTo(needs, columns - 2))}`]),
  ];
}

const oneLine = (text: string): string => text.replaceAll(/\s+/gu, " ").trim();

/** What a person would have to give or do; empty where nothing waits for anybody. */
function needsText(run: Row, now: string): string {
  if (run.waiting_until !== null) return `goes on ${relative(run.waiting_until, now)}`;
  const { stop } = run;
  if (stop === null || run.state !== "stopped") return "";
  if (stop.question !== null)
    return `${stop.question.kind === "permission" ? "leave" : "an answer"}: ${oneLine(stop.question.command ?? stop.question.text)}`;
  const parts = [...(stop.person_must === null ? [] : [stop.person_must]), ...stop.needs.map(needForPeople)];
  if (parts.length > 0) return oneLine(parts.join("; "));
  if (stop.resets_at !== null && stop.resets_at > now) return `window resets ${relative(stop.resets_at, now)}`;
  return run.resumable ? "resume" : "";
}
