import { type ReactNode, useMemo } from "react";
import type { RunView } from "../../../../../src/tools/schemas.ts";
import type { Timeline } from "../../../../../src/tools/view-timeline.ts";
import { useTimeline } from "../data.ts";
import { count, duration, many, money, tokens } from "../format.ts";
import { Empty, Failed, Loading } from "../states.tsx";
import type { Curve } from "./chart.tsx";
import { Panel } from "./panel.tsx";
import { outlookOf, phasesOf, seriesOf, sharesOf } from "./series.ts";

export function Cost({ run }: { readonly run: RunView }) {
  const { data, error, refetch } = useTimeline(run.run_id);
  if (error !== null && data === undefined) return <Failed error={error} again={() => void refetch()} />;
  if (data === undefined) return <Loading what="what it used" />;
  if (data.iterations.length === 0)
    return <Empty title="Nothing was used yet.">Tokens and money are told by the engine as it works.</Empty>;
  return (
    <div className="space-y-4">
      <Figures timeline={data} />
      <Charts timeline={data} />
      <div className="grid gap-4 lg:grid-cols-2">
        <Shares timeline={data} />
        <Steps timeline={data} />
      </div>
    </div>
  );
}

function Figures({ timeline }: { readonly timeline: Timeline }) {
  const { usage, budget, iteration, max_iterations } = timeline;
  const outlook = outlookOf(timeline);
  const ended = timeline.state === "done";
  return (
    <div>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-3 sm:grid-cols-4">
        <Figure
          name="Iterations"
          used={count(iteration)}
          of={count(max_iterations)}
          share={iteration / Math.max(1, max_iterations)}
        />
        <Figure
          name="Money"
          used={usage.cost_usd === null ? "not told" : money(usage.cost_usd)}
          of={budget?.cost_usd === undefined ? null : money(budget.cost_usd)}
          share={budget?.cost_usd === undefined ? null : (usage.cost_usd ?? 0) / budget.cost_usd}
        />
        <Figure
          name="Tokens"
          used={tokens(usage.input_tokens + usage.output_tokens)}
          of={budget?.tokens === undefined ? null : tokens(budget.tokens)}
          share={budget?.tokens === undefined ? null : (usage.input_tokens + usage.output_tokens) / budget.tokens}
        />
        <Figure
          name="Engine's time"
          used={duration(usage.active_ms)}
          of={budget?.minutes === undefined ? null : duration(budget.minutes * 60_000)}
          share={budget?.minutes === undefined ? null : usage.active_ms / (budget.minutes * 60_000)}
        />
      </dl>
      {outlook !== null && !ended && (
        <p className="mt-3 text-soft">
          {outlook.left === 0
            ? "No iteration is left."
            : `At the pace of the last ${many(outlook.of, "iteration")}, the ${count(outlook.left)} left would take ${duration(outlook.time_ms)}${outlook.cost_usd === null ? "" : ` and cost ${money(outlook.cost_usd)}`}.`}
          {outlook.budget !== null && (
            <span className="text-needs">
              {" "}
              The budget of {outlook.budget.what} would end it after {many(outlook.budget.iterations, "iteration")} more.
            </span>
          )}
        </p>
      )}
    </div>
  );
}

function Figure({
  name,
  used,
  of,
  share,
}: {
  readonly name: string;
  readonly used: string;
  readonly of: string | null;
  readonly share: number | null;
}) {
  return (
    <div>
      <dt className="text-xs text-soft">{name}</dt>
      <dd>
        <span className="text-lg font-medium">{used}</span>
        {of !== null && <span className="text-soft"> of {of}</span>}
        {share !== null && (
          <span className="mt-1 block h-1 overflow-hidden rounded-sm bg-raised" aria-hidden="true">
            <span
              className={`block h-full ${share >= 0.9 ? "bg-needs" : "bg-accent"}`}
              style={{ width: `${Math.min(100, share * 100)}%` }}
            />
          </span>
        )}
      </dd>
    </div>
  );
}

