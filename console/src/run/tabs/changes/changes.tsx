import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useSearchParams } from "react-router";
import type { RunView } from "../../../../../src/tools/schemas.ts";
import type { ChangeList } from "../../../../../src/tools/view-changes.ts";
import { read } from "../../../api/client.ts";
import { address } from "../data.ts";
import { many } from "../format.ts";
import { Empty, Failed, Loading } from "../states.tsx";
import { Ends } from "./ends.tsx";
import { FileList } from "./file-list.tsx";
import { Patch } from "./patch.tsx";

const FILES = 200;

export function Changes({ run }: { readonly run: RunView }) {
  const [query, setQuery] = useSearchParams();
  const ends = { from: query.get("from"), to: query.get("to") };
  const { data, error, refetch, isPlaceholderData, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["run", run.run_id, "changes", ends.from, ends.to],
    queryFn: ({ signal, pageParam }) =>
      read<ChangeList>(
        address(run.run_id, "changes", { ...ends, cursor: pageParam === "" ? null : pageParam, limit: FILES }),
        signal,
      ),
    initialPageParam: "",
    getNextPageParam: (page) => (page.more ? page.cursor : undefined),
    placeholderData: keepPreviousData,
  });
  const path = query.get("path");
  const listed = data?.pages.some((page) => page.files.some((file) => file.path === path)) === true;
  // A file that the address names may stand on any page of a long list.
  const further = path !== null && data !== undefined && !listed && hasNextPage && !isFetchingNextPage && error === null;
  useEffect(() => {
    if (further) void fetchNextPage();
  }, [further, fetchNextPage]);
  const choose = (name: string, value: string): void => {
    const next = new URLSearchParams(query);
    next.set(name, value);
    if (name !== "path") next.delete("path");
    setQuery(next, { replace: name === "path" });
  };
  return (
    <div className="space-y-3">
      <Ends run={run} from={ends.from ?? "base"} to={ends.to ?? ""} onChoose={choose} />
      {error !== null ? (
        <Failed error={error} again={() => void refetch()} />
      ) : data === undefined ? (
        <Loading what="the changes" />
      ) : (
        <div className={isPlaceholderData ? "opacity-50" : ""}>
          <Compared
            runId={run.run_id}
            pages={data.pages}
            ends={ends}
            path={path}
            onPath={(path) => choose("path", path)}
            more={hasNextPage ? () => void fetchNextPage() : null}
            reading={isFetchingNextPage}
          />
        </div>
      )}
    </div>
  );
}

function Compared({
  runId,
  pages,
  ends,
  path,
  onPath,
  more,
  reading,
}: {
  readonly runId: string;
  readonly pages: readonly ChangeList[];
  readonly ends: { readonly from: string | null; readonly to: string | null };
  readonly path: string | null;
  readonly onPath: (path: string) => void;
  readonly more: (() => void) | null;
  readonly reading: boolean;
}) {
  const head = pages[0];
  const files = pages.flatMap((page) => page.files);
  const shown = files.find((file) => file.path === path) ?? files[0];
  const missing = path !== null && shown?.path !== path;
  if (head === undefined || shown === undefined)
    return (
      <Empty title="No file differs.">
        {head?.to === null ? "The run has no checkpoint yet." : "Both sides hold the same files."}
      </Empty>
    );
  // Behind the listed files, at the beginning of the patch: the same two trees.
  const cursor = head.cursor;
  return (
    <>
      <p className="mb-2 text-soft">
        <b className="font-medium text-ink">{many(head.total_files, "file")}</b> <span className="text-good">+{head.added}</span>{" "}
        <span className="text-bad">−{head.removed}</span>
      </p>
      <div className="grid gap-4 lg:grid-cols-[19rem_minmax(0,1fr)]">
        <FileList
          files={files}
          total={head.total_files}
          shown={missing ? null : shown.path}
          onPath={onPath}
          more={more}
          reading={reading}
        />
        {!missing ? (
          <Patch key={`${cursor} ${shown.path}`} runId={runId} file={shown} cursor={cursor} ends={ends} />
        ) : more !== null ? (
          <Loading what={path} />
        ) : (
          <Empty title={`${path} does not differ.`}>It is the same on both sides, or on neither.</Empty>
        )}
      </div>
    </>
  );
}
