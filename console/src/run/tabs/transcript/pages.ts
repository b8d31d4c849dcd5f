import { useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import type { EntryPage, EntryView } from "../../../../../src/tools/view-entries.ts";
import { read } from "../../../api/client.ts";
import { address } from "../data.ts";

/** Pages of a transcript of any length: read where somebody looks, dropped a while after. An entry never changes once it is there. */

const PAGE = 100;
const KEPT_MS = 60_000;
/** Somebody who flies over thousands of entries waits for none of them. */
const SETTLED_MS = 60;
const POLLED_MS = 5_000;

/** How many entries the run has by now. */
export function useTotal(id: string, live: boolean) {
  return useQuery({
    queryKey: ["entries", id, "total"],
    queryFn: async ({ signal }) => (await read<EntryPage>(address(id, "entries", { limit: 1 }), signal)).total,
    // What a stream tells comes at once; this is for the time without one.
    refetchInterval: live ? POLLED_MS : false,
  });
}

export interface Entries {
  /** The entry; `hole` where a number is a later part of a long text, null while its page is being read. */
  at(n: number): EntryView | "hole" | null;
  /** Moves whenever something came in. */
  readonly version: number;
  readonly error: Error | null;
  again(): void;
}

export function useEntries(id: string, total: number, first: number, last: number): Entries {
  const client = useQueryClient();
  const pages = useSettled(Math.floor((first - 1) / PAGE), Math.floor((last - 1) / PAGE));
  const known = useRef(total);
  useEffect(() => {
    if (total === known.current) return;
    // The page that was the last one has got more.
    const grown = Math.floor(known.current / PAGE);
    known.current = total;
    void client.invalidateQueries({ queryKey: ["entries", id, "page", grown] });
  }, [client, id, total]);
  const results = useQueries({
    queries: pages.map((page) => ({
      queryKey: ["entries", id, "page", page],
      queryFn: ({ signal }: { signal: AbortSignal }) => readPage(id, page, signal),
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: KEPT_MS,
      structuralSharing: false,
    })),
  });
  const failed = results.find((result) => result.error !== null);
  const version = results.reduce((sum, result) => sum + result.dataUpdatedAt, 0);
  const loaded = new Map(pages.map((page, index) => [page, results[index]?.data]));
  return {
    at: (n) => {
      const entries = loaded.get(Math.floor((n - 1) / PAGE));
      if (entries === undefined) return null;
      const entry = entries.byN.get(n);
      // A number behind the end of what was read is one that came since.
      return entry ?? (n > entries.total ? null : "hole");
    },
    version,
    error: failed?.error ?? null,
    again: () => void failed?.refetch(),
  };
}

interface LoadedPage {
  readonly byN: ReadonlyMap<number, EntryView>;
  readonly total: number;
}

async function readPage(id: string, page: number, signal: AbortSignal): Promise<LoadedPage> {
  const from = page * PAGE + 1;
  const query = { from, before: from + PAGE, limit: PAGE };
  const { entries, total } = await read<EntryPage>(address(id, "entries", query), signal);
  return { byN: new Map(entries.map((entry) => [entry.n, entry])), total };
}

/** Pages from `first` to `last`, as soon as they stand still for a moment. */
function useSettled(first: number, last: number): readonly number[] {
  const [range, setRange] = useState({ first, last });
  useEffect(() => {
    const timer = setTimeout(() => setRange({ first, last }), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [first, last]);
  return useMemo(
    () => Array.from({ length: Math.max(1, range.last - range.first + 1) }, (_, index) => Math.max(0, range.first) + index),
    [range],
  );
}
