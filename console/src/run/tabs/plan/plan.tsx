import { useState } from "react";
import { Link } from "react-router";
import type { RunView } from "../../../../../src/tools/schemas.ts";
import type { PlanHistory } from "../../../../../src/tools/view-plans.ts";
import { ScrollRegion } from "../../../ui/scroll-region.tsx";
import { usePlans } from "../data.ts";
import { instant, many } from "../format.ts";
import { keyed } from "../keyed.ts";
import { Empty, Failed, Loading } from "../states.tsx";

/** Columns side by side at most; earlier ones are a click away. */
const COLUMNS = 40;

export function Plan({ run }: { readonly run: RunView }) {
  const { data, error, refetch } = usePlans(run.run_id);
  if (error !== null && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined) return <Loading what="the plan" />;
  if (data.present.length === 0 && data.plans.length === 0)
    return <Empty title="The agent told no plan.">Not every agent keeps a to-do list; what it did is in the transcript.</Empty>;
  return (
    <div className="space-y-6">
      <Present runId={run.run_id} history={data} />
      {data.plans.length > 0 && <History runId={run.run_id} history={data} />}
    </div>
  );
}

const MARKS = [
  { sign: "○", words: "pending", ink: "text-soft" },
  { sign: "◐", words: "in progress", ink: "text-busy" },
  { sign: "✓", words: "completed", ink: "text-good" },
] as const;
const PLACES = { pending: 0, in_progress: 1, completed: 2 } as const;

function Mark({ status }: { readonly status: number }) {
  const mark = MARKS[status] ?? MARKS[0];
  return (
    <span className={mark.ink}>
      <span aria-hidden="true">{mark.sign}</span>
      <span className="sr-only">{mark.words}</span>
    </span>
  );
}

function Present({ runId, history }: { readonly runId: string; readonly history: PlanHistory }) {
  const { present, present_n } = history;
  const done = present.filter((entry) => entry.status === "completed").length;
  return (
    <section aria-labelledby="plan-now">
      <h3 id="plan-now" className="flex flex-wrap items-baseline gap-x-3 font-medium">
        The plan now
        <span className="font-normal text-soft">
          {done} of {many(present.length, "item")} completed · told by the agent
          {present_n !== null && (
            <>
              {" · "}
              <Link className="text-accent hover:underline" to={`/runs/${runId}/transcript?n=${present_n}`}>
                in the transcript
              </Link>
            </>
          )}
        </span>
      </h3>
      <div className="mt-2 flex h-1.5 max-w-xl overflow-hidden rounded-sm bg-raised" aria-hidden="true">
        <span className="bg-good" style={{ width: `${(done / Math.max(1, present.length)) * 100}%` }} />
      </div>
      <ol className="mt-3 max-w-3xl space-y-1">
        {keyed(present, (entry) => entry.content).map(({ key, item: entry }) => (
          <li key={key} className="flex gap-2">
            <Mark status={PLACES[entry.status]} />
            <span className={entry.status === "completed" ? "text-soft" : entry.status === "in_progress" ? "font-medium" : ""}>
              {entry.content}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function History({ runId, history }: { readonly runId: string; readonly history: PlanHistory }) {
  const { items, plans } = history;
  const [end, setEnd] = useState<number | null>(null);
  const last = end ?? plans.length;
  const shown = plans.slice(Math.max(0, last - COLUMNS), last);
  const used = items.map((_, item) => shown.some((plan) => plan.entries.some(([place]) => place === item)));
  return (
    <section aria-labelledby="plan-moved">
      <h3 id="plan-moved" className="flex flex-wrap items-baseline gap-x-3 font-medium">
        How it moved
        <span className="font-normal text-soft">
          {many(plans.length, "change")}, each at the end of its iteration
          {plans.length > COLUMNS && (
            <>
              {" · "}
              <Page disabled={last <= COLUMNS} onClick={() => setEnd(Math.max(COLUMNS, last - COLUMNS))}>
                earlier
              </Page>{" "}
              <Page
                disabled={last >= plans.length}
                onClick={() => setEnd(last + COLUMNS >= plans.length ? null : last + COLUMNS)}
              >
                later
              </Page>
            </>
          )}
        </span>
      </h3>
      <ScrollRegion label="The plan over time" className="mt-2 w-fit max-w-full overflow-x-auto rounded border border-line">
        <table className="border-separate border-spacing-0">
          <thead>
            <tr>
              <th
                scope="col"
                className="sticky left-0 z-10 border-b border-r border-line bg-raised px-3 py-1 text-left text-xs font-medium text-soft"
              >
                Item
              </th>
              {shown.map((plan) => (
                <th
                  key={`${plan.iteration} ${plan.at_ms}`}
                  scope="col"
                  className="border-b border-line bg-raised px-2 py-1 text-xs font-normal"
                >
                  <Link
                    className="text-accent hover:underline"
                    to={`/runs/${runId}/transcript?iteration=${plan.iteration}`}
                    title={`Iteration ${plan.iteration}, ${instant(plan.at_ms)}`}
                  >
                    <span className="sr-only">Iteration </span>
                    {plan.iteration}
                  </Link>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items.map((content, item) =>
              used[item] === true ? (
                <tr key={content} className="hover:bg-raised">
                  <th
                    scope="row"
                    title={content}
                    className="sticky left-0 max-w-[22rem] truncate border-r border-b border-line border-b-line/60 bg-ground px-3 py-1 text-left font-normal max-sm:max-w-40"
                  >
                    {content}
                  </th>
                  {shown.map((plan) => {
                    const entry = plan.entries.find(([place]) => place === item);
                    return (
                      <td key={`${plan.iteration} ${plan.at_ms}`} className="border-b border-line/60 px-2 py-1 text-center">
                        {entry === undefined ? <span className="sr-only">not in the plan</span> : <Mark status={entry[1]} />}
                      </td>
                    );
                  })}
                </tr>
              ) : null,
            )}
          </tbody>
        </table>
      </ScrollRegion>
    </section>
  );
}

function Page({
  disabled,
  onClick,
  children,
}: {
  readonly disabled: boolean;
  readonly onClick: () => void;
  readonly children: string;
}) {
  return (
    <button
      type="button"
      disabled={disabled}
      onClick={onClick}
      className="text-accent hover:underline disabled:text-soft disabled:no-underline"
    >
      {children}
    </button>
  );
}
