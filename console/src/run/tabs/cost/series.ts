import type { Timeline } from "../../../../../src/tools/view-timeline.ts";

/** Sums over a run, one point at the end of each iteration. Instants in seconds, as the charts want them. */
export interface Series {
  readonly at_s: readonly number[];
  readonly iterations: readonly number[];
  readonly ceiling: readonly number[];
  readonly input: readonly number[];
  readonly output: readonly number[];
  /** Null where no engine told a cost yet. */
  readonly cost: readonly (number | null)[];
}

export function seriesOf({ iterations, marks, first_cap, now_ms }: Timeline): Series {
  const at_s: number[] = [];
  const finished: number[] = [];
  const ceilings: number[] = [];
  const inputs: number[] = [];
  const outputs: number[] = [];
  const costs: (number | null)[] = [];
  let done = 0;
  let input = 0;
  let output = 0;
  let cost: number | null = null;
  let ceiling = first_cap;
  let grant = 0;
  const grants = marks.flatMap((mark) =>
    mark.kind === "grant" ? [{ at_ms: mark.at_ms, by: Number(/\d+/u.exec(mark.what)?.[0] ?? 0) }] : [],
  );
  for (const iteration of iterations) {
    const end = iteration.ended_ms ?? now_ms;
    for (let next = grants[grant]; next !== undefined && next.at_ms <= end; next = grants[grant]) {
      ceiling += next.by;
      grant += 1;
    }
    done += iteration.finished ? 1 : 0;
    input += iteration.input_tokens;
    output += iteration.output_tokens;
    if (iteration.cost_usd !== null) cost = (cost ?? 0) + iteration.cost_usd;
    at_s.push(end / 1000);
    finished.push(done);
    ceilings.push(ceiling);
    inputs.push(input);
    outputs.push(output);
    costs.push(cost);
  }
  return { at_s, iterations: finished, ceiling: ceilings, input: inputs, output: outputs, cost: costs };
}

export interface Phase {
  readonly name: string;
  readonly iterations: number;
  readonly time_ms: number;
  readonly tokens: number;
  readonly cost_usd: number | null;
}

/** Where time and money went: by step. */
export function phasesOf({ steps, iterations, now_ms }: Timeline): readonly Phase[] {
  return steps.map((step, place) => {
    const own = iterations.filter((one) => one.step === place);
    const told = own.flatMap((one) => (one.cost_usd === null ? [] : [one.cost_usd]));
    return {
      name: step.title ?? (step.step === "main" ? "The run" : step.step),
      iterations: own.length,
      time_ms: sum(own.map((one) => (one.ended_ms ?? now_ms) - one.started_ms)),
      tokens: sum(own.map((one) => one.input_tokens + one.output_tokens)),
      cost_usd: told.length === 0 ? null : sum(told),
    };
  });
}

export interface Shares {
  readonly engine_ms: number;
  /** Within iterations, beside the engine's time: checks, checkpoints, starting the engine. */
  readonly around_ms: number;
  /** Between iterations: stopped, waiting, or being resumed. */
  readonly between_ms: number;
}

export function sharesOf({ iterations, usage, now_ms }: Timeline): Shares {
  const first = iterations[0];
  const last = iterations.at(-1);
  if (first === undefined || last === undefined) return { engine_ms: 0, around_ms: 0, between_ms: 0 };
  const within = sum(iterations.map((one) => (one.ended_ms ?? now_ms) - one.started_ms));
  const whole = (last.ended_ms ?? now_ms) - first.started_ms;
  const engine = Math.min(usage.active_ms, within);
  return { engine_ms: engine, around_ms: within - engine, between_ms: Math.max(0, whole - within) };
}

/** Iterations that tell the pace. */
const RECENT = 20;

export interface Outlook {
  /** Iterations that are left, and how many told the pace. */
  readonly left: number;
  readonly of: number;
  readonly time_ms: number;
  readonly cost_usd: number | null;
  /** The first bound of the budget that would be met before the iterations are used up. */
  readonly budget: { readonly what: string; readonly iterations: number } | null;
}

/** Where it would end at the pace of the last iterations; null before one has finished. */
export function outlookOf(timeline: Timeline): Outlook | null {
  const recent = timeline.iterations.filter((one) => one.finished).slice(-RECENT);
  if (recent.length === 0) return null;
  const each = (total: number): number => total / recent.length;
  const costs = recent.flatMap((one) => (one.cost_usd === null ? [] : [one.cost_usd]));
  const time = each(sum(recent.map((one) => (one.ended_ms ?? one.started_ms) - one.started_ms)));
  const tokens = each(sum(recent.map((one) => one.input_tokens + one.output_tokens)));
  const cost = costs.length === 0 ? null : sum(costs) / costs.length;
  const left = Math.max(0, timeline.max_iterations - timeline.iteration);
  return {
    left,
    of: recent.length,
    time_ms: time * left,
    cost_usd: cost === null ? null : cost * left,
    budget: firstBound(timeline, { time, tokens, cost, left }),
  };
}

function firstBound(
  { budget, usage }: Timeline,
  pace: { readonly time: number; readonly tokens: number; readonly cost: number | null; readonly left: number },
): Outlook["budget"] {
  const bounds = [
    { what: "money", limit: budget?.cost_usd, used: usage.cost_usd ?? 0, each: pace.cost ?? 0 },
    { what: "tokens", limit: budget?.tokens, used: usage.input_tokens + usage.output_tokens, each: pace.tokens },
    {
      what: "time",
      limit: budget?.minutes === undefined ? undefined : budget.minutes * 60_000,
      used: usage.active_ms,
      each: pace.time,
    },
  ];
  const met = bounds.flatMap(({ what, limit, used, each }) =>
    limit === undefined || each <= 0 ? [] : [{ what, iterations: Math.max(0, Math.floor((limit - used) / each)) }],
  );
  met.sort((a, b) => a.iterations - b.iterations);
  const [first] = met;
  return first === undefined || first.iterations >= pace.left ? null : first;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
