import type { Act } from "../run/act.ts";
import type { ChangeEvents, JournalEntry, NewJournalEntry, RunEventRecord, RunEventType } from "../run/event.ts";
import type { Grant } from "../run/grant.ts";
import type { RunGroup } from "../run/group.ts";
import type {
  AttemptRecord,
  CheckpointRecord,
  InstructionRecord,
  IterationRecord,
  RunRecord,
  RunState,
  StepRecord,
  VerifyRecord,
} from "../run/run.ts";
import type { StopReason } from "../run/stop-reason.ts";
import type { RunRows } from "./projection.ts";
import type { RetentionNotes } from "./retention-notes.ts";

/** The process that drives runs, identified so that a reused pid is never taken for it. */
export interface ProcessIdentity {
  readonly host: string;
  readonly boot_id: string;
  readonly pid: number;
  /** Start time of the process as the system counts it; with host and boot id it makes the pid unique. */
  readonly start_time: string;
}

export interface WorkerRecord {
  readonly worker_id: string;
  readonly identity: ProcessIdentity;
  readonly version: string;
  readonly started_at: string;
  readonly beat_at: string;
}

/** Who drives a run. A lease is judged by renewals seen, never by another machine's clock. */
export interface LeaseRecord {
  readonly run_id: string;
  readonly fence: number;
  readonly worker_id: string;
  readonly identity: ProcessIdentity;
  /** Moves at each renewal. */
  readonly beat: number;
}

/** A writing call's stored answer: the same id with the same arguments gets it again. */
export interface RequestRecord {
  readonly owner: string;
  readonly request_id: string;
  readonly tool: string;
  readonly args_hash: string;
  readonly run_id: string;
  /** The tool's own part of the answer, JSON. */
  readonly answer: string;
  readonly at: string;
}

