import type { Kysely } from "kysely";
import type { Act } from "../run/act.ts";
import type { RunEventType } from "../run/event.ts";
import type { Grant } from "../run/grant.ts";
import type {
  AttemptRecord,
  CheckpointRecord,
  InstructionRecord,
  IterationRecord,
  RunRecord,
  StepRecord,
  VerifyRecord,
} from "../run/run.ts";
import type { RetentionTry } from "./retention-notes.ts";
import type { LeaseRecord, RequestRecord, WorkerRecord } from "./store.ts";

/** The tables as Kysely sees them. JSON columns are text in both databases, so that what is read is byte for byte what was written. */

type Column<T> = null extends T ? string | null : string;
/** A record as a row: the fields named by `J` become JSON text. */
type Row<T, J extends keyof T = never> = { -readonly [K in keyof T]: K extends J ? Column<T[K]> : T[K] };
type OfRun<T> = T & { run_id: string };
/** Rows that keep the order in which they were stored. */
type Ordered<T> = T & { n: number };

export type RunsTable = Omit<Row<RunRecord, "settings" | "stop" | "stop_request" | "usage" | "plan" | "report">, HeadColumn> & {
  /** Place in the order of changes; moves to the newest at each revision. */
  position: number;
  /** What the lists filter by, in one value (list-class.ts). */
  list_class: string;
};

export type HeadColumn = "fence" | "alive_at" | "progress_at";
/**
 * The part of a run that moves with every flush. It is a narrow table of its own: on `runs` each flush would rewrite the whole
 * wide row, and the cost of a record would grow with the length of notes and plans.
 */
export type RunHeadsTable = OfRun<Row<Pick<RunRecord, HeadColumn>>> & { event_seq: number; journal_n: number };

export type StepsTable = OfRun<Row<StepRecord, "needs" | "verify">>;
export type AttemptsTable = OfRun<Row<AttemptRecord>>;
export type IterationsTable = OfRun<Omit<Row<IterationRecord>, "finished">> & { finished: number };
export type ActsTable = Ordered<OfRun<Row<Act>>>;
export type GrantsTable = Ordered<OfRun<Row<Grant>>>;
export type CheckpointsTable = Ordered<OfRun<Row<CheckpointRecord, "skipped">>>;
/** Keyed by the hash of the command: a database limits the length of a key, a command has none. */
export type VerifyResultsTable = Ordered<OfRun<Row<VerifyRecord>>> & { command_hash: string };
export type InstructionsTable = Ordered<OfRun<Row<InstructionRecord>>>;
/** `change`: what the event made of the run's rows (`projection.ts`), JSON; null on all but the last event of a change. */
export type EventsTable = { run_id: string; seq: number; type: RunEventType; at: string; data: string; change: string | null };

export const CODECS = ["zstd", "deflate"] as const;
export type Codec = (typeof CODECS)[number];

export type JournalChunksTable = {
  run_id: string;
  first_n: number;
  last_n: number;
  first_iteration: number;
  last_iteration: number;
  /** Length of the JSON lines before compression. */
  raw_bytes: number;
  at: string;
  codec: Codec;
  /** SHA-256 of `body`. */
  checksum: string;
  body: Uint8Array;
};

export type ArtifactsTable = {
  id: string;
  /** `none`: the body is the content itself (sealed content does not get smaller). */
  codec: Codec | "none";
  raw_bytes: number;
  body: Uint8Array;
  /** Set when the last list that named it dropped it. */
  unused_since: string | null;
};
export type RunArtifactListsTable = { run_id: string; name: string; meta: string };
export type RunArtifactsTable = { run_id: string; name: string; position: number; artifact_id: string };

/** How many runs of an owner and repository are in a list class: totals stay quick however many runs there are. */
export type RunCountsTable = {
  owner: string;
  list_class: string;
  repo_common_dir: string;
  /** Empty text when there is no remote (a key column cannot be null). */
  repo_remote: string;
  runs: number;
};
/** Where a run stood in the order of changes before it moved: lets a list's later pages show the order of its first page. */
export type RunMovesTable = { position: number; run_id: string; from_position: number; at: string };

export type RetentionTriesTable = OfRun<Row<RetentionTry, "kept">>;

export interface Tables {
  loopkeeper_migrations: { number: number; name: string; applied_at: string };
  meta: { key: string; value: string };
  counters: { name: string; value: number };
  runs: RunsTable;
  run_heads: RunHeadsTable;
  run_counts: RunCountsTable;
  run_moves: RunMovesTable;
  steps: StepsTable;
  attempts: AttemptsTable;
  iterations: IterationsTable;
  acts: ActsTable;
  grants: GrantsTable;
  checkpoints: CheckpointsTable;
  verify_results: VerifyResultsTable;
  instructions: InstructionsTable;
  events: EventsTable;
  journal_chunks: JournalChunksTable;
  artifacts: ArtifactsTable;
  run_artifact_lists: RunArtifactListsTable;
  run_artifacts: RunArtifactsTable;
  requests: Row<RequestRecord>;
  leases: Row<LeaseRecord, "identity">;
  workers: Row<WorkerRecord, "identity">;
  retention_tries: RetentionTriesTable;
  retention_passes: { host: string; at: string };
  tree_holds: { tree_path: string; run_id: string };
}

export type Db = Kysely<Tables>;
