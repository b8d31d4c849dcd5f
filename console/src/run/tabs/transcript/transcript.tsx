import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useEffectEvent, useState } from "react";
import { useSearchParams } from "react-router";
import type { RunView } from "../../../../../src/tools/schemas.ts";
import type { EntryPage } from "../../../../../src/tools/view-entries.ts";
import { read } from "../../../api/client.ts";
import { address, useEntryIndex } from "../data.ts";
import { count } from "../format.ts";
import { Empty, Failed, Loading } from "../states.tsx";
import { EntryList, type Jump } from "./entry-list.tsx";
import { useLiveEntries } from "./live.ts";
import { useTotal } from "./pages.ts";
import { Search } from "./search.tsx";

export function Transcript({ run }: { readonly run: RunView }) {
  const live = run.state === "running" || run.state === "stopping" || run.state === "queued";
  const total = useTotal(run.run_id, live);
  useLiveEntries(run.run_id, live);
  if (total.error !== null && total.data === undefined) return <Failed error={total.error} again={() => void total.refetch()} />;
  if (total.data === undefined) return <Loading what="the transcript" />;
  if (total.data === 0)
    return <Empty title="Nothing was said yet.">What the agent says and does appears here as it comes.</Empty>;
  return <Reader run={run} total={total.data} />;
}

/** Entries read to find the agent's last words among what the loop wrote after them. */
const NEWEST = 200;

function Reader({ run, total }: { readonly run: RunView; readonly total: number }) {
  const runId = run.run_id;
  const [query, setQuery] = useSearchParams();
  const needle = query.get("search") ?? "";
  const [jump, setJump] = useState<Jump>(() => ({ n: numberOf(query.get("n")) ?? "end", id: 0 }));
  const [top, setTop] = useState(typeof jump.n === "number" ? jump.n : total);
  const go = useCallback((n: number | "end") => setJump((before) => ({ n, id: before.id + 1 })), []);
  const client = useQueryClient();

  const [missing, setMissing] = useState<string | null>(null);

  const wantedN = query.get("n");
  const named = useEffectEvent((n: number) => {
    setMissing(n > total ? `There is no entry ${count(n)}; this is the end.` : null);
    go(n > total ? "end" : n);
  });
  useEffect(() => {
    const n = numberOf(wantedN);
    if (n !== null) named(n);
  }, [wantedN]);

  const wantedIteration = query.get("iteration");
  useEffect(() => {
    const iteration = numberOf(wantedIteration);
    if (iteration === null) return;
    void client
      .fetchQuery({
        queryKey: ["entries", runId, "first-of", iteration],
        queryFn: ({ signal }) => read<EntryPage>(address(runId, "entries", { iteration, from: 1, limit: 1 }), signal),
      })
      .then(({ entries }) => {
        const first = entries[0];
        setMissing(first === undefined ? `Iteration ${count(iteration)} has no entries.` : null);
        if (first !== undefined) go(first.n);
      })
      .catch(() => {});
  }, [wantedIteration, runId, go, client]);

  const lastWords = async (): Promise<void> => {
    const { entries } = await read<EntryPage>(address(runId, "entries", { limit: NEWEST }));
    const words = entries.findLast((entry) => entry.kind === "message" && entry.who === "agent");
    go(words?.n ?? "end");
  };

  return (
    <div className="space-y-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <Search
          runId={runId}
          needle={needle}
          onSearch={(search) => setQuery(search === "" ? {} : { search }, { replace: true })}
          onHit={go}
        />
        <span className="flex items-center gap-1">
          <Step onClick={() => go(1)}>First</Step>
          <Step onClick={() => void lastWords()}>Last words</Step>
          <Step onClick={() => go("end")}>End</Step>
        </span>
        <IterationChooser runId={runId} top={top} onChoose={(iteration) => setQuery({ iteration: String(iteration) })} />
      </div>
      <p role="status" className="text-needs empty:hidden">
        {missing}
      </p>
      <label className="flex items-center gap-3 text-xs text-soft">
        <span className="whitespace-nowrap">
          entry <b className="font-medium text-ink">{count(Math.min(top, total))}</b> of {count(total)}
        </span>
        <input
          type="range"
          aria-label="Place in the transcript"
          min={1}
          max={total}
          value={Math.min(top, total)}
          onChange={(event) => {
            const n = Number(event.target.value);
            setTop(n);
            go(n >= total ? "end" : n);
          }}
          className="h-4 min-w-0 flex-1 accent-(--accent)"
        />
      </label>
      <EntryList runId={runId} total={total} jump={jump} needle={needle} workspace={run.workspace.path} onTop={setTop} />
    </div>
  );
}

function Step({ onClick, children }: { readonly onClick: () => void; readonly children: string }) {
  return (
    <button type="button" onClick={onClick} className="rounded border border-line px-2 py-0.5 hover:bg-raised">
      {children}
    </button>
  );
}

function IterationChooser({
  runId,
  top,
  onChoose,
}: {
  readonly runId: string;
  readonly top: number;
  readonly onChoose: (iteration: number) => void;
}) {
  const { data } = useEntryIndex(runId);
  const newest = data?.iterations.at(-1)?.iteration ?? 0;
  const here = data?.iterations.findLast((span) => span.first_n <= top)?.iteration ?? 0;
  return (
    <form
      className="flex items-center gap-1 text-soft"
      onSubmit={(event) => {
        event.preventDefault();
        const n = Number(new FormData(event.currentTarget).get("iteration"));
        if (Number.isInteger(n) && n >= 0) onChoose(n);
      }}
    >
      <label className="flex items-center gap-1">
        Iteration
        <input
          // Follows the reader until it is typed into.
          key={here}
          name="iteration"
          type="number"
          min={0}
          max={newest}
          defaultValue={here}
          className="w-20 rounded border border-line bg-ground px-2 py-0.5 text-ink"
        />
      </label>
      of {count(newest)}
      <button type="submit" className="rounded border border-line px-2 py-0.5 text-ink hover:bg-raised">
        Go
      </button>
    </form>
  );
}

function numberOf(text: string | null): number | null {
  const n = Number(text);
  return text === null || !Number.isInteger(n) || n < 0 ? null : n;
}
