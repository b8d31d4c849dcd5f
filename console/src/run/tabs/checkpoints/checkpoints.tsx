import { useState } from "react";
import { Link } from "react-router";
import { bytesText } from "../../../../../src/run/bytes.ts";
import type { RunView } from "../../../../../src/tools/schemas.ts";
import type { CheckpointList } from "../../../../../src/tools/view-checkpoints.ts";
import { ScrollRegion } from "../../../ui/scroll-region.tsx";
import { useCheckpoints } from "../data.ts";
import { count, instant, many } from "../format.ts";
import { Empty, Failed, Loading } from "../states.tsx";
import { Spacer, useVirtualRows } from "../virtual-rows.tsx";

type One = CheckpointList["checkpoints"][number];

export function Checkpoints({ run }: { readonly run: RunView }) {
  const { data, error, refetch } = useCheckpoints(run.run_id);
  if (error !== null && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined) return <Loading what="the checkpoints" />;
  if (data.checkpoints.length === 0)
    return <Empty title="No checkpoint yet.">The first one is taken before the first iteration begins.</Empty>;
  return <List runId={run.run_id} list={data} />;
}

const KINDS: Record<One["kind"], string> = {
  entry: "entry of a step",
  iteration: "end of an iteration",
  stop: "stop",
  reset: "before a reset",
  redo: "before a redo",
};
const ROW = 34;

function List({ runId, list }: { readonly runId: string; readonly list: CheckpointList }) {
  const { checkpoints } = list;
  const table = useVirtualRows(checkpoints.length, () => ROW);
  const [open, setOpen] = useState<string | null>(null);
  const lost = checkpoints.filter((one) => one.state !== "present").length;
  return (
    <div className="space-y-3">
      <p className="text-soft">
        {many(checkpoints.length, "checkpoint")}, newest first
        {lost > 0 && <span className="text-bad"> · {many(lost, "checkpoint")} not there</span>}
      </p>
      <NotCovered list={list} open={open} onClose={() => setOpen(null)} />
      <ScrollRegion
        ref={table.scroller}
        label="Checkpoints"
        className="max-h-[min(75vh,56rem)] overflow-auto rounded border border-line"
      >
        <table className="w-full border-separate border-spacing-0" aria-rowcount={checkpoints.length + 1}>
          <caption className="sr-only">Saved states of the working tree, newest first</caption>
          <thead className="sticky top-0 z-10 bg-raised text-left text-xs text-soft">
            <tr>
              {["Taken at", "Iteration", "When", "Files", "Size", "Not covered", "Difference"].map((name) => (
                <th
                  key={name}
                  scope="col"
                  className={`whitespace-nowrap border-b border-line px-3 py-1 font-medium ${HIDDEN[name] ?? ""}`}
                >
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Spacer height={table.above} columns={7} />
            {table.items.map((item) => {
              const one = checkpoints[item.index];
              if (one === undefined) return null;
              const before = checkpoints[item.index + 1];
              return (
                <Row
                  key={one.id}
                  runId={runId}
                  one={one}
                  before={before?.id ?? null}
                  index={item.index}
                  list={list}
                  onOpen={setOpen}
                />
              );
            })}
            <Spacer height={table.below} columns={7} />
          </tbody>
        </table>
      </ScrollRegion>
    </div>
  );
}

const HIDDEN: Record<string, string> = {
  When: "max-sm:hidden",
  Size: "text-right max-sm:hidden",
  Files: "text-right",
  Iteration: "text-right",
};

function Row({
  runId,
  one,
  before,
  index,
  list,
  onOpen,
}: {
  readonly runId: string;
  readonly one: One;
  readonly before: string | null;
  readonly index: number;
  readonly list: CheckpointList;
  readonly onOpen: (id: string) => void;
}) {
  const cell = "border-b border-line/60 px-3 whitespace-nowrap";
  const there = one.state === "present";
  const diff = (from: string): string => `/runs/${runId}/changes?from=${from}&to=${one.id}`;
  return (
    <tr aria-rowindex={index + 2} className="h-[34px] hover:bg-raised">
      <th scope="row" className={`${cell} text-left font-normal`} title={one.id}>
        {KINDS[one.kind]}
        {one.id === list.base && <Tag>base</Tag>}
        {one.id === list.stop && <Tag>last stop</Tag>}
        {!there && (
          <span className="ml-2 text-bad" title={one.failure ?? undefined}>
            <span aria-hidden="true">✕</span> {one.state === "lost" ? "lost" : "not taken"}
          </span>
        )}
      </th>
      <td className={`${cell} text-right`}>
        <Link className="text-accent hover:underline" to={`/runs/${runId}/transcript?iteration=${one.iteration}`}>
          {count(one.iteration)}
        </Link>
      </td>
      <td className={`${cell} text-soft max-sm:hidden`}>{instant(one.at_ms)}</td>
      <td className={`${cell} text-right`}>{count(one.files)}</td>
      <td className={`${cell} text-right max-sm:hidden`}>{bytesText(one.bytes)}</td>
      <td className={cell}>
        {one.not_covered_total === 0 ? (
          <span className="text-soft">–</span>
        ) : (
          <button type="button" onClick={() => onOpen(one.id)} className="text-needs hover:underline">
            {many(one.not_covered_total, "path")}
          </button>
        )}
      </td>
      <td className={cell}>
        {there && (
          <span className="flex gap-3">
            {one.id !== list.base && (
              <Link className="text-accent hover:underline" to={diff("base")}>
                from base
              </Link>
            )}
            {before !== null && (
              <Link className="text-accent hover:underline" to={diff(before)}>
                from the one before
              </Link>
            )}
          </span>
        )}
      </td>
    </tr>
  );
}

function Tag({ children }: { readonly children: string }) {
  return <span className="ml-2 rounded-sm border border-line px-1 text-xs text-soft">{children}</span>;
}

function NotCovered({
  list,
  open,
  onClose,
}: {
  readonly list: CheckpointList;
  readonly open: string | null;
  readonly onClose: () => void;
}) {
  const one = list.checkpoints.find((checkpoint) => checkpoint.id === open);
  if (one === undefined) return null;
  const listed = one.not_covered.flatMap((place) => list.not_covered[place] ?? []);
  return (
    <section
      aria-live="polite"
      aria-label="Not covered"
      className="rounded border border-line border-l-4 border-l-needs px-4 py-2"
    >
      <p className="flex justify-between gap-4">
        <span className="font-medium">
          {KINDS[one.kind]}, iteration {one.iteration}: not covered
        </span>
        <button type="button" onClick={onClose} className="text-accent hover:underline">
          Close
        </button>
      </p>
      <ScrollRegion label="Paths that are not covered" className="mt-1 max-h-60 overflow-auto">
        <ul>
          {listed.map(({ path, why }) => (
            <li key={`${path} ${why}`} className="break-words">
              <code className="font-mono text-[13px]">{path}</code> <span className="text-soft">{why}</span>
            </li>
          ))}
        </ul>
      </ScrollRegion>
      {one.not_covered_total > listed.length && (
        <p className="text-soft">and {many(one.not_covered_total - listed.length, "more path")}</p>
      )}
    </section>
  );
}
