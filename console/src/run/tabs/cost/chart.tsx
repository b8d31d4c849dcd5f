import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { inks, onThemeChange } from "../theme-inks.ts";

export interface Curve {
  readonly label: string;
  readonly ink: "accent" | "good" | "needs" | "bad" | "soft";
  readonly values: readonly (number | null)[];
  readonly dashed?: boolean;
  readonly filled?: boolean;
}

const HEIGHT = 200;
/** A ceiling holds until it is moved. */
const STEPPED = uPlot.paths.stepped?.({ align: 1 }) ?? (() => null);
const DAY_S = 86_400;
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const SECOND = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const formatOf = (step: number): Intl.DateTimeFormat => (step >= DAY_S ? DAY : step >= 60 ? HOUR : SECOND);
const HOUR = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

/** Lines over time, for the eye: the table beside it says the same. */
export function Chart({
  at_s,
  curves,
  show,
}: {
  readonly at_s: readonly number[];
  readonly curves: readonly Curve[];
  readonly show: (value: number) => string;
}) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let plot: uPlot | null = null;
    const draw = (): void => {
      plot?.destroy();
      plot = new uPlot(
        options(element.clientWidth, curves, show),
        [[...at_s], ...curves.map((curve) => [...curve.values])],
        element,
      );
    };
    draw();
    const watch = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }));
    watch.observe(element);
    const forget = onThemeChange(draw);
    return () => {
      watch.disconnect();
      forget();
      plot?.destroy();
    };
  }, [at_s, curves, show]);
  return <div ref={place} aria-hidden="true" className="h-[200px] w-full overflow-hidden" />;
}

function options(width: number, curves: readonly Curve[], show: (value: number) => string): uPlot.Options {
  const ink = inks();
  const axis = {
    stroke: ink.soft,
    grid: { stroke: ink.line, width: 0.5 },
    ticks: { stroke: ink.line, width: 0.5, size: 4 },
    font: "11px system-ui",
  };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { points: { show: true }, drag: { x: true, y: false } },
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.05 : 1] } },
    axes: [
      {
        ...axis,
        size: 28,
        values: (_plot, splits, _axis, _space, step) => splits.map((at) => formatOf(step).format(at * 1000)),
      },
      { ...axis, size: 58, values: (_plot, values) => values.map(show) },
    ],
    series: [
      {},
      ...curves.map((curve) => ({
        label: curve.label,
        stroke: ink[curve.ink],
        width: 1.5,
        points: { show: false },
        ...(curve.dashed === true ? { dash: [5, 4], paths: STEPPED } : {}),
        ...(curve.filled === true ? { fill: `color-mix(in srgb, ${ink[curve.ink]} 14%, transparent)` } : {}),
      })),
    ],
  };
}
