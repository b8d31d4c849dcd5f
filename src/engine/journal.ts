import { redact } from "../redact/redact.ts";
import { secretStream } from "../redact/stream.ts";
import { now } from "../run/clock.ts";
import type { JournalKind, NewJournalEntry } from "../run/event.ts";
import type { PlanEntry, Report } from "../run/run.ts";
import { coalescer } from "./coalesce.ts";
import type { EngineListener, ToolCallSeen } from "./engine.ts";
import { cutValue } from "./entry-value.ts";
import type { ToolCallState } from "./tool-calls.ts";

/** Turns what an engine says into redacted journal entries and into the calls of its listener. */
export interface Journal {
  chunk(kind: "message" | "thought", text: string): void;
  /** A new tool call, or one whose title or input became known. */
  toolCall(call: ToolCallState): void;
  /** The end of a tool call, or of the turn in which it was left open. */
  toolResult(call: ToolCallState): void;
  plan(entries: readonly PlanEntry[]): void;
  report(report: Report): void;
  /** Engines tell it after each request of a turn: only the last one is written, by `flush`. */
  usage(data: object): void;
  permission(text: string, data: object): void;
  /** The engine replaced its conversation by a summary. */
  compacted(how: string): void;
  /** Anything else that came from the engine. */
  other(what: string, data: unknown): void;
  flush(): void;
}

// Lists of commands and settings, long and of little use.
const OTHER_LIMIT = 2048;
// Plan, report, titles and commands go into the run's own record too, which is read with every look at the run.
const ITEM_CHARACTERS = 2_000;
const TEXT_CHARACTERS = 16_384;
const MOST_ITEMS = 300;

export function createJournal(listener: EngineListener): Journal {
  const streams = { message: secretStream(), thought: secretStream() };
  const chunks = coalescer<"message" | "thought">((kind, text) => write("agent", kind, streams[kind].next(text)));
  let lastPlan = "";
  let usage: object | null = null;

  function write(who: NewJournalEntry["who"], kind: JournalKind, text: string, data?: Record<string, unknown>): void {
    listener.entry({ who, kind, text, at: now(), ...(data === undefined ? {} : { data }) });
  }

  return {
    chunk: chunks.add,
    toolCall(call) {
      chunks.flush();
      const seen = redactedCall(call);
      write("agent", "tool_call", seen.title, { ...seen, raw_input: cutValue(call.raw_input) });
      listener.toolCall(seen);
    },
    toolResult(call) {
      chunks.flush();
      const seen = redactedCall(call);
      const { head, bytes } = call.output;
      const more = bytes > Buffer.byteLength(head) ? `…\n(${bytes} bytes in all; the rest was not kept)` : "";
      write("tool", "tool_result", redact(head) + more, {
        id: seen.id,
        title: seen.title,
        status: seen.status,
        held: seen.held,
        bytes,
      });
      listener.toolCall(seen);
    },
    plan(entries) {
      const listed = entries.slice(0, MOST_ITEMS);
      const redacted = listed.map(({ content, status }) => ({ content: shortened(content, ITEM_CHARACTERS), status }));
      const text = redacted.map(({ content, status }) => `[${status}] ${content}`).join("\n");
      // Some engines send each list twice.
      if (text === lastPlan) return;
      lastPlan = text;
      chunks.flush();
      write("agent", "plan", text, { entries: redacted });
      listener.plan(redacted);
    },
    report(report) {
      chunks.flush();
      const redacted = redactReport(report);
      write("agent", "report", redacted.summary ?? redacted.verdict ?? "report", { ...redacted });
      listener.report(redacted);
    },
    usage(data) {
      usage = data;
    },
    permission(text, data) {
      chunks.flush();
      write("loop", "permission", redact(text), { ...data });
    },
    compacted(how) {
      chunks.flush();
      write("loop", "engine", `the engine compacted its context: ${how}`, { compaction: how });
      listener.compacted(how);
    },
    other(what, data) {
      write("agent", "engine", what, { update: cutValue(data, OTHER_LIMIT) });
    },
    flush() {
      chunks.flush();
      if (usage !== null) write("agent", "usage", "", { ...usage });
      usage = null;
    },
  };
}

function redactedCall(call: ToolCallState): ToolCallSeen {
  return {
    id: call.id,
    title: shortened(call.title, ITEM_CHARACTERS),
    kind: call.kind,
    command: call.command === null ? null : shortened(call.command, TEXT_CHARACTERS),
    paths: call.paths.slice(0, MOST_ITEMS),
    status: call.status,
    held: call.held,
  };
}

function redactReport(report: Report): Report {
  const orNull = (text: string | null): string | null => (text === null ? null : shortened(text, TEXT_CHARACTERS));
  const items = (list: readonly string[]): string[] => list.slice(0, MOST_ITEMS).map((item) => shortened(item, ITEM_CHARACTERS));
  return {
    completed: items(report.completed),
    midway: orNull(report.midway),
    intended: items(report.intended),
    verdict: report.verdict,
    question: orNull(report.question),
    summary: orNull(report.summary),
  };
}

/** Redacted first: half a credential would not be known as one. What is far too long is cut before, for speed. */
function shortened(text: string, length: number): string {
  const redacted = redact(text.slice(0, 4 * length));
  return redacted.length <= length && text.length <= 4 * length ? redacted : `${redacted.slice(0, length - 1)}…`;
}
