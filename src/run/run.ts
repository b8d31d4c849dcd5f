import { z } from "zod";
import type { StopReason } from "./stop-reason.ts";

/** The records of a run as they are kept and passed around. Instants are ISO 8601 UTC text; durations name their unit. */

export const RUN_STATES = ["queued", "running", "stopping", "stopped", "done"] as const;
export type RunState = (typeof RUN_STATES)[number];
/** States in which a run holds its working tree and may have an engine. */
export const LIVE_STATES = ["queued", "running", "stopping"] as const satisfies readonly RunState[];

export function isLive(state: RunState): boolean {
  return state === "queued" || state === "running" || state === "stopping";
}

export const STEP_STATES = ["pending", "running", "succeeded", "failed", "stopped", "unreachable"] as const;
export type StepState = (typeof STEP_STATES)[number];

export const WORKSPACE_KINDS = ["worktree", "in_place"] as const;
export type WorkspaceKind = (typeof WORKSPACE_KINDS)[number];

export const PERMISSION_LEVELS = ["all", "edits", "ask"] as const;
export type PermissionLevel = (typeof PERMISSION_LEVELS)[number];

export const STOP_SOURCES = ["acp_error", "stop_reason", "text", "exit", "loop", "owner", "recovery"] as const;
export type StopSource = (typeof STOP_SOURCES)[number];

export const budgetSchema = z.strictObject({
  cost_usd: z.number().positive().optional(),
  minutes: z.number().positive().optional(),
  tokens: z.number().int().positive().optional(),
});
/** Totals over the run's whole life, resumes included. */
export type Budget = z.infer<typeof budgetSchema>;

export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** Null when no engine of this run ever told a cost. */
  readonly cost_usd: number | null;
  /** Time during which an engine was driven, in milliseconds. */
  readonly active_ms: number;
}

export interface PlanEntry {
  readonly content: string;
  readonly status: "pending" | "in_progress" | "completed";
}

export interface Question {
  readonly kind: "question" | "permission";
  readonly text: string;
  readonly command: string | null;
}

/**
 * How far an announced end of a limit is to be trusted. `high`: a field, a length of time, or a time with its zone.
 * `medium`: a time of day without a zone, read in the host's. `low`: it was past already, or too far away to be meant.
 */
export const RESET_CONFIDENCES = ["high", "medium", "low"] as const;
export type ResetConfidence = (typeof RESET_CONFIDENCES)[number];

/** What is known of a stop, fixed at the moment it was recorded. */
export interface StopRecord {
  readonly reason: StopReason;
  readonly source: StopSource;
  /** The raw signal, redacted and cut: an error's code and message, an exit status, a counter. */
  readonly evidence: string;
  readonly step: string | null;
  readonly iteration: number;
  readonly at: string;
  readonly resets_at: string | null;
  /** The text or field that `resets_at` was read from. */
  readonly resets_at_source: string | null;
  /** The zone that `resets_at` was read in: as the text named it, or the host's when it named none. Null for an instant. */
  readonly resets_at_zone: string | null;
  readonly resets_at_confidence: ResetConfidence | null;
  readonly question: Question | null;
  /** This stop and those of the same reason directly before it. */
  readonly same_stop_in_a_row: number;
  /** The ceiling that was hit at `max_iterations`: the run's own, or one step's share of it. */
  readonly ceiling: "run" | "step" | null;
  /** Null when the working tree could not be looked at. */
  readonly uncommitted: Uncommitted | null;
  /** Titles of tool calls whose end was never seen. */
  readonly open_tool_calls: readonly string[];
  /** Commands that had left something running in the background, which the stop ended. Newest first. */
  readonly background: readonly string[];
  /** Last sign of life of a driver that died; null when the run was stopped in order. */
  readonly alive_until: string | null;
  /** What is missing from the record, in words (a failed checkpoint, an unreadable part). */
  readonly gaps: readonly string[];
  /** Of a run of several steps that failed: which of them did, and which could not be begun for that. */
  readonly failed_steps: readonly string[];
  readonly unreachable_steps: readonly string[];
}

export interface UncommittedFile {
  readonly path: string;
  readonly status: string;
  readonly added: number | null;
  readonly removed: number | null;
  readonly binary: boolean;
  readonly owner: "this_run" | "other_run" | "unattributed";
}

