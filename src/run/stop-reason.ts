import { tool, typed } from "./names.ts";
import { type Said, said, saidList } from "./said.ts";

/**
 * Why a run stopped: one row per reason, and everything that depends on a reason derives from its row (gates, sentences,
 * tool descriptions, documents). Adding a reason is adding a row; the compiler names the rest.
 */
export type StopClass = "cut_off" | "verdict" | "owner";

interface NeedRow {
  /** First word of the refusal when it is not given. */
  readonly word: string;
  /** What is asked for: the argument, a field of the page, a flag with a usual value. */
  readonly name: Said;
  /** Half a sentence when it is not given. */
  readonly missing: Said;
}

export const HIGHER_BUDGET: Said = {
  agent: "give a higher `budget`",
  page: "it needs a higher budget",
  shell: `give a higher one with ${typed("budget")}`,
};

/** Arguments of run_resume that a stop can ask for. */
export const NEEDS = {
  instructions: {
    word: "needs_instructions",
    name: { agent: "instructions", page: "instructions", shell: typed("instructions") },
    missing: said`${{ agent: "give `instructions`", page: "it needs instructions", shell: `give ${typed("instructions")}` }}: what it should do differently, or the answer to its question`,
  },
  add_iterations: {
    word: "needs_iterations",
    name: { agent: "add_iterations", page: "more iterations", shell: typed("add_iterations") },
    missing: {
      agent: "0 iterations left: give `add_iterations`, or grant first with run_grant_iterations",
      page: "no iterations are left: it needs more iterations",
      shell: `no iterations are left: give ${typed("add_iterations")}, or grant first with ${tool("run_grant_iterations").shell}`,
    },
  },
  budget: {
    word: "needs_budget",
    name: { agent: "budget", page: "a higher budget", shell: typed("budget") },
    missing: said`its budget is used up: ${HIGHER_BUDGET} (new totals over the run's whole life; what you leave out stays)`,
  },
  permission: {
    word: "needs_permission",
    name: { agent: "permission", page: "your answer to its command", shell: typed("permission") },
    missing: {
      agent: "it asked for a permission: give `permission`: allow_once, allow_for_run or deny; instructions never grant anything",
      page: "it asks to be allowed a command: choose your answer; instructions never allow anything",
      shell:
        "it asks to be allowed a command: give `--permission allow_once`, `--permission allow_for_run` or `--permission deny`; instructions never allow anything",
    },
  },
} as const satisfies Record<string, NeedRow>;
export type ResumeNeed = keyof typeof NEEDS;

const isNeed = (text: string): text is ResumeNeed => Object.hasOwn(NEEDS, text);

/** What a stop asks for, as a person says it. */
export function needForPeople(need: string): string {
  return isNeed(need) ? NEEDS[need].name.page : need;
}

/** What a stop asks for, by name. */
export function needNames(needs: readonly ResumeNeed[]): Said {
  return saidList(
    needs.map((need) => NEEDS[need].name),
    ", ",
  );
}

export interface StopReasonRow {
  /** `cut_off`: nothing judged the objective. `verdict`: it was judged. `owner`: the owner stopped it. */
  readonly class: StopClass;
  /** A new run on the same repository is briefed from a run that stopped so. */
  readonly briefsSuccessor: boolean;
  /** What run_resume must be given. `escalated` asks for `permission` instead when the engine wanted one. */
  readonly needs: readonly ResumeNeed[];
  /** Where run_resume starts when `from` is left out. */
  readonly resumesFrom: "stop" | "entry";
  /** False only for `done`: a new run is started instead. */
  readonly resumable: boolean;
  /** What only a person can do before it makes sense to go on. */
  readonly personMust: string | null;
  /** One sentence for people and for the first line of a resume note; `{n}`, `{max}` are the iteration counts. */
  readonly sentence: string;
}

