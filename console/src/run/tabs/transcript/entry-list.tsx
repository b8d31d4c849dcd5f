import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useCallback, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from "react";
import { ScrollRegion } from "../../../ui/scroll-region.tsx";
import { count, many } from "../format.ts";
import { Failed } from "../states.tsx";
import { Entry } from "./entry.tsx";
import { useEntries } from "./pages.ts";

/** Asked for from outside: entry `n` comes to the top; `id` tells two wishes for one entry apart. */
export interface Jump {
  readonly n: number | "end";
  readonly id: number;
}

/**
 * The list holds a window of this many entries with their true heights; it moves on, unseen, when somebody comes near its edge.
 * All of them at once would be higher than a browser can lay out, and each height that becomes known would move a million others.
 */
const WINDOW = 2_000;
const EDGE = 300;
const ROW = 44;
const AT_END_PX = 40;

export function EntryList({
  runId,
  total,
  jump,
  needle,
  workspace,
  onTop,
}: {
  readonly runId: string;
  readonly total: number;
  readonly jump: Jump;
  readonly needle: string;
  readonly workspace: string;
  /** Told which entry stands at the top. */
  readonly onTop: (n: number) => void;
}) {
  const scroller = useRef<HTMLElement>(null);
  const [low, setLow] = useState(() => windowAround(jump.n === "end" ? total : jump.n, total));
  /** What stays in sight while heights become known: the entry jumped to, or the end. Null once the reader moves. */
  const pinned = useRef<number | "end" | null>(jump.n);
  const anchor = useRef<{ readonly n: number; readonly delta: number } | null>(null);
  const [atEnd, setAtEnd] = useState(jump.n === "end");
  const seen = useRef(total);
  const size = Math.min(total - low, atEnd ? Number.POSITIVE_INFINITY : WINDOW);
  const getItemKey = useCallback((index: number) => low + index + 1, [low]);
  const list = useVirtualizer({
    count: size,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    getItemKey,
    overscan: 8,
  });
  const items = list.getVirtualItems();
  const first = low + (items[0]?.index ?? 0) + 1;
  const last = low + (items.at(-1)?.index ?? 0) + 1;
  const entries = useEntries(runId, total, first, last);

  const show = (n: Jump["n"]): void => {
    pinned.current = n;
    setAtEnd(n === "end");
    setLow(windowAround(n === "end" ? total : n, total));
  };
  const jumped = useEffectEvent((wish: Jump) => show(wish.n));
  useLayoutEffect(() => jumped(jump), [jump]);

  // After every rendering: each may have brought heights that were only guessed before, or another window.
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const kept = anchor.current;
    anchor.current = null;
    const wanted = pinned.current;
    if (kept !== null) element.scrollTop = startOf(kept.n) + kept.delta;
    else if (wanted === "end") element.scrollTop = element.scrollHeight;
    else if (wanted !== null) element.scrollTop = startOf(wanted);
  });
  const startOf = (n: number): number => list.measurementsCache[Math.min(size, n - low) - 1]?.start ?? 0;

  // By the heights as they are, not by what was drawn last: a scroll bar or a key may have gone far since.
  const scrolled = (): void => {
    const element = scroller.current;
    const top = list.getVirtualItemForOffset(element?.scrollTop ?? 0);
    if (element === null || top === undefined) return;
    const move = (next: number): void => {
      anchor.current = { n: low + top.index + 1, delta: element.scrollTop - top.start };
      setLow(next);
    };
    const end = low + size >= total && element.scrollTop + element.clientHeight >= element.scrollHeight - AT_END_PX;
    setAtEnd(end);
    if (end && pinned.current === null) pinned.current = "end";
    onTop(low + top.index + 1);
    if (pinned.current !== null) return;
    const newest = Math.max(0, total - WINDOW);
    if (atEnd && !end) move(Math.max(low, newest));
    else if (top.index < EDGE && low > 0) move(Math.max(0, low - WINDOW / 2));
    else if (top.index > size - EDGE && low + size < total) move(Math.min(low + WINDOW / 2, newest));
  };

  const free = (): void => {
    pinned.current = null;
  };
  const pressed = (event: KeyboardEvent): void => {
    free();
    if (event.target !== scroller.current || (event.key !== "Home" && event.key !== "End")) return;
    // The ends of the transcript, not those of the window.
    event.preventDefault();
    show(event.key === "Home" ? 1 : "end");
  };
  useEffect(() => {
    if (!atEnd) return;
    seen.current = total;
    // Whoever follows a run for hours holds no list of hours.
    if (total - low > 2 * WINDOW) setLow(total - WINDOW);
  }, [atEnd, total, low]);
  const fresh = atEnd ? 0 : Math.max(0, total - seen.current);

  return (
    <div className="relative">
      {entries.error !== null && <Failed error={entries.error} again={entries.again} />}
      <ScrollRegion
        ref={scroller}
        label="Transcript"
        onScroll={scrolled}
        onWheel={free}
        onTouchMove={free}
        onPointerDown={free}
        onKeyDown={pressed}
        className="h-[min(75vh,56rem)] overflow-auto rounded border border-line [overflow-anchor:none]"
      >
        <div className="relative w-full" style={{ height: list.getTotalSize() }}>
          <ol className="absolute inset-x-0 top-0" style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
            {items.map((item) => {
              const n = low + item.index + 1;
              const entry = entries.at(n);
              return (
                <li key={item.key} data-index={item.index} ref={list.measureElement} aria-setsize={total} aria-posinset={n}>
                  {entry === null ? (
                    <Skeleton />
                  ) : entry === "hole" ? null : (
                    <Entry runId={runId} entry={entry} needle={needle} workspace={workspace} lit={jump.n === n} />
                  )}
                </li>
              );
            })}
          </ol>
        </div>
      </ScrollRegion>
      {fresh > 0 && (
        <button
          type="button"
          onClick={() => {
            show("end");
            // The button goes; the reader reads on.
            scroller.current?.focus({ preventScroll: true });
          }}
          className="absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full bg-accent px-3 py-1 text-xs font-medium text-accent-ink shadow"
        >
          {count(fresh)} new ↓
        </button>
      )}
      <p className="sr-only" role="status">
        {fresh > 0 ? `${many(fresh, "new entry", "new entries")} below` : ""}
      </p>
    </div>
  );
}

function Skeleton() {
  return (
    <div className="flex h-11 items-center gap-3 px-3" aria-hidden="true">
      <span className="h-2.5 w-10 rounded bg-raised" />
      <span className="h-2.5 w-1/2 rounded bg-raised" />
    </div>
  );
}

function windowAround(n: number, total: number): number {
  return Math.max(0, Math.min(n - 1 - WINDOW / 2, total - WINDOW));
}
