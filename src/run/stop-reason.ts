/**
 * Why a run stopped: one row per reason, and everything that depends on a reason derives from its row (gates, sentences,
 * tool descriptions, documents). Adding a reason is adding a row; the compiler names the rest.
 */
export type StopClass = "cut_off" | "verdict" | "owner";

/** Arguments of run_resume that a stop can ask for. */
export type ResumeNeed = "instructions" | "add_iterations" | "budget" | "permission";

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