export const STOP_REASON_TABLE = {
  max_iterations: {
    class: "cut_off",
    briefsSuccessor: true,
    needs: ["add_iterations"],
    resumesFrom: "stop",
    resumable: true,
    personMust: null,
    sentence: "It used all {max} iterations before reaching a verdict.",
  },
  interrupted: {
    class: "cut_off",
    briefsSuccessor: true,
    needs: [],
    resumesFrom: "stop",
    resumable: true,
    personMust: null,
    sentence: "It was interrupted after {n} of {max} iterations: a process or the host died or was shut down.",
  },
  engine_limit: {
    class: "cut_off",
    briefsSuccessor: true,
    needs: [],
    resumesFrom: "stop",
    resumable: true,
    personMust: null,
    sentence: "The engine's usage window was spent after {n} of {max} iterations.",
  },
  provider_credit: {
    class: "cut_off",
    briefsSuccessor: true,
    needs: [],
    resumesFrom: "stop",
    resumable: true,
    personMust: "Top up the balance or fix the billing of the account that the engine uses.",
    sentence: "The provider refused for lack of credit after {n} of {max} iterations.",
  },
  relay_timeout: {
    class: "cut_off",
    briefsSuccessor: true,
    needs: [],
    resumesFrom: "stop",
    resumable: true,
    personMust: null,
    sentence: "The connection to the engine or its model was lost, silent or overloaded after {n} of {max} iterations.",
  },
  engine_auth: {
    class: "cut_off",
    briefsSuccessor: true,
    needs: [],
    resumesFrom: "stop",
    resumable: true,
    personMust: "Log the engine in again, or replace the key that was rejected.",
    sentence: "The engine's login expired or its key was rejected after {n} of {max} iterations.",
  },
  context_overflow: {
    class: "cut_off",
    briefsSuccessor: true,
    needs: [],
    resumesFrom: "stop",
    resumable: true,
    personMust: null,
    sentence: "The engine's context was full after {n} of {max} iterations and it could not compact it.",
  },
  storage: {
    class: "cut_off",
    briefsSuccessor: true,
    needs: [],
    resumesFrom: "stop",
    resumable: true,
    personMust: "Free disk space, or make the store and the repository writable again.",
    sentence: "Its work could not be recorded after {n} of {max} iterations: the disk or the store refused.",
  },
  failed: {
    class: "verdict",
    briefsSuccessor: false,
    needs: [],
    resumesFrom: "entry",
    resumable: true,
    personMust: null,
    sentence: "It failed after {n} of {max} iterations.",
  },
  escalated: {
    class: "verdict",
    briefsSuccessor: false,
    needs: ["instructions"],
    resumesFrom: "stop",
    resumable: true,
    personMust: null,
    sentence: "It asked for a person after {n} of {max} iterations.",
  },
  no_progress: {
    class: "verdict",
    briefsSuccessor: false,
    needs: ["instructions"],
    resumesFrom: "stop",
    resumable: true,
    personMust: null,
    sentence: "Three iterations in a row changed nothing; it stopped after {n} of {max} iterations.",
  },
  budget: {
    class: "verdict",
    briefsSuccessor: false,
    needs: ["budget"],
    resumesFrom: "stop",
    resumable: true,
    personMust: null,
    sentence: "It reached the owner's budget after {n} of {max} iterations.",
  },
  cancelled: {
    class: "owner",
    briefsSuccessor: false,
    needs: [],
    resumesFrom: "stop",
    resumable: true,
    personMust: null,
    sentence: "The owner stopped it after {n} of {max} iterations.",
  },
  done: {
    class: "verdict",
    briefsSuccessor: false,
    needs: [],
    resumesFrom: "stop",
    resumable: false,
    personMust: null,
    sentence: "It is done after {n} of {max} iterations.",
  },
} as const satisfies Record<string, StopReasonRow>;

export type StopReason = keyof typeof STOP_REASON_TABLE;

const ROWS: Readonly<Record<StopReason, StopReasonRow>> = STOP_REASON_TABLE;

const isStopReason = (text: string): text is StopReason => Object.hasOwn(STOP_REASON_TABLE, text);

/** All reasons in table order. */
export const STOP_REASONS: readonly StopReason[] = Object.keys(STOP_REASON_TABLE).filter(isStopReason);

/** Reasons whose run briefs a successor run on the same repository. */
export const RESUMABLE_STOP_REASONS: readonly StopReason[] = STOP_REASONS.filter((reason) => ROWS[reason].briefsSuccessor);

/** Cut-offs that need no argument and no person: the default of `auto_resume.reasons`. */
export const UNATTENDED_REASONS: readonly StopReason[] = STOP_REASONS.filter(
  (reason) => ROWS[reason].class === "cut_off" && ROWS[reason].needs.length === 0 && ROWS[reason].personMust === null,
);

/** What `auto_resume.reasons` may name: cut-offs other than `max_iterations`. */
export const AUTO_RESUME_REASONS: readonly StopReason[] = STOP_REASONS.filter(
  (reason) => ROWS[reason].class === "cut_off" && reason !== "max_iterations",
);

/** The facts of one reason. */
export function stopReasonRow(reason: StopReason): StopReasonRow {
  return ROWS[reason];
}

/** The reason's sentence with the counts filled in. */
export function stopSentence(
  reason: StopReason,
  counts: { readonly iteration: number; readonly max_iterations: number },
): string {
  return ROWS[reason].sentence.replaceAll("{n}", String(counts.iteration)).replaceAll("{max}", String(counts.max_iterations));
}
