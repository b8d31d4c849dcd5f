import { setImmediate } from "node:timers/promises";
import { now } from "../run/clock.ts";
import type { NewJournalEntry } from "../run/event.ts";
import type { Store } from "../store/store.ts";

const FLUSH_MS = 250;
const FLUSH_BYTES = 64 * 1024;
/** Characters of one write to the store at most, but for an entry that is longer by itself. */
const WRITE_CHARACTERS = 1024 * 1024;

/**
 * Collects what an engine sends and writes it durably every quarter second, or at 64 KB: one commit per flush, so that a
 * chatty engine does not make the store sync at every chunk. After a crash at most that much is missing. What comes while a
 * write is under way goes into the next one; between two writes others get their turn, the lease's renewal above all.
 */
export class JournalBuffer {
  readonly #store: Pick<Store, "appendJournal">;
  readonly #runId: string;
  readonly #fence: number;
  readonly #failed: (error: unknown) => void;
  #pending: NewJournalEntry[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Full batches, in order, that wait for their write. */
  #waiting: NewJournalEntry[][] = [];
  #writing: Promise<void> | null = null;

  constructor(store: Pick<Store, "appendJournal">, runId: string, fence: number, failed: (error: unknown) => void) {
    this.#store = store;
    this.#runId = runId;
    this.#fence = fence;
    this.#failed = failed;
  }

  add(entry: NewJournalEntry): void {
    this.#pending.push(entry);
    this.#bytes += entry.text.length;
    // What an engine is about to do to the world is on record before it can have happened, as far as that is ours to say.
    if (entry.kind === "tool_call" || this.#bytes >= FLUSH_BYTES) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), FLUSH_MS);
  }

  /** Everything added so far is durable when this resolves, or `failed` was told. Writes stay in order. */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const entries = this.#pending;
    this.#pending = [];
    this.#bytes = 0;
    if (entries.length > 0) this.#enqueue(entries);
    if (this.#waiting.length > 0) this.#writing ??= this.#drain();
    return this.#writing ?? Promise.resolve();
  }

  #enqueue(entries: NewJournalEntry[]): void {
    const last = this.#waiting.at(-1);
    if (last !== undefined && charactersOf(last) + charactersOf(entries) <= WRITE_CHARACTERS) last.push(...entries);
    else this.#waiting.push(entries);
  }

  async #drain(): Promise<void> {
    for (let entries = this.#waiting.shift(); entries !== undefined; entries = this.#waiting.shift()) {
      await this.#write(entries);
      if (this.#waiting.length > 0) await setImmediate();
    }
    this.#writing = null;
  }

  async close(): Promise<void> {
    await this.flush();
  }

  async #write(entries: readonly NewJournalEntry[]): Promise<void> {
    try {
      await this.#store.appendJournal({ run_id: this.#runId, fence: this.#fence, at: now(), entries });
    } catch (error) {
      this.#failed(error);
    }
  }
}

function charactersOf(entries: readonly NewJournalEntry[]): number {
  return entries.reduce((sum, entry) => sum + entry.text.length, 0);
}
