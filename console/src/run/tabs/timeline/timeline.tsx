import { useMemo } from "react";
import type { RunView } from "../../../../../src/tools/schemas.ts";
import type { Timeline as TimelineData } from "../../../../../src/tools/view-timeline.ts";
import { ScrollRegion } from "../../../ui/scroll-region.tsx";
import { useTimeline } from "../data.ts";
import { count, duration, many, money } from "../format.ts";
import { Empty, Failed, Loading } from "../states.tsx";
import { Spacer, useVirtualRows } from "../virtual-rows.tsx";
import { Sign } from "./outcome.tsx";
import { fullBar, type Row, rowsOf } from "./rows.ts";
import { Strip } from "./strip.tsx";
import { GroupRow, IterationRow, MarkRow } from "./table-rows.tsx";

export function Timeline({ run }: { readonly run: RunView }) {
  const { data, error, refetch } = useTimeline(run.run_id);
  if (error !== null && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined) return <Loading what="the timeline" />;
  if (data.iterations.length === 0 && data.marks.length === 0)
    return <Empty title="No iteration has begun yet.">The first one appears here as soon as the engine is up.</Empty>;
  return <Lines timeline={data} />;
}

/** In pixels, as the rows are styled. */
const HEIGHTS: Record<Row["kind"], number> = { group: 38, iteration: 32, mark: 28 };

function Lines({ timeline }: { readonly timeline: TimelineData }) {
  const rows = useMemo(() => rowsOf(timeline), [timeline]);
  const full = useMemo(() => fullBar(timeline), [timeline]);
  const table = useVirtualRows(rows.length, (index) => HEIGHTS[rows[index]?.kind ?? "iteration"]);
  const show = (ordinal: number): void => {
    const index = rows.findIndex((row) => row.kind === "iteration" && row.iteration.ordinal === ordinal);
    if (index >= 0) table.show(index);
  };
  return (
    <div className="space-y-3">
      <Totals timeline={timeline} />
      <Strip timeline={timeline} onPick={show} />
      <ScrollRegion
        ref={table.scroller}
        label="Iterations"
        className="max-h-[min(75vh,56rem)] overflow-auto rounded border border-line"
      >
        <table className="w-full table-fixed border-separate border-spacing-0" aria-rowcount={rows.length + 1}>
          <caption className="sr-only">
            {many(timeline.iterations.length, "iteration")} in order of time, with what the owner and the loop did between them
          </caption>
          <thead className="sticky top-0 z-10 bg-raised text-left text-xs text-soft">
            <tr>
              <Head className="w-16 pl-3 max-sm:w-12">#</Head>
              <Head className="w-[34%] max-sm:w-auto">Time</Head>
              <Head className="max-sm:hidden">What it did</Head>
              <Head className="w-20 text-right max-sm:hidden">Tokens</Head>
              <Head className="w-20 pr-3 text-right">Cost</Head>
            </tr>
          </thead>
          <tbody>
            <Spacer height={table.above} columns={5} />
            {table.items.map((item) => {
              const row = rows[item.index];
              if (row === undefined) return null;
              const place = { rowIndex: item.index + 2 };
              if (row.kind === "group") return <GroupRow key={row.key} {...place} row={row} />;
              if (row.kind === "mark") return <MarkRow key={row.key} {...place} mark={row.mark} />;
              return (
                <IterationRow key={row.key} {...place} row={row} runId={timeline.run_id} now={timeline.now_ms} full={full} />
              );
            })}
            <Spacer height={table.below} columns={5} />
          </tbody>
        </table>
      </ScrollRegion>
      <Legend />
    </div>
  );
}

function Head({ className, children }: { readonly className: string; readonly children: string }) {
  return (
    <th scope="col" className={`border-b border-line px-2 py-1 font-medium ${className}`}>
      {children}
    </th>
  );
}

function Totals({ timeline }: { readonly timeline: TimelineData }) {
  const { iteration, max_iterations, usage, acts } = timeline;
  const landed = acts.filter((act) => act.status === "landed").length;
  return (
    <p className="text-soft">
      <b className="font-medium text-ink">
        {count(iteration)} of {count(max_iterations)}
      </b>{" "}
      iterations · {duration(usage.active_ms)} of the engine's time
      {usage.cost_usd !== null && <> · {money(usage.cost_usd)}</>}
      {landed > 0 && <> · {many(landed, "act")} landed</>}
    </p>
  );
}

function Legend() {
  return (
    <p className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft" aria-hidden="true">
      <span>
        <Sign tone="good" /> ended
      </span>
      <span>
        <Sign tone="busy" /> under way
      </span>
      <span>
        <Sign tone="needs" /> a check failed, or a limit of tokens
      </span>
      <span>
        <Sign tone="bad" /> cut off
      </span>
      <span>◆ act</span>
    </p>
  );
}
