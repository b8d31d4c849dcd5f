import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "react-router";
import { RUN_GROUPS, type RunGroup } from "../../../src/run/group.ts";
import type { Ledger as LedgerPage, LedgerRow } from "../../../src/tools/view-ledger.ts";
import { useRunKeys } from "../actions/run-keys.ts";
import { useLedger } from "../api/queries.ts";
import { Button } from "../ui/button.tsx";
import { useKeys } from "../ui/keyboard.ts";
import { Fault, Notice, Skeleton } from "../ui/notice.tsx";
import { Filters } from "./filters.tsx";
import { useKeptPlace } from "./kept-place.ts";
import { Row } from "./row.tsx";

const TITLES: Readonly<Record<RunGroup, string>> = {
  needs_you: "needs you",
  running: "running",
  waiting: "waiting",
  finished: "finished",
};

type Item =
  | { readonly kind: "group"; readonly key: string; readonly group: RunGroup; readonly total: number }
  | { readonly kind: "row"; readonly key: string; readonly row: LedgerRow }
  | { readonly kind: "more"; readonly key: string; readonly more: () => void; readonly left: number };

/** All runs, those that need a person first. */
export function Ledger() {
  const [params, setParams] = useSearchParams();
  const groups = useGroups(params);
  const items = groups.items;
  const { filters, facets, total } = groups;
  useEffect(() => {
    document.title = groups.needs > 0 ? `(${groups.needs}) Loopkeeper` : "Loopkeeper";
  }, [groups.needs]);
  return (
    <>
      <h1 className="sr-only">Runs</h1>
      <Filters params={params} setParams={setParams} facets={facets} />
      {groups.error !== null && (
        <div className="mt-4">
          <Fault>{groups.error.message}</Fault>
        </div>
      )}
      {groups.pending ? (
        <Skeleton lines={6} label="Loading runs" />
      ) : total === 0 && groups.error === null ? (
        <Empty filtered={filters.size > 0} onClear={() => setParams({})} />
      ) : (
        <Rows items={items} />
      )}
    </>
  );
}

function useGroups(params: URLSearchParams) {
  const filters = new URLSearchParams([...params].filter(([name, value]) => FILTERS.has(name) && value !== ""));
  filters.sort();
  const needs_you = useLedger(filters, "needs_you");
  const running = useLedger(filters, "running");
  const waiting = useLedger(filters, "waiting");
  const finished = useLedger(filters, "finished");
  const queries = { needs_you, running, waiting, finished };
  const all = RUN_GROUPS.map((group) => queries[group]);
  const items = RUN_GROUPS.flatMap((group) => itemsOf(group, queries[group].data?.pages ?? [], queries[group].fetchNextPage));
  const first: LedgerPage | undefined = needs_you.data?.pages[0];
  return {
    filters,
    items,
    facets: first?.facets ?? null,
    needs: first?.total ?? 0,
    total: all.reduce((sum, query) => sum + (query.data?.pages[0]?.total ?? 0), 0),
    // All groups come into sight at once: one that came later would push the others down.
    pending: all.some((query) => query.isPending),
    error: all.find((query) => query.error !== null && query.data === undefined)?.error ?? null,
  };
}

const FILTERS: ReadonlySet<string> = new Set(["search", "repo", "state", "reason", "resumable", "archived"]);

function itemsOf(group: RunGroup, pages: readonly LedgerPage[], more: () => unknown): readonly Item[] {
  const [first] = pages;
  if (first === undefined || first.total === 0) return [];
  // A run that moved while the pages were read can be on two of them.
  const rows = [...new Map(pages.flatMap((page) => page.rows).map((row) => [row.run_id, row])).values()];
  const left = pages.at(-1)?.next_cursor === null ? 0 : first.total - rows.length;
  return [
    { kind: "group", key: group, group, total: first.total },
    ...rows.map((row) => ({ kind: "row", key: row.run_id, row }) as const),
    ...(left > 0 ? [{ kind: "more", key: `more-${group}`, more: () => void more(), left } as const] : []),
  ];
}

/** Height of what stands over the page's top. */
const HEAD = 40;

/** Only what is in sight is in the page, so that ten thousand runs are as light as ten. */
function Rows({ items }: { readonly items: readonly Item[] }) {
  const list = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<string | null>(null);
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize: (n) => (items[n]?.kind === "row" ? 62 : 34),
    getItemKey: (n) => items[n]?.key ?? n,
    overscan: 10,
    scrollMargin: list.current?.offsetTop ?? 0,
    scrollPaddingStart: HEAD,
  });
  useKeptPlace(virtual, items);
  const rows = items.flatMap((item, index) => (item.kind === "row" ? [{ index, row: item.row }] : []));
  const place = rows.findIndex(({ row }) => row.run_id === at);
  const step = (by: number): void => {
    const inSight = rows.findIndex(({ index }) => (virtual.measurementsCache[index]?.start ?? 0) >= scrollY + HEAD);
    const next = rows[place === -1 ? inSight : Math.max(0, Math.min(rows.length - 1, place + by))];
    if (next === undefined) return;
    setAt(next.row.run_id);
    virtual.scrollToIndex(next.index, { align: "auto" });
  };
  useKeys({ j: () => step(1), k: () => step(-1) });
  useRunKeys(rows[place]?.row ?? null);
  return (
    <div ref={list} className="relative w-full" style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ index, key, start }) => {
        const item = items[index];
        if (item === undefined) return null;
        return (
          <div
            key={key}
            data-index={index}
            ref={virtual.measureElement}
            className="absolute inset-x-0 top-0"
            style={{ transform: `translateY(${start - virtual.options.scrollMargin}px)` }}
          >
            {item.kind === "group" && <GroupHead group={item.group} total={item.total} />}
            {item.kind === "row" && <Row row={item.row} chosen={item.row.run_id === at} onChoose={setAt} />}
            {item.kind === "more" && <More more={item.more} left={item.left} />}
          </div>
        );
      })}
    </div>
  );
}

function GroupHead({ group, total }: { readonly group: RunGroup; readonly total: number }) {
  return (
    <h2 className="flex items-center gap-3 pt-4 pb-1 text-[12px] font-semibold tracking-wide text-soft">
      <span className={group === "needs_you" ? "text-needs" : ""}>
        {TITLES[group]} <span className="font-normal">({total})</span>
      </span>
      <span className="h-px grow bg-line" />
    </h2>
  );
}

/** Comes into sight only when the list is scrolled to its end: then it fetches by itself. */
function More({ more, left }: { readonly more: () => void; readonly left: number }) {
  const begun = useRef(false);
  useEffect(() => {
    if (begun.current) return;
    begun.current = true;
    more();
  });
  return (
    <div className="py-2">
      <Button look="quiet" onClick={more}>
        {left} more
      </Button>
    </div>
  );
}

function Empty({ filtered, onClear }: { readonly filtered: boolean; readonly onClear: () => void }) {
  if (filtered)
    return (
      <Notice title="No run fits" action={<Button onClick={onClear}>Clear the filters</Button>}>
        <p>The filters and the search let none through.</p>
      </Notice>
    );
  return (
    <Notice title="No runs yet">
      <p>Ask a coding agent that has Loopkeeper among its MCP servers for a loop, or start one here:</p>
      <pre className="rounded-md border border-line bg-ground p-2 font-mono text-[12px] break-words whitespace-pre-wrap text-ink">
        loopkeeper start --repo . --objective "Make the tests pass"
      </pre>
    </Notice>
  );
}
