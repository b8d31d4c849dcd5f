import { z } from "zod";
import type { ToolCallSeen } from "../engine/engine.ts";
import { now } from "../run/clock.ts";
import { messageOf } from "../run/errors.ts";
import type { JournalEntry, NewRunEvent } from "../run/event.ts";
import type { IterationRecord, PlanEntry, Report } from "../run/run.ts";
import { settleByJournal } from "./deliver.ts";
import type { Drive } from "./drive.ts";
import { commitsOf, observeActs } from "./effects.ts";
import { planEvents } from "./plan-events.ts";
import type { CutIteration } from "./stop.ts";
import { LAST_WORDS_CHARACTERS } from "./turn-seen.ts";

type Call = Pick<ToolCallSeen, "id" | "title" | "command" | "paths" | "status" | "held">;

const statusSchema = z.enum(["pending", "in_progress", "completed", "failed"]);
const callSchema = z.looseObject({
  id: z.string(),
  title: z.string(),
  command: z.string().nullable(),
  paths: z.array(z.string()),
  status: statusSchema,
  // Journals of earlier versions do not have it.
  held: z.boolean().default(false),
});
const resultSchema = z.looseObject({ id: z.string(), status: statusSchema, held: z.boolean().default(false) });
const compactionSchema = z.looseObject({ compaction: z.string() });
const markSchema = z.looseObject({ mark: z.string() });
const planSchema = z.looseObject({
  entries: z.array(z.strictObject({ content: z.string(), status: z.enum(["pending", "in_progress", "completed"]) })),
});
const reportSchema = z.object({
  completed: z.array(z.string()),
  midway: z.string().nullable(),
  intended: z.array(z.string()),
  verdict: z.enum(["done", "blocked", "needs_human"]).nullable(),
  question: z.string().nullable(),
  summary: z.string().nullable(),
});

/** Journal entries read of the iteration that was cut off; an iteration with more keeps its newest. */
const READ_ENTRIES = 2_000;
const READ_ACTS = 200;

/**
 * Reads back from the journal what a dead driver had seen of its last iteration - calls, plan, report, last words - and
 * records it with the acts, since the driver itself never came to that.
 */
export async function cutIteration(drive: Drive, evidence: string): Promise<CutIteration | null> {
  const { store } = drive.ctx;
  const [row] = await store.iterations(drive.run.run_id, 1);
  // One with an end checkpoint was ended by an earlier stop.
  if (row === undefined || row.finished || row.checkpoint_end !== null) return null;
  const page = await store.journal(drive.run.run_id, { iteration: row.number, limit: READ_ENTRIES });
  await settleByJournal(drive, page.entries);
  const calls = callsOf(page.entries);
  const start = row.checkpoint_start === null ? null : await store.checkpoint(drive.run.run_id, row.checkpoint_start);
  const from = start === null || start.tree === null ? null : { id: start.id, tree: start.tree, index_tree: start.index_tree };
  if (row.ended_at !== null) {
    // Its driver had recorded it as cut off before it died; whose files the turn changed is still to be told.
    const known = (await store.acts(drive.run.run_id, READ_ACTS)).filter((act) => act.at >= row.started_at);
    return { from, calls, commits: commitsOf(known) };
  }
  const acts = await actsOf(drive, row, calls);
  const at = now();
  const told = planOf(page.entries);
  await drive.apply({
    bump_revision: false,
    run: { ...told, ...reportOf(page.entries), ...wordsOf(page.entries) },
    iterations: [{ ...row, ended_at: at, outcome: "interrupted" }],
    acts,
    events: [
      ...compactionOf(page.entries, row, at),
      ...planEvents(drive.run.plan, told.plan ?? drive.run.plan, row, at),
      { type: "iteration_unfinished", at, data: { iteration: row.number, step: row.step, reason: "interrupted", evidence } },
    ],
  });
  return { from, calls, commits: commitsOf(acts) };
}

function callsOf(entries: readonly JournalEntry[]): readonly Call[] {
  const calls = new Map<string, Call>();
  for (const entry of entries) {
    if (entry.kind === "tool_call") {
      const call = callSchema.safeParse(entry.data);
      if (call.success) calls.set(call.data.id, call.data);
    }
    if (entry.kind === "tool_result") {
      const result = resultSchema.safeParse(entry.data);
      const call = result.success ? calls.get(result.data.id) : undefined;
      if (result.success && call !== undefined)
        calls.set(call.id, { ...call, status: result.data.status, held: result.data.held });
    }
  }
  return [...calls.values()];
}

async function actsOf(
  drive: Drive,
  row: IterationRecord,
  calls: readonly Call[],
): Promise<Awaited<ReturnType<typeof observeActs>>> {
  if (drive.workspace === null) return [];
  const [begun] = await drive.ctx.store.events(drive.run.run_id, { types: ["iteration_started"], limit: 1 });
  const mark = markSchema.safeParse(begun?.data);
  if (!mark.success) return [];
  try {
    return await observeActs(drive, { mark: mark.data.mark, iteration: row.number, at: now(), calls });
  } catch (error) {
    drive.ctx.log("warn", "the acts of a cut-off iteration could not be looked at", {
      run_id: drive.run.run_id,
      error: messageOf(error),
    });
    return [];
  }
}

function compactionOf(entries: readonly JournalEntry[], row: IterationRecord, at: string): NewRunEvent[] {
  const told = compactionSchema.safeParse(entries.findLast((entry) => entry.data?.["compaction"] !== undefined)?.data);
  if (!told.success) return [];
  return [{ type: "context_compacted", at, data: { iteration: row.number, step: row.step, how: told.data.compaction } }];
}

function planOf(entries: readonly JournalEntry[]): { plan?: readonly PlanEntry[] } {
  const plan = planSchema.safeParse(entries.findLast((entry) => entry.kind === "plan")?.data);
  return plan.success ? { plan: plan.data.entries } : {};
}

function reportOf(entries: readonly JournalEntry[]): { report?: Report } {
  const report = reportSchema.safeParse(entries.findLast((entry) => entry.kind === "report")?.data);
  return report.success ? { report: report.data } : {};
}

function wordsOf(entries: readonly JournalEntry[]): { last_words?: string } {
  const words = entries.findLast((entry) => entry.kind === "message" && entry.who === "agent");
  return words === undefined ? {} : { last_words: words.text.slice(0, LAST_WORDS_CHARACTERS) };
}
