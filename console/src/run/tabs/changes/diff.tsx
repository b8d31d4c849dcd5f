import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import { ScrollRegion } from "../../../ui/scroll-region.tsx";
import { type CodeLine, changedPart, counterparts, type Line, parsePatch, type SideRow, sideBySide } from "./parse-patch.ts";

/** In pixels, as the rows are styled: `rem` is another length here than in most pages. */
const ROW = 20;
/** Longer lines are cut: a minified file is one line of megabytes. */
const LONGEST = 2_000;

/** A patch of any length: only the lines in sight are in the page. Set as a table, so that it is read line by line. */
export function Diff({ patch, side, label }: { readonly patch: string; readonly side: boolean; readonly label: string }) {
  const { lines, binary } = useMemo(() => parsePatch(patch), [patch]);
  const others = useMemo(() => counterparts(lines), [lines]);
  const rows: readonly (Line | SideRow)[] = useMemo(() => (side ? sideBySide(lines) : lines), [lines, side]);
  const longest = useMemo(() => lines.reduce((most, line) => Math.max(most, Math.min(LONGEST, line.text.length)), 40), [lines]);
  const scroller = useRef<HTMLElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 20,
  });
  if (binary) return <p className="px-4 py-6 text-soft">A binary file: what changed in it cannot be shown as text.</p>;
  if (lines.length === 0) return <p className="px-4 py-6 text-soft">Nothing in its text differs.</p>;
  const items = list.getVirtualItems();
  return (
    <ScrollRegion ref={scroller} label={label} className="max-h-[min(75vh,56rem)] overflow-auto font-mono text-xs">
      <div
        style={{ height: list.getTotalSize(), minWidth: `calc(${longest * (side ? 2 : 1)}ch + ${side ? 11 : 9}rem)` }}
        className="relative"
      >
        <table
          className="absolute top-0 w-full table-fixed border-separate border-spacing-0"
          style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}
          aria-rowcount={rows.length}
        >
          <caption className="sr-only">{label}</caption>
          <colgroup>
            {side ? (
              <>
                <col className="w-12" />
                <col />
                <col className="w-12" />
                <col />
              </>
            ) : (
              <>
                <col className="w-12" />
                <col className="w-12" />
                <col />
              </>
            )}
          </colgroup>
          <tbody>
            {items.map((item) => {
              const row = rows[item.index];
              if (row === undefined) return null;
              return <Row key={item.key} row={row} index={item.index} others={others} side={side} />;
            })}
          </tbody>
        </table>
      </div>
    </ScrollRegion>
  );
}

function Row({
  row,
  index,
  others,
  side,
}: {
  readonly row: Line | SideRow;
  readonly index: number;
  readonly others: ReadonlyMap<Line, string>;
  readonly side: boolean;
}) {
  const place = { "aria-rowindex": index + 1, className: "h-[20px] leading-[20px]" };
  if (row.kind === "hunk" || row.kind === "note")
    return (
      <tr {...place}>
        <td colSpan={side ? 4 : 3} className={`truncate px-3 text-soft ${row.kind === "hunk" ? "bg-raised" : "italic"}`}>
          {row.text}
        </td>
      </tr>
    );
  if (row.kind === "pair")
    return (
      <tr {...place}>
        <LineNumber line={row.left} of="old" />
        <Code line={row.left} other={row.left === null ? undefined : others.get(row.left)} />
        <LineNumber line={row.right} of="new" />
        <Code line={row.right} other={row.right === null ? undefined : others.get(row.right)} />
      </tr>
    );
  return (
    <tr {...place}>
      <LineNumber line={row} of="old" />
      <LineNumber line={row} of="new" />
      <Code line={row} other={others.get(row)} />
    </tr>
  );
}

const GROUNDS: Record<CodeLine["kind"], string> = { same: "", added: "bg-good/10", removed: "bg-bad/10" };
const SIGNS: Record<CodeLine["kind"], string> = { same: " ", added: "+", removed: "-" };

function LineNumber({ line, of }: { readonly line: CodeLine | null; readonly of: "old" | "new" }) {
  return (
    <td
      className={`select-none border-r border-line px-2 text-right text-soft ${line === null ? "bg-raised" : GROUNDS[line.kind]}`}
    >
      {line?.[of] ?? ""}
    </td>
  );
}

function Code({ line, other }: { readonly line: CodeLine | null; readonly other: string | undefined }) {
  if (line === null) return <td className="bg-raised" />;
  const text = line.text.length > LONGEST ? `${line.text.slice(0, LONGEST)}…` : line.text;
  const part = other === undefined ? null : changedPart(text, other);
  return (
    <td className={`overflow-hidden whitespace-pre px-2 ${GROUNDS[line.kind]}`}>
      <span aria-hidden="true" className="select-none text-soft">
        {SIGNS[line.kind]}{" "}
      </span>
      {line.kind !== "same" && <span className="sr-only">{line.kind}: </span>}
      {part === null ? (
        text
      ) : (
        <>
          {text.slice(0, part.from)}
          <span className={line.kind === "added" ? "bg-good/25" : "bg-bad/25"}>{text.slice(part.from, part.to)}</span>
          {text.slice(part.to)}
        </>
      )}
    </td>
  );
}
