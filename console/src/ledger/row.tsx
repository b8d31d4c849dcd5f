import { memo, useEffect, useRef } from "react";
import { Link } from "react-router";
import type { LedgerRow } from "../../../src/tools/view-ledger.ts";
import { ActionBar } from "../actions/bar.tsx";
import { clockTime } from "../ui/clock.ts";
import { StateBadge } from "../ui/state-badge.tsx";
import { Ago, Since } from "../ui/time.tsx";
import { atStake, money, whyLine } from "./words.ts";

/** One run: how it stands, why, what is at stake, and what may be done. Columns on a desk, three lines on a phone. */
export const Row = memo(function Row({
  row,
  chosen,
  onChoose,
}: {
  readonly row: LedgerRow;
  readonly chosen: boolean;
  readonly onChoose: (id: string) => void;
}) {
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (chosen) link.current?.focus({ preventScroll: true });
  }, [chosen]);
  return (
    <article
      aria-label={row.objective}
      className={`grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 border-b border-line px-2 py-1.5 lg:grid-cols-[13.5rem_minmax(0,1fr)_7.5rem_7.5rem_6rem_4rem_17.5rem] lg:items-baseline ${chosen ? "bg-raised" : "hover:bg-raised"}`}
    >
      <div className="col-start-1 overflow-hidden">
        <StateBadge run={row} />
      </div>
      <Link
        ref={link}
        to={`/runs/${row.run_id}`}
        onFocus={() => onChoose(row.run_id)}
        className="col-span-2 row-start-2 truncate font-medium hover:underline lg:col-span-1 lg:col-start-2 lg:row-start-1"
        title={row.objective}
      >
        {row.objective}
      </Link>
      <span
        className="hidden truncate text-[13px] text-soft lg:block"
        title={row.branch === null ? row.repo.name : `${row.repo.name} · ${row.branch}`}
      >
        {row.repo.name}
      </span>
      <Iterations row={row} />
      <When row={row} />
      <span className="hidden text-right text-[13px] text-soft lg:block">{row.cost_usd === null ? "" : money(row.cost_usd)}</span>
      <div className="col-start-2 row-start-1 justify-self-end lg:col-start-7 lg:row-span-2 lg:w-full lg:self-center">
        <div className="flex justify-end">
          <ActionBar run={row} offers={row.actions} />
        </div>
      </div>
      <p className="col-span-2 row-start-3 min-w-0 text-[13px] leading-snug break-words text-soft lg:col-span-5 lg:col-start-2 lg:row-start-2 lg:flex">
        <span className="lg:hidden">
          {row.repo.name} · {row.iteration}/{row.max_iterations} ·{" "}
        </span>
        <What row={row} />
      </p>
    </article>
  );
});

function Iterations({ row }: { readonly row: LedgerRow }) {
  return (
    <span
      className="hidden items-center gap-2 text-[13px] text-soft lg:flex"
      title={`${row.iteration} of ${row.max_iterations} iterations finished`}
    >
      <meter min={0} max={row.max_iterations} value={row.iteration} className="loop-meter" aria-label="iterations" />
      <span>
        {row.iteration}/{row.max_iterations}
      </span>
    </span>
  );
}

function When({ row }: { readonly row: LedgerRow }) {
  const at = row.stopped_at ?? row.started_at ?? row.created_at;
  return (
    <span className="hidden whitespace-nowrap text-[13px] text-soft lg:block">
      {row.group === "running" && row.started_at !== null ? (
        <>
          for <Since at={row.started_at} />
        </>
      ) : (
        <Ago at={at} />
      )}
    </span>
  );
}

/**
 * On a desk all of it is one line: where there is no room, first the agent's own words are cut off, then the cause, never the
 * counts. Its factor leaves the cause less than a pixel's share, which would already cut off a word of it.
 */
function What({ row }: { readonly row: LedgerRow }) {
  if (row.group === "running")
    return (
      <span className="min-w-0 lg:truncate">
        <Doing row={row} />
      </span>
    );
  const why = whyLine(row);
  const stake = atStake(row).join(" · ");
  const midway = row.state === "done" ? null : row.at_stake.midway;
  return (
    <>
      {row.waiting_until !== null && (
        <span className="shrink-0 whitespace-pre text-busy">
          goes on at {clockTime(row.waiting_until)} (<Ago at={row.waiting_until} />) ·{" "}
        </span>
      )}
      {why !== null && (
        <span title={why} className={`lg:truncate lg:whitespace-pre ${row.group === "needs_you" ? "text-ink" : ""}`}>
          {why}
        </span>
      )}
      {stake !== "" && (
        <span className="lg:shrink-0 lg:whitespace-pre">
          {why !== null && " · "}
          {stake}
        </span>
      )}
      {midway !== null && (
        <span title={midway} className="lg:min-w-0 lg:shrink-[1000000] lg:truncate lg:whitespace-pre">
          {(why !== null || stake !== "") && " · "}
          mid-way: {midway}
        </span>
      )}
    </>
  );
}

function Doing({ row }: { readonly row: LedgerRow }) {
  return (
    <>
      {row.step !== null && (
        <>
          step {row.step.number}/{row.step.of} {row.step.title ?? row.step.step} ·{" "}
        </>
      )}
      {row.state === "queued"
        ? "waits for a worker"
        : row.state === "stopping"
          ? "its work is being saved"
          : `iteration ${row.iteration + 1}`}
      {row.doing !== null && (
        <>
          {" "}
          · <span className="font-mono text-[12px] text-ink">{row.doing}</span>
        </>
      )}
      {row.progress_at !== null && (
        <>
          {" "}
          · <Since at={row.progress_at} />
        </>
      )}
    </>
  );
}
