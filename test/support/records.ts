import { randomBytes } from "node:crypto";
import type { Drift } from "../../src/checkpoint/drift-shapes.ts";
import type { NewJournalEntry, NewRunEvent, RunEventType } from "../../src/run/event.ts";
import { newRunId } from "../../src/run/id.ts";
import type { AttemptRecord, IterationRecord, RunRecord, StepRecord, StopRecord } from "../../src/run/run.ts";
import type { NewRun, ProcessIdentity } from "../../src/store/store.ts";

/** Whole records with usual values, so that a test names only the fields that it is about. */

export const AT = "2026-11-29T19:04:00.000Z";

export function aRun(fields: Partial<RunRecord> = {}): RunRecord {
  const run_id = fields.run_id ?? newRunId();
  return {
    run_id,
    owner: "owner",
    objective: "Make the tests pass",
    repo_path: "/repo",
    repo_common_dir: "/repo/.git",
    repo_remote: "example.org/team/repo",
    root_commit: "a".repeat(40),
    base_commit: "b".repeat(40),
    branch: "loopkeeper/abc",
    workspace_kind: "worktree",
    workspace_path: `/trees/${run_id}`,
    agent: "scripted",
    model: null,
    mode: null,
    settings: {
      permissions: "all",
      allow: [],
      allowed_commands: [],
      setup: [],
      copy_ignored: [],
      on_done: "leave",
      budget: null,
      auto_resume: null,
      brief: "auto",
      silence_s: 600,
      tool_silence_s: 3600,
      command_timeout_s: 900,
      base_run: null,
      config_path: null,
      host: null,
    },
    state: "queued",
    stop_reason: null,
    stop: null,
    stop_request: null,
    iteration: 0,
    first_cap: 10,
    max_iterations: 10,
    usage: { input_tokens: 0, output_tokens: 0, cost_usd: null, active_ms: 0 },
    plan: [],
    report: null,
    last_words: null,
    resume_note: null,
    predecessor_run_id: null,
    was_reset: null,
    revision: 1,
    fence: 0,
    created_at: AT,
    started_at: null,
    alive_at: null,
    progress_at: null,
    waiting_until: null,
    stopped_at: null,
    archived_at: null,
    reclaimed_at: null,
    changed_at: AT,
    ...fields,
  };
}

export function aStop(fields: Partial<StopRecord> = {}): StopRecord {
  return {
    reason: "max_iterations",
    source: "loop",
    evidence: "10 of 10",
    step: "main",
    iteration: 10,
    at: AT,
    resets_at: null,
    resets_at_source: null,
    resets_at_zone: null,
    resets_at_confidence: null,
    question: null,
    same_stop_in_a_row: 1,
    ceiling: "run",
    uncommitted: null,
    open_tool_calls: [],
    background: [],
    alive_until: null,
    gaps: [],
    failed_steps: [],
    unreachable_steps: [],
    ...fields,
  };
}

export function aStep(fields: Partial<StepRecord> = {}): StepRecord {
  return {
    step: "main",
    position: 0,
    title: null,
    objective: "Make the tests pass",
    needs: [],
    max_iterations: null,
    verify: ["npm test"],
    state: "pending",
    attempt: 0,
    iteration: 0,
    ...fields,
  };
}

export function anAttempt(fields: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    step: "main",
    attempt: 1,
    started_from: "start",
    opened_at: AT,
    ended_at: null,
    ended_by: null,
    opened_at_iteration: 0,
    entry_checkpoint: null,
    engine_session: null,
    context: "pending",
    why_handoff: null,
    note: null,
    restore: "none",
    ...fields,
  };
}

export function anIteration(ordinal: number, fields: Partial<IterationRecord> = {}): IterationRecord {
  return {
    ordinal,
    number: ordinal,
    step: "main",
    attempt: 1,
    started_at: AT,
    ended_at: null,
    outcome: null,
    finished: false,
    checkpoint_start: null,
    checkpoint_end: null,
    progress_key: null,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: null,
    summary: null,
    revision: null,
    ...fields,
  };
}

export function aNewRun(fields: Partial<RunRecord> = {}): NewRun {
  const run = aRun(fields);
  return {
    run,
    steps: [aStep()],
    attempts: [anAttempt()],
    events: [{ type: "run_created", at: run.created_at, data: { objective: run.objective } }],
    instructions: [],
    request: null,
    tree_hold: run.workspace_path,
  };
}

/** Something that happened, for a test that is about what it changed. */
export function anEvent(type: RunEventType = "workspace_ready"): NewRunEvent {
  return { type, at: AT, data: {} };
}

export function anEntry(text: string, fields: Partial<NewJournalEntry> = {}): NewJournalEntry {
  return { who: "agent", kind: "message", text, iteration: 1, at: AT, ...fields };
}

export function anIdentity(pid = process.pid): ProcessIdentity {
  return { host: "test-host", boot_id: "boot", pid, start_time: String(pid) };
}

/** About 8 KB in 20 entries, as an engine sends them in one flush. */
export function aFlush(iteration = 1): NewJournalEntry[] {
  return Array.from({ length: 20 }, (_, index) =>
    anEntry(`${index} The quick brown fox reads src/file-${index}.ts and writes it. ${randomBytes(100).toString("hex")}`, {
      iteration,
      kind: index % 3 === 0 ? "tool_call" : "message",
    }),
  );
}

/** Nothing changed since the stop. */
export function aDrift(fields: Partial<Drift> = {}): Drift {
  return {
    workspace: "present",
    workspace_missing: false,
    head_moved: false,
    head: null,
    head_log: [],
    branch_moved: false,
    branch: { local: null, remote: null, remote_checked: true, merged: null },
    checkpoint_known: true,
    has_remote: false,
    remote_growth: null,
    remote_answer: null,
    base_unseen: null,
    files_changed: [],
    files_changed_total: 0,
    commits_by_others: [],
    commits_by_others_total: 0,
    operation_in_progress: null,
    operation_by_run: null,
    operation_ended: null,
    locks: [],
    ...fields,
  };
}
