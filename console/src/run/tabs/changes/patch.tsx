import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ChangeList } from "../../../../../src/tools/view-changes.ts";
import type { PatchPart } from "../../../../../src/tools/view-patch.ts";
import { read } from "../../../api/client.ts";
import { address } from "../data.ts";
import { count } from "../format.ts";
import { Failed, Loading } from "../states.tsx";
import { Diff } from "./diff.tsx";

type File = ChangeList["files"][number];

/** Above this a patch is shown only when asked for. */
const BIG_LINES = 20_000;

export function Patch({
  runId,
  file,
  cursor,
  ends,
}: {
  readonly runId: string;
  readonly file: File;
  /** Of the list of files: the patch is that of the very trees that the list compares. */
  readonly cursor: string;
  readonly ends: { readonly from: string | null; readonly to: string | null };
}) {
  const [side, setSide] = useState(() => matchMedia("(min-width: 90rem)").matches);
  const size = (file.added ?? 0) + (file.removed ?? 0);
  const [wanted, setWanted] = useState(size <= BIG_LINES);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["patch", runId, cursor, file.path],
    queryFn: ({ signal, pageParam }) =>
      read<PatchPart>(
        address(runId, "patch", { ...ends, path: file.path, from_path: file.from_path, cursor: pageParam }),
        signal,
      ),
    initialPageParam: cursor,
    getNextPageParam: (part) => part.next_cursor,
    enabled: wanted && !file.binary,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <section aria-label={file.path} className="min-w-0 rounded border border-line">
      <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 border-b border-line bg-raised px-3 py-1.5">
        <h3 className="min-w-0 break-all font-mono text-[13px]">
          {file.from_path !== null && <span className="text-soft">{file.from_path} → </span>}
          {file.path}
          {file.mode !== null && file.status !== "added" && file.status !== "deleted" && (
            <span className="ml-2 text-xs text-soft">mode {file.mode.replace("->", "→")}</span>
          )}
        </h3>
        <fieldset className="flex rounded border border-line text-xs">
          <legend className="sr-only">How the difference is shown</legend>
          <Way on={!side} onClick={() => setSide(false)}>
            Unified
          </Way>
          <Way on={side} onClick={() => setSide(true)}>
            Side by side
          </Way>
        </fieldset>
      </header>
      {file.binary ? (
        <p className="px-4 py-6 text-soft">A binary file: what changed in it cannot be shown as text.</p>
      ) : !wanted ? (
        <p className="px-4 py-6 text-soft">
          {count(size)} lines differ.{" "}
          <button type="button" className="text-accent hover:underline" onClick={() => setWanted(true)}>
            Show them
          </button>
        </p>
      ) : error !== null ? (
        <Failed error={error} again={() => void refetch()} />
      ) : data === undefined ? (
        <div className="px-4">
          <Loading what={file.path} />
        </div>
      ) : (
        <Diff patch={data.pages.map((part) => part.patch).join("")} side={side} label={`What changed in ${file.path}`} />
      )}
      {hasNextPage && (
        <button
          type="button"
          onClick={() => void fetchNextPage()}
          className="block w-full border-t border-line px-3 py-1.5 text-left text-accent hover:bg-raised"
        >
          {isFetchingNextPage ? "Reading…" : "The next part of this file"}
        </button>
      )}
    </section>
  );
}

function Way({ on, onClick, children }: { readonly on: boolean; readonly onClick: () => void; readonly children: string }) {
  return (
    <button
      type="button"
      aria-pressed={on}
      onClick={onClick}
      className={`px-2 py-0.5 first:rounded-l last:rounded-r ${on ? "bg-accent text-accent-ink" : "hover:bg-ground"}`}
    >
      {children}
    </button>
  );
}
