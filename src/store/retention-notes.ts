import type { RunRecord } from "../run/run.ts";

/** Something of a run was kept when a policy looked at it. */
export interface RetentionTry {
  readonly at: string;
  /** As `Reclaiming.standing` gave it: another one means that it is worth a new look. */
  readonly standing: string;
  readonly kept: readonly string[];
  /** What it takes of the disk. */
  readonly bytes: number;
}

/** What the worker remembers of a retention policy between its passes. */
export interface RetentionNotes {
  /**
   * Finished runs of every owner whose files were not freed yet, archived ones too, the longest stopped first. `after` is the last
   * one of the page before; `stopped_before` an instant.
   */
  held(query: {
    readonly stopped_before: string | null;
    readonly after: { readonly stopped_at: string; readonly run_id: string } | null;
    readonly limit: number;
  }): Promise<readonly RunRecord[]>;
  /** The last try that kept something; null when there was none. */
  lastTry(runId: string): Promise<RetentionTry | null>;
  /** Replaces the last try; null forgets it. */
  noteTry(runId: string, tried: RetentionTry | null): Promise<void>;
  /** When a pass was last begun on this host, by the store's clock; null when never. */
  lastPass(host: string): Promise<string | null>;
  /** Begins a pass on this host, unless one was begun within `every_ms`: of several processes one alone is told true. */
  beginPass(host: string, every_ms: number): Promise<boolean>;
}