/** What was not committed at a stop. `files` holds the first ones; `total_files` counts all. */
export interface Uncommitted {
  readonly total_files: number;
  readonly added: number;
  readonly removed: number;
  readonly truncated: boolean;
  readonly checkpoint: string | null;
  readonly files: readonly UncommittedFile[];
}

export interface Report {
  readonly completed: readonly string[];
  readonly midway: string | null;
  readonly intended: readonly string[];
  readonly verdict: "done" | "blocked" | "needs_human" | null;
  readonly question: string | null;
  readonly summary: string | null;
}

export interface AutoResume {
  readonly reasons: readonly StopReason[];
  readonly times: number;
  readonly used: number;
}

export interface StopRequest {
  readonly mode: "now" | "after_iteration";
  readonly why: string | null;
  readonly at: string;
}

/** Choices of the caller that hold over the run's whole life until a call changes them. */
export interface RunSettings {
  readonly permissions: PermissionLevel;
  /** Command prefixes, by words, that `edits` allows beside the built-in ones. */
  readonly allow: readonly string[];
  /** Exact commands a person allowed for the rest of the run (`allow_for_run`). */
  readonly allowed_commands: readonly string[];
  readonly setup: readonly string[];
  readonly copy_ignored: readonly string[];
  readonly on_done: "leave" | "commit";
  readonly budget: Budget | null;
  readonly auto_resume: AutoResume | null;
  readonly brief: "auto" | "none";
  readonly silence_s: number;
  readonly tool_silence_s: number;
  readonly command_timeout_s: number;
  /** The run whose stop checkpoint this one was based on (`base: "run:<id>"`), its uncommitted edits included. */
  readonly base_run: string | null;
  /** Configuration file that named the agents when the run was started or last resumed. */
  readonly config_path: string | null;
  /** Host whose workers drive it: where it was started or last resumed. Null in an embedded store, which has one host. */
  readonly host: string | null;
}

/** Whether workers of this host may drive the run: its paths are those of the host that it was last sent to. */
export function isOfHost(run: RunRecord, host: string): boolean {
  return run.settings.host === null || run.settings.host === host;
}

export interface RunRecord {
  readonly run_id: string;
  readonly owner: string;
  readonly objective: string;
  /** Real path of the repository's top folder as it was at the start. */
  readonly repo_path: string;
  /** Real path of the git common directory: equal for every worktree of one repository. */
  readonly repo_common_dir: string;
  /** Normalised remote (`host/owner/name`), or null when there is none. */
  readonly repo_remote: string | null;
  readonly root_commit: string | null;
  readonly base_commit: string | null;
  readonly branch: string | null;
  readonly workspace_kind: WorkspaceKind;
  readonly workspace_path: string;
  readonly agent: string;
  readonly model: string | null;
  readonly mode: string | null;
  readonly settings: RunSettings;
  readonly state: RunState;
  readonly stop_reason: StopReason | null;
  readonly stop: StopRecord | null;
  readonly stop_request: StopRequest | null;
  /** Iterations whose end was recorded, over the run's whole life. */
  readonly iteration: number;
  /** The ceiling given at the start. */
  readonly first_cap: number;
  /** First cap and all grants: a copy of the ledger's sum. */
  readonly max_iterations: number;
  readonly usage: Usage;
  readonly plan: readonly PlanEntry[];
  readonly report: Report | null;
  readonly last_words: string | null;
  readonly resume_note: string | null;
  readonly predecessor_run_id: string | null;
  /** Set while a reset to the start stands: the run cannot be resumed until it is reset to this safety checkpoint. */
  readonly was_reset: string | null;
  /** Moves at a state change, an iteration's end and every writing call. */
  readonly revision: number;
  /** Fencing number of the last driver; every driver's write names it. */
  readonly fence: number;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly alive_at: string | null;
  readonly progress_at: string | null;
  readonly waiting_until: string | null;
  readonly stopped_at: string | null;
  readonly archived_at: string | null;
  readonly reclaimed_at: string | null;
  readonly changed_at: string;
}

export interface StepRecord {
  readonly step: string;
  readonly position: number;
  readonly title: string | null;
  readonly objective: string;
  readonly needs: readonly string[];
  /** The step's share of the run's ceiling, or null for all of it. */
  readonly max_iterations: number | null;
  readonly verify: readonly string[];
  readonly state: StepState;
  /** Number of the latest attempt; 0 before the first. */
  readonly attempt: number;
  /** Iterations finished in this step over all its attempts. */
  readonly iteration: number;
}

