import { Link } from "react-router";
import { withLocalTimes } from "../../../ui/clock.ts";
import { duration, instant, many, money, timeOfDay, tokens } from "../format.ts";
import { BARS, outcomeOf, Sign } from "./outcome.tsx";
import type { Act, Mark, Row } from "./rows.ts";

const FROM = { start: "from the start", stop: "from where it stopped", entry: "from the step's entry" } as const;

export function GroupRow({ row, rowIndex }: { readonly row: Extract<Row, { kind: "group" }>; readonly rowIndex: number }) {
  const { step, attempt, opened } = row;
  const name = step === undefined || step.step === "main" ? "The run" : (step.title ?? step.step);
  return (
    <tr aria-rowindex={rowIndex} className="h-[38px]">
      <th scope="rowgroup" colSpan={3} className="truncate border-b border-line bg-ground px-3 pt-2 text-left font-normal">
        <span className="font-medium">{name}</span>
        <span className="text-soft">
          {(attempt > 1 || opened?.started_from !== "start") && (
            <>
              {" "}
              · attempt {attempt}
              {opened !== undefined && ` ${FROM[opened.started_from]}`}
            </>
          )}{" "}
          · {many(row.iterations, "iteration")} · {duration(row.time_ms)}
          {row.cost_usd !== null && <> · {money(row.cost_usd)}</>}
        </span>
      </th>
      <Rest line="border-line" />
    </tr>
  );
}

/** The columns that a phone has no room for: a cell over all five would bring them back. */
function Rest({ line }: { readonly line: string }) {
  return <td colSpan={2} className={`border-b max-sm:hidden ${line}`} />;
}

const MARKS: Record<Mark["kind"], { readonly sign: string; readonly ink: string }> = {
  grant: { sign: "+", ink: "text-accent" },
  resume: { sign: "▸", ink: "text-accent" },
  stop: { sign: "■", ink: "text-needs" },
  done: { sign: "✓", ink: "text-good" },
  reset: { sign: "↺", ink: "text-bad" },
  redo: { sign: "↻", ink: "text-needs" },
  instructions: { sign: "✎", ink: "text-accent" },
  scheduled: { sign: "◷", ink: "text-soft" },
  driver_lost: { sign: "✕", ink: "text-bad" },
  compaction: { sign: "≋", ink: "text-soft" },
};

export const signOf = (kind: Mark["kind"]): string => MARKS[kind].sign;

export function MarkRow({ mark, rowIndex }: { readonly mark: Mark; readonly rowIndex: number }) {
  const { sign, ink } = MARKS[mark.kind];
  return (
    <tr aria-rowindex={rowIndex} className="h-[28px]">
      <td className={`border-b border-line/60 pl-3 ${ink}`} aria-hidden="true">
        {sign}
      </td>
      <td colSpan={2} className="truncate border-b border-line/60 px-2 text-soft">
        <span className="text-ink">{withLocalTimes(mark.what)}</span>{" "}
        <time title={instant(mark.at_ms)} className="text-xs">
          {timeOfDay(mark.at_ms)}
        </time>
      </td>
      <Rest line="border-line/60" />
    </tr>
  );
}

export function IterationRow({
  row,
  rowIndex,
  runId,
  now,
  full,
}: {
  readonly row: Extract<Row, { kind: "iteration" }>;
  readonly rowIndex: number;
  readonly runId: string;
  readonly now: number;
  /** Milliseconds that fill the whole track. */
  readonly full: number;
}) {
  const { iteration, acts } = row;
  const outcome = outcomeOf(iteration);
  const time = (iteration.ended_ms ?? now) - iteration.started_ms;
  const cell = "border-b border-line/60 px-2";
  return (
    <tr aria-rowindex={rowIndex} className="group relative h-[32px] hover:bg-raised">
      <th scope="row" className={`${cell} pl-3 text-left font-normal`}>
        <Link
          to={`/runs/${runId}/transcript?iteration=${iteration.n}`}
          title={`${instant(iteration.started_ms)}: open in the transcript`}
          className="text-accent group-hover:underline"
        >
          {iteration.n}
        </Link>
      </th>
      <td className={cell}>
        <span className="flex items-center gap-2">
          <Sign tone={outcome.tone} />
          <span className="relative h-2.5 min-w-12 flex-1 rounded-sm bg-raised group-hover:bg-line" aria-hidden="true">
            <span
              className={`absolute inset-y-0 left-0 rounded-sm ${BARS[outcome.tone]} ${outcome.tone === "busy" ? "opacity-60" : ""}`}
              style={{ width: `${Math.max(1, Math.min(100, (time / full) * 100))}%` }}
            />
            {time > full && <span className="absolute inset-y-0 right-1 w-0.5 bg-ground" />}
          </span>
          <span className="w-[5.5rem] whitespace-nowrap text-right text-xs">{duration(time)}</span>
        </span>
      </td>
      <td className={`${cell} truncate max-sm:hidden`}>
        <span className="sr-only">{outcome.words}. </span>
        {acts.map((act) => (
          <ActSign key={`${act.kind} ${act.ref ?? act.what}`} act={act} />
        ))}
        <span title={iteration.summary ?? undefined}>{iteration.summary ?? (acts.length > 0 ? wordsOfActs(acts) : "")}</span>
        {outcome.words !== "checks passed" && outcome.words !== "ended its turn" && (
          <span className="text-soft" aria-hidden="true">
            {iteration.summary === null && acts.length === 0 ? "" : " · "}
            {outcome.words}
          </span>
        )}
      </td>
      <td className={`${cell} whitespace-nowrap text-right text-xs text-soft max-sm:hidden`}>
        {tokens(iteration.input_tokens + iteration.output_tokens)}
      </td>
      <td className={`${cell} whitespace-nowrap pr-3 text-right text-xs`}>{money(iteration.cost_usd)}</td>
    </tr>
  );
}

function ActSign({ act }: { readonly act: Act }) {
  const seen = act.status === "landed";
  return (
    <span
      className={`mr-1 ${seen ? "text-accent" : "text-needs"}`}
      title={`${act.kind.replace("_", " ")}${seen ? "" : ", not seen to have landed"}: ${act.what}`}
    >
      <span aria-hidden="true">{seen ? "◆" : "◇"}</span>
      <span className="sr-only">{act.kind.replace("_", " ")} </span>
    </span>
  );
}

const wordsOfActs = (acts: readonly Act[]): string => acts.map((act) => act.what).join(" · ");
