import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";

/**
 * The rows of a real table that are in sight, and how much room the others take: spacers above and below keep a scroll bar
 * true, and the table stays a table to a screen reader.
 */
export function useVirtualRows(count: number, height: (index: number) => number) {
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: height,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  return {
    scroller,
    items,
    above: items[0]?.start ?? 0,
    below: virtual.getTotalSize() - (items.at(-1)?.end ?? 0),
    show: (index: number) => virtual.scrollToIndex(index, { align: "center" }),
  };
}

const UNREAD = { "aria-hidden": true } as const;

export function Spacer({ height, columns }: { readonly height: number; readonly columns: number }) {
  if (height <= 0) return null;
  return (
    <tr {...UNREAD}>
      <td colSpan={columns} style={{ height, padding: 0 }} />
    </tr>
  );
}