function Charts({ timeline }: { readonly timeline: Timeline }) {
  const series = useMemo(() => seriesOf(timeline), [timeline]);
  const { budget } = timeline;
  const curves = useMemo(
    () => ({
      iterations: [
        { label: "finished", ink: "accent", values: series.iterations, filled: true },
        { label: "ceiling", ink: "soft", values: series.ceiling, dashed: true },
      ] satisfies Curve[],
      tokens: [
        { label: "in", ink: "accent", values: series.input, filled: true },
        { label: "out", ink: "needs", values: series.output },
      ] satisfies Curve[],
      cost: [
        { label: "spent", ink: "accent", values: series.cost, filled: true },
        ...(budget?.cost_usd === undefined
          ? []
          : [{ label: "budget", ink: "soft", values: series.at_s.map(() => budget.cost_usd ?? null), dashed: true } as const]),
      ] satisfies Curve[],
    }),
    [series, budget],
  );
  const told = series.cost.some((cost) => cost !== null);
  return (
    <div className="grid gap-4 lg:grid-cols-3">
      <Panel title="Iterations" at_s={series.at_s} curves={curves.iterations} show={count} />
      <Panel title="Tokens" at_s={series.at_s} curves={curves.tokens} show={tokens} />
      {told ? (
        <Panel title="Money" at_s={series.at_s} curves={curves.cost} show={money} />
      ) : (
        <Empty title="Money: not told">The engine of this run tells no cost.</Empty>
      )}
    </div>
  );
}

function Shares({ timeline }: { readonly timeline: Timeline }) {
  const shares = useMemo(() => sharesOf(timeline), [timeline]);
  const rows = [
    { name: "Engine at work", ms: shares.engine_ms, ink: "bg-accent" },
    { name: "Checks, checkpoints, starting", ms: shares.around_ms, ink: "bg-good" },
    { name: "Stopped or waiting", ms: shares.between_ms, ink: "bg-line" },
  ];
  const whole = Math.max(
    1,
    rows.reduce((total, row) => total + row.ms, 0),
  );
  return (
    <Table title="Where the time went" heads={["Phase", "Time", "Share"]}>
      {rows.map((row) => (
        <tr key={row.name} className="border-t border-line/60">
          <th scope="row" className="py-1 text-left font-normal">
            <span className={`mr-2 inline-block h-2.5 w-2.5 rounded-sm ${row.ink}`} aria-hidden="true" />
            {row.name}
          </th>
          <td className="py-1 text-right">{duration(row.ms)}</td>
          <td className="py-1 text-right text-soft">{Math.round((row.ms / whole) * 100)} %</td>
        </tr>
      ))}
    </Table>
  );
}

function Steps({ timeline }: { readonly timeline: Timeline }) {
  const phases = useMemo(() => phasesOf(timeline), [timeline]);
  return (
    <Table title="By step" heads={["Step", "Iterations", "Time", "Tokens", "Cost"]}>
      {phases.map((phase) => (
        <tr key={phase.name} className="border-t border-line/60">
          <th scope="row" className="max-w-0 truncate py-1 text-left font-normal" title={phase.name}>
            {phase.name}
          </th>
          <td className="py-1 pl-3 text-right">{count(phase.iterations)}</td>
          <td className="whitespace-nowrap py-1 pl-3 text-right">{duration(phase.time_ms)}</td>
          <td className="whitespace-nowrap py-1 pl-3 text-right">{tokens(phase.tokens)}</td>
          <td className="py-1 pl-3 text-right">{money(phase.cost_usd)}</td>
        </tr>
      ))}
    </Table>
  );
}

function Table({
  title,
  heads,
  children,
}: {
  readonly title: string;
  readonly heads: readonly string[];
  readonly children: ReactNode;
}) {
  return (
    <section className="min-w-0 rounded border border-line px-3 py-2">
      <table className="w-full">
        <caption className="pb-1 text-left font-medium">{title}</caption>
        <thead className="text-xs text-soft">
          <tr>
            {heads.map((head, place) => (
              <th key={head} scope="col" className={`pb-1 font-normal ${place === 0 ? "w-1/2 text-left" : "pl-3 text-right"}`}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