export interface AttemptRecord {
  readonly step: string;
  readonly attempt: number;
  readonly started_from: "start" | "stop" | "entry";
  readonly opened_at: string;
  readonly ended_at: string | null;
  readonly ended_by: StopReason | null;
  /** Iterations of the run that were finished when this attempt was opened. */
  readonly opened_at_iteration: number;
  readonly entry_checkpoint: string | null;
  readonly engine_session: string | null;
  /** `new`: a first session. `native`: the engine loaded the earlier session. `pending`: the engine is not up yet. */
  readonly context: "pending" | "new" | "native" | "handoff";
  readonly why_handoff: string | null;
  /** The text the engine is given before its first prompt of this attempt. */
  readonly note: string | null;
  /** What the caller asked for before this attempt may run: a whole restore, or nothing. */
  readonly restore: "none" | "stop" | "entry";
}

export interface IterationRecord {
  /** Counts every begun iteration, cut-off ones too; `number` is what callers see. */
  readonly ordinal: number;
  readonly number: number;
  readonly step: string;
  readonly attempt: number;
  readonly started_at: string;
  readonly ended_at: string | null;
  /** ACP stop reason of the turn, or the run's stop reason when it was cut off. */
  readonly outcome: string | null;
  readonly finished: boolean;
  readonly checkpoint_start: string | null;
  readonly checkpoint_end: string | null;
  /** Hash of what counts as progress (tree, acts, plan statuses, verify codes, number completed). */
  readonly progress_key: string | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_usd: number | null;
  readonly summary: string | null;
  /** The run's revision that its end made, set by the store; null while it is open, when it was cut off, and in old records. */
  readonly revision: number | null;
}

export const CHECKPOINT_KINDS = ["entry", "iteration", "stop", "reset", "redo"] as const;
export type CheckpointKind = (typeof CHECKPOINT_KINDS)[number];

export interface SkippedPath {
  readonly path: string;
  readonly bytes: number;
  /** `secret`: it was left out of what left the machine, since it looks like one. */
  readonly why: "too_big" | "quota" | "unreadable" | "special" | "nested_repository" | "secret";
  /** Of a nested repository at a step's entry and at a stop: the commit it stood on, and whether it had uncommitted changes. */
  readonly nested?: { readonly commit: string | null; readonly dirty: boolean | null };
}

export interface CheckpointRecord {
  readonly id: string;
  readonly kind: CheckpointKind;
  readonly iteration: number;
  readonly step: string | null;
  readonly attempt: number | null;
  readonly at: string;
  /** Commit under the hidden ref; null when the capture failed. */
  readonly commit: string | null;
  readonly tree: string | null;
  readonly index_tree: string | null;
  readonly head: string | null;
  /** Full ref name of the branch that HEAD named, or null when detached. */
  readonly branch: string | null;
  /** Paths that differ from HEAD, untracked ones included. */
  readonly files: number;
  readonly bytes: number;
  readonly skipped: readonly SkippedPath[];
  readonly state: "present" | "lost" | "failed";
  readonly failure: string | null;
}

export interface VerifyRecord {
  readonly step: string;
  readonly command: string;
  readonly exit_code: number | null;
  readonly iteration: number;
  readonly at: string;
  /** Last lines of the output, redacted. */
  readonly tail: string;
}

export interface InstructionRecord {
  readonly id: string;
  /** `instructions` are orders; `updates` are facts and are fenced as data; `permission` answers a permission question. */
  readonly kind: "instructions" | "updates" | "permission";
  readonly text: string;
  readonly at: string;
  readonly delivered_at: string | null;
  readonly delivered_iteration: number | null;
}

/** What every run begins with, whatever it was started from. */
export function freshRun(at: string, firstCap: number) {
  return {
    state: "queued",
    stop_reason: null,
    stop: null,
    stop_request: null,
    iteration: 0,
    first_cap: firstCap,
    max_iterations: firstCap,
    usage: { input_tokens: 0, output_tokens: 0, cost_usd: null, active_ms: 0 },
    plan: [],
    report: null,
    last_words: null,
    was_reset: null,
    revision: 1,
    fence: 0,
    created_at: at,
    started_at: null,
    alive_at: null,
    progress_at: null,
    waiting_until: null,
    stopped_at: null,
    archived_at: null,
    reclaimed_at: null,
    changed_at: at,
  } as const satisfies Partial<RunRecord>;
}
