import { part } from "../../../ui/part.tsx";
import { ScrollRegion } from "../../../ui/scroll-region.tsx";
import { instant } from "../format.ts";
import type { Curve } from "./chart.tsx";

const Chart = part(async () => (await import("./chart.tsx")).Chart, <div className="h-[200px]" />);

/** Rows of a table beside a chart at most: a shape is told by that many, and a reader is not read five thousand. */
const ROWS = 24;

/** A chart with its legend, and the same as a table. */
export function Panel({
  title,
  at_s,
  curves,
  show,
}: {
  readonly title: string;
  readonly at_s: readonly number[];
  readonly curves: readonly Curve[];
  readonly show: (value: number) => string;
}) {
  const step = Math.max(1, Math.ceil(at_s.length / ROWS));
  const rows = at_s.map((_, place) => place).filter((place) => place % step === 0 || place === at_s.length - 1);
  const cell = (value: number | null | undefined): string => (value == null ? "–" : show(value));
  return (
    <figure className="min-w-0 rounded border border-line px-3 pt-2 pb-2">
      <figcaption className="mb-1 flex flex-wrap items-baseline justify-between gap-x-4">
        <span className="font-medium">{title}</span>
        <span className="flex flex-wrap gap-x-3 text-xs text-soft" aria-hidden="true">
          {curves.map((curve) => (
            <span key={curve.label} className="flex items-center gap-1.5">
              <span className={`w-4 border-t-2 ${LINES[curve.ink]} ${curve.dashed === true ? "border-dashed" : ""}`} />
              {curve.label} <b className="font-medium text-ink">{cell(curve.values.at(-1))}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <Chart at_s={at_s} curves={curves} show={show} />
      <details className="mt-1 text-xs">
        <summary className="cursor-pointer text-accent">As a table</summary>
        <ScrollRegion label={`${title} as a table`} className="mt-1 max-h-60 overflow-auto">
          <table className="w-full text-right">
            <thead className="text-soft">
              <tr>
                <th scope="col" className="py-0.5 pr-3 text-left font-normal">
                  At
                </th>
                {curves.map((curve) => (
                  <th key={curve.label} scope="col" className="py-0.5 pl-3 font-normal">
                    {curve.label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((place) => (
                <tr key={place} className="border-t border-line/60">
                  <th scope="row" className="py-0.5 pr-3 text-left font-normal text-soft">
                    {instant((at_s[place] ?? 0) * 1000)}
                  </th>
                  {curves.map((curve) => (
                    <td key={curve.label} className="py-0.5 pl-3">
                      {cell(curve.values[place])}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      </details>
    </figure>
  );
}

const LINES: Record<Curve["ink"], string> = {
  accent: "border-accent",
  good: "border-good",
  needs: "border-needs",
  bad: "border-bad",
  soft: "border-soft",
};