/** Everything that a new run begins with; stored in one transaction. */
export interface NewRun {
  readonly run: RunRecord;
  readonly steps: readonly StepRecord[];
  readonly attempts: readonly AttemptRecord[];
  readonly events: ChangeEvents;
  readonly instructions: readonly InstructionRecord[];
  readonly request: RequestRecord | null;
  /** Real path of the working tree that the run holds while live; another live holder makes the call `already_running`. */
  readonly tree_hold: string;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
/** Fields of a run that a change may set. */
export type RunPatch = Partial<
  Mutable<
    Omit<
      RunRecord,
      "run_id" | "owner" | "objective" | "first_cap" | "revision" | "fence" | "created_at" | "changed_at" | "max_iterations"
    >
  >
>;

/** One atomic change of a run: all of it is stored or nothing. */
export interface RunChange {
  readonly run_id: string;
  readonly at: string;
  /** The writer's lease; when it is no longer the run's, nothing is written and LeaseLostError is thrown. */
  readonly fence?: number;
  /** The revision the writer looked at; another one is `revision_conflict`. */
  readonly expected_revision?: number;
  /** False for progress and usage, which must not move the revision. */
  readonly bump_revision: boolean;
  readonly run?: RunPatch;
  readonly steps?: readonly (Pick<StepRecord, "step"> & Partial<StepRecord>)[];
  readonly open_attempts?: readonly AttemptRecord[];
  readonly attempts?: readonly (Pick<AttemptRecord, "step" | "attempt"> & Partial<AttemptRecord>)[];
  /** Inserted, or replaced when the ordinal exists. */
  readonly iterations?: readonly IterationRecord[];
  readonly acts?: readonly Act[];
  /** Adds to the ledger and moves the run's ceiling by the same amount. */
  readonly grants?: readonly Grant[];
  /** Inserted, or replaced when the id exists. */
  readonly checkpoints?: readonly CheckpointRecord[];
  readonly verify?: readonly VerifyRecord[];
  readonly new_instructions?: readonly InstructionRecord[];
  /** Ids of instructions that went into a prompt of this iteration: exactly once each. */
  readonly delivered?: { readonly ids: readonly string[]; readonly iteration: number };
  /** What happened. The last one is stored with the rows that this change made, so that replaying the events gives them. */
  readonly events: ChangeEvents;
  readonly journal?: readonly NewJournalEntry[];
  readonly request?: RequestRecord;
  /** A run that this change starts, e.g. the new one after a reset. */
  readonly new_run?: NewRun;
  /** Hold (real path) or release (null) the working tree. */
  readonly tree_hold?: string | null;
}

export interface RunFilter {
  readonly owner: string;
  readonly common_dir?: string;
  readonly remote?: string;
  readonly states?: readonly RunState[];
  readonly stop_reasons?: readonly StopReason[];
  /** ISO instant: only runs that changed at or after it. */
  readonly changed_since?: string;
  readonly archived: boolean;
  /** Stopped with `resumable` reasons, not archived, reclaimed or reset. */
  readonly resumable?: boolean;
  /** Stopped, not archived, and waiting for a person or a call (no `waiting_until`). */
  readonly needs_attention?: boolean;
  readonly group?: RunGroup;
  /** Text that the objective holds or the id begins with, whatever the case. Unlike the rest it is looked for row by row. */
  readonly search?: string;
  readonly limit: number;
  readonly cursor?: string;
}

/** What a list of runs shows beside each run's own record, read for a whole page at once. */
export interface RunSides {
  readonly steps: readonly StepRecord[];
  /** Oldest first. */
  readonly attempts: readonly Pick<AttemptRecord, "step" | "attempt" | "entry_checkpoint">[];
  readonly undelivered: readonly InstructionRecord[];
  /** How many acts of each kind, by what became of them. */
  readonly acts: readonly (Pick<Act, "kind" | "status"> & { readonly count: number })[];
}

/** What an owner's lists can be narrowed to. */
export interface RunFacets {
  /** Most runs first. */
  readonly repositories: readonly { readonly common_dir: string; readonly remote: string | null; readonly runs: number }[];
  readonly stop_reasons: Readonly<Partial<Record<StopReason, number>>>;
}

export interface RunPage {
  readonly runs: readonly RunRecord[];
  /** All runs that the filter lets through, and how many of them are in each state, as of this page. */
  readonly total: number;
  readonly by_state: Readonly<Record<RunState, number>>;
  readonly by_group: Readonly<Record<RunGroup, number>>;
  readonly next_cursor: string | null;
}

export interface JournalQuery {
  readonly iteration?: number;
  /** Case-insensitive text to find. */
  readonly search?: string;
  /** Entries with `n` below this, newest page first; with `after` it only bounds the page. */
  readonly before?: number;
  /** Entries with `n` above this, oldest first. */
  readonly after?: number;
  /** Later parts of long entries too; a search gives them anyway. */
  readonly continuations?: boolean;
  /** Entries at most; a page whose texts are very long ends before. */
  readonly limit: number;
}

export interface JournalPage {
  /** In order of `n`. A damaged chunk appears as one entry of kind `gap` (not in a search, which could not look into it). */
  readonly entries: readonly JournalEntry[];
  /** Entries of the run, or of the one iteration asked for; a search does not change it. */
  readonly total: number;
  /** What could not be read on the way, e.g. `events 126-128 unreadable`. */
  readonly gaps: readonly string[];
  /** Where the next page goes on (as `before`, or as `after`); null when nothing is left. */
  readonly rest: number | null;
}

/** The first and the last entry that may be of one iteration. */
export interface IterationSpan {
  readonly iteration: number;
  readonly first_n: number;
  readonly last_n: number;
}

/** What is known of a whole journal without reading it. */
export interface JournalHealth {
  /** Entries of the run. */
  readonly total: number;
  /** What can no longer be read, anywhere in it. At most 50, oldest first. */
  readonly gaps: readonly string[];
  /** Entries below this number were not looked at for damage (missing ones would be in `gaps`); null when all were. */
  readonly unchecked_below: number | null;
}

/** What is known of a copy without its key. */
export interface CopyHead {
  /** What it is a copy of: the engine session's id, the checkpoint's id. */
  readonly about: string;
  /** Host that made it. */
  readonly host: string;
  /** Iterations of the run that were finished then. */
  readonly iteration: number;
  readonly at: string;
  readonly bytes: number;
}

export interface StoredCopy extends CopyHead {
  /** What the parts are, in the words of the one who stored it; null when it is unreadable. */
  readonly contents: string | null;
  /** Why it cannot be read here, and what to do about it. */
  readonly unreadable: string | null;
  readonly parts: readonly string[];
}

/**
 * Copies of a run's conversation and tree, from which another host continues it. With LOOPKEEPER_KEY everything but the head is
 * sealed; without it a shared database gets none, and the embedded store keeps them plain.
 */
export interface Copies {
  /** Why no copy is stored here; null when copies are stored. */
  readonly refused: string | null;
  readonly sealed: boolean;
  /** Stores a part of at most about 1 MiB, unless it is among `known`, and answers its id: equal parts have equal ids. */
  putPart(bytes: Uint8Array, known: ReadonlySet<string>): Promise<string>;
  /** Throws with the reason when it cannot be read. */
  part(id: string): Promise<Uint8Array>;
  /** Replaces the copy of this name; parts that no copy names any more are freed. Throws LeaseLostError when the fence is not the run's. */
  set(copy: {
    readonly run_id: string;
    readonly name: "session" | "tree";
    readonly fence: number;
    readonly head: CopyHead;
    readonly contents: string;
    readonly parts: readonly string[];
  }): Promise<void>;
  get(runId: string, name: "session" | "tree"): Promise<StoredCopy | null>;
}

/** What the events of a run make of its rows. */
export interface Replay {
  readonly rows: RunRows;
  /** Where they differ from the rows that are stored, in words, the first five; empty when they are the same. */
  readonly differences: readonly string[];
}

/** Runs in the order in which they last changed, each once, as it is now. */
export interface ChangedRuns {
  readonly changes: readonly { readonly position: number; readonly run: RunRecord }[];
  /** The place of the newest change of any run. */
  readonly present: number;
  /** Changes after the asked place may be missing: it is older than what is kept (two days), or not of this store. */
  readonly forgotten: boolean;
}

/** Durable record of all runs. Every method is one transaction; several processes use one store at once. */
export interface Store {
  readonly kind: "sqlite" | "postgres";
  close(): Promise<void>;

