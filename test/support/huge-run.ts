import { isoOf } from "../../src/run/clock.ts";
import type { NewJournalEntry, NewRunEvent } from "../../src/run/event.ts";
import type { CheckpointRecord, IterationRecord, PlanEntry, RunRecord } from "../../src/run/run.ts";
import type { Store } from "../../src/store/store.ts";
import { generator, type Pick } from "./generator.ts";
import { aNewRun, anAttempt, anIteration, aStep, aStop } from "./records.ts";

/** The record of a run as long as any may become, written without an engine. */

const START = Date.parse("2026-11-01T06:00:00.000Z");
const STEPS = ["map", "port", "prove"] as const;
const OUTCOMES = ["end_turn", "end_turn", "end_turn", "end_turn", "max_turn_requests", "max_tokens"] as const;
const WORDS = "the importer reads each row writes it once and keeps a mark of where it was so that a second start goes on".split(
  " ",
);

/** Stands in one entry of all. */
export const NEEDLE = "the one word: quokka";

export interface HugeRun {
  readonly run_id: string;
  /** Iterations that count; every 631st was cut off. */
  readonly finished: number;
  readonly entries: number;
  /** The entry that holds NEEDLE. */
  readonly needle_n: number;
}

/** Iterations and the entries of each are given; everything else is drawn from a fixed seed. */
export async function writeHugeRun(
  store: Store,
  input: { readonly iterations: number; readonly entries: number; readonly run?: Partial<RunRecord> },
): Promise<HugeRun> {
  const pick = generator(4711);
  const times = timesOf(pick, input.iterations);
  const last = times.at(-1)?.ended ?? START;
  const { run } = await createRun(store, input, times);
  const { run_id } = run;
  let plan: readonly PlanEntry[] = [];
  for (let first = 0; first < input.iterations; first += BATCH) {
    const rows: IterationRecord[] = [];
    const checkpoints: CheckpointRecord[] = [];
    const events: NewRunEvent[] = [];
    for (let index = first; index < Math.min(first + BATCH, input.iterations); index += 1) {
      const time = times[index] ?? { started: START, ended: START };
      const at = isoOf(time.ended);
      rows.push(iterationRow(pick, index, input.iterations, time));
      checkpoints.push(checkpointRow(pick, index, at));
      const next = planAt(index, input.iterations);
      if (JSON.stringify(next) !== JSON.stringify(plan))
        events.push({
          type: "plan_changed",
          at,
          data: { iteration: numberOf(index), step: stepOf(index, input.iterations), entries: next },
        });
      plan = next;
      if (!isCut(index))
        events.push({ type: "iteration_finished", at, data: { iteration: numberOf(index), verify: [index % 7 === 0 ? 1 : 0] } });
    }
    const recorded = { type: "run_recorded", at: isoOf(last), data: {} } as const;
    await store.apply({
      run_id,
      at: isoOf(last),
      bump_revision: true,
      iterations: rows,
      checkpoints,
      events: [...events, recorded],
    });
  }
  const needle = Math.floor(input.iterations * 0.6);
  for (let first = 0; first < input.iterations; first += FLUSH) {
    const entries = times
      .slice(first, first + FLUSH)
      .flatMap((time, place) => iterationEntries(pick, first + place, input, time.started, first + place === needle));
    await store.appendJournal({ run_id, fence: 0, at: isoOf(last), entries });
  }
  const finished = numberOf(input.iterations) - 1;
  await finish(store, run_id, finished, isoOf(last), plan);
  return { run_id, finished, entries: input.iterations * input.entries, needle_n: needle * input.entries + 3 };
}

const BATCH = 200;
/** Iterations of one append: a chunk then holds the end of one and the beginning of the next, as real ones do. */
const FLUSH = 10;
const CUT_EVERY = 631;
/** An iteration that was cut off leaves its number to the next one. */
const numberOf = (index: number): number => index + 1 - Math.floor(index / CUT_EVERY);
const isCut = (index: number): boolean => index % CUT_EVERY === CUT_EVERY - 1;

type Times = readonly { readonly started: number; readonly ended: number }[];

function timesOf(pick: Pick, count: number): Times {
  let clock = START;
  return Array.from({ length: count }, (_, index) => {
    const started = clock + pick(4_000) + (index % 400 === 399 ? 7_200_000 : 0);
    const ended = started + 20_000 + pick(90_000) + (pick(12) === 0 ? 240_000 : 0);
    clock = ended;
    return { started, ended };
  });
}

async function createRun(
  store: Store,
  input: { readonly iterations: number; readonly run?: Partial<RunRecord> },
  times: Times,
): Promise<{ readonly run: RunRecord }> {
  const created = aNewRun({
    objective: "Make the import resumable, table by table, until every fixture passes",
    owner: "local",
    first_cap: numberOf(input.iterations) - 1 - 40,
    max_iterations: numberOf(input.iterations) - 1 - 40,
    created_at: isoOf(START),
    started_at: isoOf(START),
    ...input.run,
  });
  const run = await store.createRun({
    ...created,
    steps: STEPS.map((step, position) =>
      aStep({ step, position, title: `${step} the import`, state: position === 2 ? "stopped" : "succeeded", attempt: 1 }),
    ),
    attempts: STEPS.map((step, place) => {
      const opened = times[Math.floor((place * times.length) / STEPS.length)]?.started ?? START;
      return anAttempt({ step, opened_at: isoOf(opened), context: "new", entry_checkpoint: place === 0 ? "entry-0" : null });
    }),
    tree_hold: created.run.workspace_path,
  });
  await store.apply({
    run_id: run.run_id,
    at: isoOf(times[Math.floor(times.length / 2)]?.started ?? START),
    bump_revision: true,
    grants: [{ iterations: 40, at: isoOf(times[Math.floor(times.length / 2)]?.started ?? START) }],
    events: [
      { type: "iterations_granted", at: isoOf(times[Math.floor(times.length / 2)]?.started ?? START), data: { iterations: 40 } },
    ],
  });
  return { run };
}

