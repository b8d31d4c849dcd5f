import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { CheckpointList } from "../../../../src/tools/view-checkpoints.ts";
import type { EntryIndex } from "../../../../src/tools/view-entry-index.ts";
import type { PlanHistory } from "../../../../src/tools/view-plans.ts";
import type { Timeline } from "../../../../src/tools/view-timeline.ts";
import { read } from "../../api/client.ts";

/** Readings of one run. All keys but those of entries begin with ["run", id]: what is known of a run is read again as one. */

/** An iteration grows longer without an event that tells it. */
const GROWN_MS = 5_000;

export function useTimeline(id: string) {
  return useQuery({
    queryKey: ["run", id, "timeline"],
    queryFn: ({ signal }) => read<Timeline>(address(id, "timeline"), signal),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (query.state.data?.state === "running" ? GROWN_MS : false),
  });
}

export function usePlans(id: string) {
  return useQuery({
    queryKey: ["run", id, "plans"],
    queryFn: ({ signal }) => read<PlanHistory>(address(id, "plans"), signal),
  });
}

export function useCheckpoints(id: string) {
  return useQuery({
    queryKey: ["run", id, "checkpoints"],
    queryFn: ({ signal }) => read<CheckpointList>(address(id, "checkpoints"), signal),
    placeholderData: keepPreviousData,
  });
}

export function useEntryIndex(id: string) {
  return useQuery({
    queryKey: ["run", id, "entry_index"],
    queryFn: ({ signal }) => read<EntryIndex>(address(id, "entry_index"), signal),
    placeholderData: keepPreviousData,
  });
}

export function address(id: string, reading: string, query: Readonly<Record<string, string | number | null | undefined>> = {}) {
  const given = Object.entries(query).flatMap(([name, value]) => (value == null ? [] : [[name, String(value)]]));
  const text = new URLSearchParams(given).toString();
  return `/api/runs/${encodeURIComponent(id)}/${reading}${text === "" ? "" : `?${text}`}`;
}
