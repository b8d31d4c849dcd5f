import { tool } from "../run/names.ts";
import { isLive, type RunRecord } from "../run/run.ts";
import { type Said, said, toCallers } from "../run/said.ts";

/**
 * What a run's state refuses, whatever the arguments: one table. Tools refuse by it, choices offer by it, descriptions and
 * documents are made from it, so that nothing is offered that would be refused.
 */

/** What a caller can want of a run, by the tool that does it. */
export const WISHES = {
  resume: "run_resume",
  grant: "run_grant_iterations",
  reset: "run_reset",
  redo: "run_redo",
  instruct: "run_instruct",
  archive: "run_archive",
  stop: "run_stop",
  explain: "run_explain_stop",
} as const;
export type Wish = keyof typeof WISHES;

/** Why something is not allowed: a fixed first word, then what to do instead. */
export interface Refusal {
  readonly code: "not_allowed" | "already_running";
  readonly word: string;
  readonly message: Said;
}

interface RefusalRow {
  readonly word: string;
  readonly code: Refusal["code"];
  /** Half a sentence for documents: the wish is refused when the run ... */
  readonly when: string;
  applies(run: RunRecord): boolean;
  readonly refuses: readonly Wish[];
  /** What is so, and which call is right instead. */
  message(run: RunRecord): Said;
}

/** The first row that applies to a run and names the wish is the answer. */
export const REFUSALS: readonly RefusalRow[] = [
  {
    word: "already_running",
    code: "already_running",
    when: "is queued, running or stopping",
    applies: (run) => isLive(run.state),
    refuses: ["resume"],
    message: (run) =>
      said`run ${run.run_id} is ${run.state} (iteration ${run.iteration} of ${run.max_iterations}).${toCallers(said` Call ${tool("run_wait")} to wait for it.`)}`,
  },
  {
    word: "live",
    code: "not_allowed",
    when: "is queued, running or stopping",
    applies: (run) => isLive(run.state),
    refuses: ["reset", "redo", "archive"],
    message: (run) =>
      said`the run is ${run.state}; stop it first${toCallers(said` with ${tool("run_stop")}, then wait with ${tool("run_wait")}`)}.`,
  },
  {
    word: "live",
    code: "not_allowed",
    when: "is queued, running or stopping",
    applies: (run) => isLive(run.state),
    refuses: ["explain"],
    message: (run) =>
      said`run ${run.run_id} is ${run.state} and has not stopped.${toCallers(said` See ${tool("run_status")}, or wait with ${tool("run_wait")}.`)}`,
  },
  {
    word: "stopping",
    code: "not_allowed",
    when: "is stopping",
    applies: (run) => run.state === "stopping",
    refuses: ["grant"],
    message: () =>
      said`the run is stopping; ${toCallers(said`call ${tool("run_wait")}, then grant`, "grant when it has stopped")}.`,
  },
  {
    word: "reclaimed",
    code: "not_allowed",
    when: "was reclaimed",
    applies: (run) => run.reclaimed_at !== null,
    refuses: ["resume", "grant", "reset", "redo", "instruct"],
    message: (run) =>
      said`the run's workspace was freed at ${run.reclaimed_at ?? ""}; start a new run with ${tool("coding_loop_start")}.`,
  },
  {
    word: "archived",
    code: "not_allowed",
    when: "is archived",
    applies: (run) => run.archived_at !== null,
    refuses: ["resume", "grant", "reset", "redo", "instruct"],
    message: (run) => said`the run was archived at ${run.archived_at ?? ""}; bring it back first (${UNARCHIVE}).`,
  },
  {
    word: "done",
    code: "not_allowed",
    when: "is done",
    applies: isDone,
    refuses: ["resume", "grant", "instruct"],
    message: () => said`a done run is never continued; start a new run with ${tool("coding_loop_start")}.`,
  },
  {
    word: "done",
    code: "not_allowed",
    when: "is done",
    applies: isDone,
    refuses: ["stop"],
    message: () => said`the run is already done; there is nothing to stop. To take its work over see ${tool("run_status")}.`,
  },
  {
    word: "stopped",
    code: "not_allowed",
    when: "is stopped and waits for no time",
    applies: (run) => run.state === "stopped" && run.waiting_until === null,
    refuses: ["stop"],
    message: (run) =>
      said`the run is already stopped${{ agent: ` (${run.stop_reason ?? "unknown"})`, page: "", shell: "" }}${toCallers(said`; see ${tool("run_explain_stop")}`)}.`,
  },
  {
    word: "was_reset",
    code: "not_allowed",
    when: "was reset to its start",
    applies: (run) => run.was_reset !== null,
    refuses: ["resume", "grant", "redo", "instruct"],
    message: (run) =>
      said`the run was reset to its start; ${bringBack(run.was_reset ?? "")} to bring the work back, or start a new run with ${tool("coding_loop_start")}.`,
  },
];

const UNARCHIVE: Said = {
  agent: "run_archive with archived: false",
  page: "Unarchive",
  shell: "`loopkeeper archive --no-archived`",
};

function bringBack(safety: string): Said {
  return {
    agent: `call run_reset with to: "${safety}" (its safety checkpoint)`,
    page: 'choose "Bring the work back"',
    shell: `type \`loopkeeper reset --to ${safety}\` (its safety checkpoint)`,
  };
}

function isDone(run: RunRecord): boolean {
  return run.state === "done" || run.stop_reason === "done";
}

/** Why this run's state refuses the wish whatever the arguments; null when it does not. */
export function refusalOf(wish: Wish, run: RunRecord): Refusal | null {
  const row = REFUSALS.find((candidate) => candidate.refuses.includes(wish) && candidate.applies(run));
  return row === undefined ? null : { code: row.code, word: row.word, message: row.message(run) };
}

/** One sentence for a tool's description: which runs it refuses, by the same table. */
export function refusedWhen(wish: Wish): string {
  const rows = REFUSALS.filter((row) => row.refuses.includes(wish));
  return `Refused for a run that ${rows.map((row) => row.when).join(", ")}.`;
}
