import { asSaid, type Said } from "./said.ts";

/** Every error a caller can meet, with what it is about. The text of an error says what to do next. */
export const ERROR_CODES = {
  bad_input: "an argument is wrong, unknown or out of range",
  run_not_found: "no run of this owner has that id",
  not_allowed: "the run's state or stop reason does not allow this now",
  already_running: "the run, or another run on the same working tree, is live",
  revision_conflict: "the run moved since the caller looked",
  confirm_token_invalid: "the confirm token does not fit this action",
  repository_problem: "the repository or the workspace is not as it has to be",
  agent_unknown: "no agent of that name is configured",
  agent_unavailable: "the agent is configured but cannot be started here",
  store_unavailable: "the store cannot be opened, read or written",
  internal: "a defect of Loopkeeper",
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/**
 * The one error that reaches callers, in the words of whoever called; `message` is the agent's. It says what happened, which values are valid and what to call next;
 * it never holds a raw message of a database, of git or of an engine (they can carry secrets and prompt text).
 */
export class LoopkeeperError extends Error {
  override readonly name = "LoopkeeperError";
  readonly code: ErrorCode;
  readonly said: Said;
  /** The fixed first word of a refusal, e.g. `needs_iterations`; programs read it, people do not. */
  readonly refusal: string | null;
  constructor(code: ErrorCode, message: string | Said, options: { cause?: unknown; refusal?: string } = {}) {
    const told = asSaid(message);
    super(told.agent, options);
    this.code = code;
    this.said = told;
    this.refusal = options.refusal ?? null;
  }
}

/** The run, or what is there of it, does not allow this: an agent is told the fixed word first. */
export function refused(word: string, message: string | Said): LoopkeeperError {
  const told = asSaid(message);
  return new LoopkeeperError("not_allowed", { ...told, agent: `${word}: ${told.agent}` }, { refusal: word });
}

/** A driver's write came after its lease was taken over: it must end its engine and write nothing more. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";
}

/** The text of a thrown value of unknown type, for logs and evidence. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The system error code (`ENOENT`, `EACCES`...) of a thrown value, or null. */
export function systemCode(error: unknown): string | null {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return null;
}
