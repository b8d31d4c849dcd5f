import type { Timeline, TimelineIteration } from "../../../../../src/tools/view-timeline.ts";

/** The timeline as lines of a table: heads of steps and attempts, iterations, and what happened between them. */

export type Mark = Timeline["marks"][number];
export type Act = Timeline["acts"][number];
type Attempt = Timeline["attempts"][number];

export type Row =
  | {
      readonly kind: "group";
      readonly key: string;
      readonly step: Timeline["steps"][number] | undefined;
      readonly attempt: number;
      readonly opened: Attempt | undefined;
      readonly iterations: number;
      readonly time_ms: number;
      readonly cost_usd: number | null;
    }
  | { readonly kind: "iteration"; readonly key: string; readonly iteration: TimelineIteration; readonly acts: readonly Act[] }
  | { readonly kind: "mark"; readonly key: string; readonly mark: Mark };

interface Total {
  iterations: number;
  time_ms: number;
  cost_usd: number | null;
}

export function rowsOf(timeline: Timeline): readonly Row[] {
  const { iterations, marks } = timeline;
  const totals = totalsOf(timeline);
  const acts = actsByIteration(timeline);
  const rows: Row[] = [];
  let place = 0;
  let group = "";
  const markUntil = (ms: number): void => {
    for (let mark = marks[place]; mark !== undefined && mark.at_ms <= ms; mark = marks[place]) {
      rows.push({ kind: "mark", key: `mark-${place}`, mark });
      place += 1;
    }
  };
  for (const iteration of iterations) {
    markUntil(iteration.started_ms);
    const key = groupOf(iteration);
    if (key !== group) {
      group = key;
      const total = totals.get(key);
      rows.push({
        kind: "group",
        key: `group-${iteration.ordinal}`,
        step: timeline.steps[iteration.step],
        attempt: iteration.attempt,
        opened: timeline.attempts.find((one) => one.step === iteration.step && one.attempt === iteration.attempt),
        iterations: total?.iterations ?? 0,
        time_ms: total?.time_ms ?? 0,
        cost_usd: total?.cost_usd ?? null,
      });
    }
    // An unfinished iteration shares its number with the next one: its acts came before its end.
    const own = (acts.get(iteration.n) ?? []).filter(
      (act) => act.at_ms >= iteration.started_ms && (iteration.ended_ms === null || act.at_ms <= iteration.ended_ms + 1_000),
    );
    rows.push({ kind: "iteration", key: `iteration-${iteration.ordinal}`, iteration, acts: own });
  }
  markUntil(Number.POSITIVE_INFINITY);
  return rows;
}

const groupOf = ({ step, attempt }: TimelineIteration): string => `${step}.${attempt}`;

function totalsOf({ iterations, now_ms }: Timeline): ReadonlyMap<string, Total> {
  const totals = new Map<string, Total>();
  for (const iteration of iterations) {
    const key = groupOf(iteration);
    const total = totals.get(key) ?? { iterations: 0, time_ms: 0, cost_usd: null };
    total.iterations += 1;
    total.time_ms += (iteration.ended_ms ?? now_ms) - iteration.started_ms;
    if (iteration.cost_usd !== null) total.cost_usd = (total.cost_usd ?? 0) + iteration.cost_usd;
    totals.set(key, total);
  }
  return totals;
}

function actsByIteration({ acts }: Timeline): ReadonlyMap<number, readonly Act[]> {
  const grouped = new Map<number, Act[]>();
  for (const act of acts) grouped.set(act.n, [...(grouped.get(act.n) ?? []), act]);
  return grouped;
}

/** The time that fills a bar's whole track: almost all iterations fit, and a few very long ones do not flatten the rest. */
export function fullBar({ iterations, now_ms }: Timeline): number {
  const times = iterations.map((one) => (one.ended_ms ?? now_ms) - one.started_ms).sort((a, b) => a - b);
  return Math.max(1_000, times[Math.floor((times.length - 1) * 0.97)] ?? 0);
}
