import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { RunGroup } from "../../../src/run/group.ts";
import type { Account } from "../../../src/tools/run-explain-stop.ts";
import type { Head } from "../../../src/tools/view-head.ts";
import type { Ledger } from "../../../src/tools/view-ledger.ts";
import { serverSaid } from "../ui/clock.ts";
import { read } from "./client.ts";

/**
 * What is read and how long it is kept. Everything of one run hangs under `["run", id]`, so that one event of it makes all of it
 * be read anew; the lists hang under `["ledger"]`.
 */

/** What a running one does at the moment is no change of the run, so no event tells it. */
const LOOK_MS = 3_000;

/** Runs of one group that the address's filters let through. */
export function useLedger(filters: URLSearchParams, group: RunGroup) {
  const text = filters.toString();
  return useInfiniteQuery({
    queryKey: ["ledger", group, text],
    initialPageParam: "",
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams(text);
      query.set("group", group);
      query.set("limit", "100");
      if (pageParam !== "") query.set("cursor", pageParam);
      const page = await read<Ledger>(`/api/ledger?${query}`, signal);
      serverSaid(page.now);
      return page;
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: (before) => before,
    refetchInterval: (query) => (group === "running" && (query.state.data?.pages[0]?.total ?? 0) > 0 ? LOOK_MS : false),
  });
}

export function useHead(id: string) {
  return useQuery({
    queryKey: ["run", id, "head"],
    queryFn: async ({ signal }) => {
      const head = await read<Head>(`/api/runs/${encodeURIComponent(id)}/head`, signal);
      serverSaid(head.run.now);
      return head;
    },
    refetchInterval: (query) => (query.state.data?.run.state === "running" ? LOOK_MS : false),
  });
}

/** Why it stopped. It looks at the repository, so it is asked for once a stop and not at each event of a live run. */
export function useAccount(id: string, stopped: boolean) {
  return useQuery({
    queryKey: ["run", id, "account"],
    queryFn: ({ signal }) => read<Account>(`/api/runs/${encodeURIComponent(id)}/account`, signal),
    enabled: stopped,
  });
}