const stepOf = (index: number, count: number): string => STEPS[Math.floor((index * STEPS.length) / count)] ?? STEPS[0];

function iterationRow(pick: Pick, index: number, count: number, time: Times[number]): IterationRecord {
  const cut = isCut(index);
  return anIteration(index + 1, {
    number: numberOf(index),
    step: stepOf(index, count),
    started_at: isoOf(time.started),
    ended_at: isoOf(time.ended),
    outcome: cut ? "relay_timeout" : (OUTCOMES[pick(OUTCOMES.length)] ?? "end_turn"),
    finished: !cut,
    checkpoint_end: `checkpoint-${index + 1}`,
    input_tokens: 20_000 + pick(60_000),
    output_tokens: 800 + pick(4_000),
    // An engine tells what its session cost so far; each step has a session.
    cost_usd: (((index % Math.ceil(count / STEPS.length)) + 1) * 41 + pick(30)) / 1000,
    summary: index % 3 === 0 ? sentence(pick, 9) : null,
  });
}

function checkpointRow(pick: Pick, index: number, at: string): CheckpointRecord {
  return {
    id: `checkpoint-${index + 1}`,
    kind: "iteration",
    iteration: numberOf(index),
    step: "main",
    attempt: 1,
    at,
    commit: "c".repeat(40),
    tree: "d".repeat(40),
    index_tree: null,
    head: "b".repeat(40),
    branch: "refs/heads/loopkeeper/abc",
    files: pick(40),
    bytes: pick(400_000),
    skipped: index % 2 === 0 ? [{ path: "data/dump.bin", bytes: 300_000_000, why: "too_big" }] : [],
    state: "present",
    failure: null,
  };
}

function planAt(index: number, count: number): PlanEntry[] {
  const at = Math.floor((index * 12) / count);
  return Array.from({ length: 12 }, (_, item) => ({
    content: `Port table ${item + 1} of 12`,
    status: item < at ? "completed" : item === at ? "in_progress" : "pending",
  }));
}

function iterationEntries(
  pick: Pick,
  index: number,
  input: { readonly entries: number },
  started: number,
  needle: boolean,
): NewJournalEntry[] {
  return Array.from({ length: input.entries }, (_, place): NewJournalEntry => {
    const base = { iteration: numberOf(index), at: isoOf(started + place * 250) };
    if (place === 0) return { ...base, who: "loop", kind: "prompt", text: `Iteration ${numberOf(index)}. ${sentence(pick, 30)}` };
    if (place === 2 && needle) return { ...base, who: "agent", kind: "message", text: `I found ${NEEDLE}.` };
    const id = `call-${index}-${place - (place % 2)}`;
    const title = `Read src/import/table-${pick(40)}.ts`;
    switch (place % 8) {
      case 1:
        return { ...base, who: "agent", kind: "thought", text: sentence(pick, 20 + pick(60)) };
      case 2:
      case 4:
      case 6:
        return {
          ...base,
          who: "agent",
          kind: "tool_call",
          text: title,
          data: { id, title, kind: "read", paths: ["src/import.ts"], status: "pending", command: null },
        };
      case 3:
      case 5:
        return {
          ...base,
          who: "tool",
          kind: "tool_result",
          text: lines(pick, 3 + pick(40)),
          data: { id, title, status: pick(9) === 0 ? "failed" : "completed", bytes: 900 },
        };
      default:
        return { ...base, who: "agent", kind: "message", text: sentence(pick, 8 + pick(60)) };
    }
  });
}

async function finish(store: Store, run_id: string, iterations: number, at: string, plan: readonly PlanEntry[]): Promise<void> {
  await store.apply({
    run_id,
    at,
    bump_revision: true,
    run: {
      state: "stopped",
      stop_reason: "max_iterations",
      stop: aStop({ at, iteration: iterations, evidence: `${iterations} of ${iterations}`, step: "prove" }),
      stopped_at: at,
      iteration: iterations,
      plan,
      usage: {
        input_tokens: iterations * 50_000,
        output_tokens: iterations * 2_800,
        cost_usd: iterations * 0.041,
        active_ms: iterations * 61_000,
      },
    },
    events: [{ type: "run_stopped", at, data: { reason: "max_iterations", source: "loop", iteration: iterations } }],
    tree_hold: null,
  });
}

function sentence(pick: Pick, length: number): string {
  return Array.from({ length }, () => WORDS[pick(WORDS.length)] ?? "").join(" ");
}

function lines(pick: Pick, count: number): string {
  return Array.from({ length: count }, (_, line) => `${line + 1}  ${sentence(pick, 6)}`).join("\n");
}