  /** A stable random secret of this store, for confirm tokens (32 bytes). */
  secret(): Promise<Uint8Array>;
  /** Now by the store's clock, ISO 8601 UTC: the one by which all hosts judge what waits for a time. */
  clock(): Promise<string>;

  /**
   * Differs from an earlier answer of this handle when anything was written in between, by whatever process; it may differ
   * without. Costs no read of data.
   */
  stamp(): Promise<string>;

  createRun(run: NewRun): Promise<RunRecord>;
  /** Applies one change and answers the run as it is then. Takes the ids of its rows from the change alone. */
  apply(change: RunChange): Promise<RunRecord>;
  /** Appends engine output durably without moving the revision: one statement, one commit. Sets `progress_at`. */
  appendJournal(input: {
    readonly run_id: string;
    readonly fence: number;
    readonly at: string;
    readonly entries: readonly NewJournalEntry[];
  }): Promise<void>;
  /** The answer stored under a request id, if it is younger than 7 days. */
  findRequest(owner: string, requestId: string): Promise<RequestRecord | null>;
  /** Replaces the answer of a stored request (a resume's `context` becomes known later). */
  updateRequestAnswer(owner: string, requestId: string, answer: string): Promise<void>;

  run(runId: string, owner: string): Promise<RunRecord | null>;
  /** Runs whose id starts with `prefix` (with or without `run_`), newest first, at most `limit`. */
  runsByPrefix(prefix: string, owner: string, limit: number): Promise<readonly RunRecord[]>;
  runs(filter: RunFilter): Promise<RunPage>;
  /** One entry for each id given. */
  runSides(runIds: readonly string[]): Promise<ReadonlyMap<string, RunSides>>;
  facets(query: { readonly owner: string; readonly archived: boolean }): Promise<RunFacets>;
  /** Runs whose last change is after a place in the order of changes, in that order; archived ones too. */
  changedRuns(query: { readonly owner: string; readonly after: number; readonly limit: number }): Promise<ChangedRuns>;
  /** Finished and live runs of one repository by common directory or remote, newest start first, archived ones too. */
  runsOfRepository(query: {
    readonly owner: string;
    readonly common_dir: string;
    readonly remote: string | null;
    readonly limit: number;
  }): Promise<readonly RunRecord[]>;
  /** The run that holds a working tree, whoever owns it: a live one, or one under a door's lease (`leaseIdle`). */
  holderOf(treePath: string): Promise<RunRecord | null>;

