import { LoopkeeperError } from "../run/errors.ts";
import { type RunEventRecord, TOLD_EVENT_TYPES } from "../run/event.ts";
import type { ToolContext } from "./context.ts";
import { findRun } from "./present.ts";
import { redactedTexts } from "./redact-answer.ts";
import { listRow, type RunRow } from "./run-list.ts";
import { type PageSize, type TranscriptEntry, transcriptPage } from "./transcript.ts";

/** What changes, for doors that push: each reading takes up where the one before it ended, wherever that was. */

export interface ChangedRow {
  readonly position: number;
  readonly archived_at: string | null;
  /** As a row of `run_list`. */
  readonly run: RunRow;
}

/** Every text of it is redacted as answers are; it rejects with a LoopkeeperError alone. */
export interface Feed {
  /** Differs from an earlier one when anything was written in between. */
  stamp(): Promise<string>;
  /** Throws `run_not_found`. */
  requireRun(runId: string): Promise<void>;
  /** Events with `seq` above `after` that are told to people, oldest first. */
  events(runId: string, after: number): Promise<readonly RunEventRecord[]>;
  /** Number of the newest entry of the run's transcript, 0 without one. */
  newestEntry(runId: string): Promise<number>;
  /** Entries with `n` above `after`, oldest first, long texts cut as on a page of `run_transcript`. */
  entries(runId: string, after: number): Promise<readonly TranscriptEntry[]>;
  /** Runs whose last change is after the place; `forgotten` when some of them may be missing. */
  changes(
    after: number,
  ): Promise<{ readonly rows: readonly ChangedRow[]; readonly present: number; readonly forgotten: boolean }>;
}

const EVENTS = 200;
const RUNS = 50;
const ENTRIES = 50;
const ENTRY_PAGE: PageSize = { most: 4_000, least: 4_000, room: 200_000, overhead: 150, cost: (text) => text.length };

export function createFeed(ctx: ToolContext, onDefect: (error: unknown) => void): Feed {
  const { store, owner } = ctx;

  async function safely<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof LoopkeeperError) throw error;
      onDefect(error);
      throw new LoopkeeperError("internal", "what changed could not be read; the log has the details.");
    }
  }

  return {
    stamp: () => safely(() => store.stamp()),
    requireRun: (runId) => safely(async () => void (await findRun(ctx, runId))),
    events: (runId, after) =>
      safely(async () =>
        // What is public: the store's records may come to hold more, and a mark is a list of all refs.
        (await store.events(runId, { after, types: TOLD_EVENT_TYPES, limit: EVENTS })).map(
          ({ seq, type, at, data: { mark: _, ...data } }) => redactedTexts({ seq, type, at, data }),
        ),
      ),
    newestEntry: (runId) => safely(async () => (await store.journal(runId, { limit: 1 })).entries.at(-1)?.n ?? 0),
    entries: (runId, after) =>
      safely(async () => {
        const page = await transcriptPage(
          ctx,
          await findRun(ctx, runId),
          { cursor: `after-${after}`, limit: ENTRIES },
          ENTRY_PAGE,
        );
        return page.entries.map(redactedTexts);
      }),
    changes: (after) =>
      safely(async () => {
        const { changes, present, forgotten } = await store.changedRuns({ owner, after, limit: RUNS });
        const rows = await Promise.all(
          changes.map(async ({ position, run }) =>
            redactedTexts({ position, archived_at: run.archived_at, run: await listRow(ctx, run) }),
          ),
        );
        return { rows, present, forgotten };
      }),
  };
}
