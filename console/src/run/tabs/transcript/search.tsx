import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import type { EntryPage } from "../../../../../src/tools/view-entries.ts";
import { read } from "../../../api/client.ts";
import { useKeys } from "../../../ui/keyboard.ts";
import { address } from "../data.ts";
import { count } from "../format.ts";

/** Hits of one page; the next page is read when the last hit is near. */
const HITS = 200;
const LONGEST = 256;

export function Search({
  runId,
  needle,
  onSearch,
  onHit,
}: {
  readonly runId: string;
  readonly needle: string;
  readonly onSearch: (needle: string) => void;
  readonly onHit: (n: number) => void;
}) {
  const [typed, setTyped] = useState(needle);
  const box = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => box.current?.focus() });
  const [place, setPlace] = useState(0);
  const { data, error, isFetching, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ["entries", runId, "search", needle],
    queryFn: ({ signal, pageParam }) =>
      read<EntryPage>(address(runId, "entries", { search: needle, from: pageParam, limit: HITS }), signal),
    initialPageParam: 1,
    getNextPageParam: (page) => page.rest,
    enabled: needle !== "",
  });
  const hits = useMemo(() => data?.pages.flatMap((page) => page.entries) ?? [], [data]);
  const first = hits[0]?.n;
  const found = useEffectEvent((n: number | undefined) => {
    setPlace(0);
    if (n !== undefined) onHit(n);
  });
  // The first hit is shown when it is found, not again with each page.
  useEffect(() => found(first), [first]);
  // A page may hold nothing where the text is rare: the search goes on by itself until it has found something.
  useEffect(() => {
    if (needle !== "" && hits.length === 0 && hasNextPage && !isFetching) void fetchNextPage();
  }, [needle, hits.length, hasNextPage, isFetching, fetchNextPage]);
  const go = (next: number): void => {
    const hit = hits[next];
    if (hit === undefined) return;
    setPlace(next);
    onHit(hit.n);
    if (next > hits.length - 5 && hasNextPage && !isFetching) void fetchNextPage();
  };
  return (
    <search className="flex items-center gap-1">
      <form
        className="flex items-center gap-1"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.trim() === needle) go((place + 1) % Math.max(1, hits.length));
          else onSearch(typed.trim());
        }}
      >
        <input
          ref={box}
          type="search"
          aria-label="Search the transcript"
          placeholder="Search"
          maxLength={LONGEST}
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            if (event.target.value === "") onSearch("");
          }}
          className="w-44 rounded border border-line bg-ground px-2 py-0.5"
        />
        <button type="submit" className="rounded border border-line px-2 py-0.5 hover:bg-raised">
          Find
        </button>
      </form>
      {needle !== "" && (
        <>
          <button
            type="button"
            aria-label="The hit before"
            disabled={place === 0 || hits.length === 0}
            onClick={() => go(place - 1)}
            className="rounded border border-line px-2 py-0.5 hover:bg-raised disabled:opacity-40"
          >
            ↑
          </button>
          <button
            type="button"
            aria-label="The next hit"
            disabled={place >= hits.length - 1}
            onClick={() => go(place + 1)}
            className="rounded border border-line px-2 py-0.5 hover:bg-raised disabled:opacity-40"
          >
            ↓
          </button>
          <span role="status" className="whitespace-nowrap text-xs text-soft">
            {wordsOf({
              error,
              searching: isFetching || (hasNextPage && hits.length === 0),
              hits: hits.length,
              place,
              more: hasNextPage,
            })}
          </span>
        </>
      )}
    </search>
  );
}

function wordsOf(state: { error: Error | null; searching: boolean; hits: number; place: number; more: boolean }): string {
  if (state.error !== null) return state.error.message;
  if (state.hits === 0) return state.searching ? "searching…" : "no hit";
  return `${count(state.place + 1)} of ${count(state.hits)}${state.more ? "+" : ""}`;
}