  steps(runId: string): Promise<readonly StepRecord[]>;
  attempts(runId: string): Promise<readonly AttemptRecord[]>;
  /** Newest first. */
  iterations(runId: string, limit: number): Promise<readonly IterationRecord[]>;
  /** Oldest first; `limit` keeps the newest. */
  acts(runId: string, limit: number): Promise<readonly Act[]>;
  grants(runId: string): Promise<readonly Grant[]>;
  /** Newest first. */
  checkpoints(runId: string, limit: number): Promise<readonly CheckpointRecord[]>;
  checkpoint(runId: string, checkpointId: string): Promise<CheckpointRecord | null>;
  /** The latest result of each command of each step. */
  lastVerify(runId: string): Promise<readonly VerifyRecord[]>;
  instructions(runId: string, which: "undelivered" | "all"): Promise<readonly InstructionRecord[]>;
  /** Oldest first; `limit` keeps the newest when `after` is left out. */
  events(
    runId: string,
    query: { readonly after?: number; readonly types?: readonly RunEventType[]; readonly limit: number },
  ): Promise<readonly RunEventRecord[]>;
  /**
   * Folds all events of a run into its rows and compares them with the stored ones, both as of one moment. Null when there is no
   * such run; throws `store_unavailable` when an event or a row is damaged.
   */
  replay(runId: string): Promise<Replay | null>;
  /** A text longer than 128 Ki characters is kept as several entries, its parts (`journal-parts.ts`). */
  journal(runId: string, query: JournalQuery): Promise<JournalPage>;
  /** Where each iteration's entries lie, without opening any: exact to a chunk, so that neighbours may overlap. In order of `first_n`. */
  journalIndex(runId: string): Promise<readonly IterationSpan[]>;
  /** Looks for damage all over a run's journal; memory does not grow with it. */
  journalHealth(runId: string): Promise<JournalHealth>;

  readonly copies: Copies;
  /** Bytes by content: the id is the SHA-256 of the bytes; storing the same bytes twice keeps them once. */
  putArtifact(bytes: Uint8Array): Promise<string>;
  artifact(id: string): Promise<Uint8Array | null>;
  /** Names the artifacts that make up a run's thing (e.g. `session`), replacing the earlier list. */
  setRunArtifacts(runId: string, name: string, meta: string, ids: readonly string[]): Promise<void>;
  runArtifacts(runId: string, name: string): Promise<{ readonly meta: string; readonly ids: readonly string[] } | null>;

  /** Bytes that a run takes in the store: its transcript, and the copies for another host (parts that runs share count for each). */
  runBytes(runId: string): Promise<{ readonly record: number; readonly copies: number }>;
  readonly retention: RetentionNotes;

  registerWorker(worker: Omit<WorkerRecord, "beat_at">): Promise<void>;
  /** False when somebody signed it off: it was seen dead, or silent for so long that another one was started. */
  beatWorker(workerId: string): Promise<boolean>;
  removeWorker(workerId: string): Promise<void>;
  workers(): Promise<readonly WorkerRecord[]>;

  /**
   * Takes the oldest queued run whose `waiting_until` has passed (by the store's clock) and makes it this worker's: fence + 1,
   * a new lease. The state stays `queued` until the driver applies `claim`. Null when there is none.
   */
  claimQueued(workerId: string, identity: ProcessIdentity): Promise<{ readonly run: RunRecord; readonly fence: number } | null>;
  /** Takes over a run whose driver is dead: only when its lease still is exactly `seen`. Null when it moved. */
  takeOver(
    seen: LeaseRecord,
    workerId: string,
    identity: ProcessIdentity,
  ): Promise<{ readonly run: RunRecord; readonly fence: number } | null>;
  /**
   * Takes the lease of a run that nobody drives and that waits for no driver: a stopped one, for work on its tree (reset), or
   * a running one whose driver let go of it without recording a stop. Null when somebody holds it, or when it is queued.
   */
  leaseIdle(runId: string, workerId: string, identity: ProcessIdentity): Promise<{ readonly fence: number } | null>;
  /** Renews and touches `alive_at`; false when the lease is no longer this fence's. */
  renewLease(runId: string, fence: number): Promise<boolean>;
  releaseLease(runId: string, fence: number): Promise<void>;
  leases(): Promise<readonly LeaseRecord[]>;
  /** Live runs that no lease covers (a driver released or lost it without recording a stop), and those waiting for a time. */
  liveRuns(): Promise<readonly RunRecord[]>;
}
