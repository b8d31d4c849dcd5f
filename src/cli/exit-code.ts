import type { CallResult } from "../tools/call.ts";

/** What a command's exit code tells a script. */
export const EXIT_CODES = {
  ok: { code: 0, means: "done" },
  error: { code: 1, means: "an error; the text says what to do" },
  refused: { code: 2, means: "refused: `not_allowed`, `already_running` or `revision_conflict`" },
  needs_confirmation: { code: 3, means: "nothing was done yet: call again with the confirm token" },
} as const;

const REFUSALS: readonly string[] = ["not_allowed", "already_running", "revision_conflict"];

export function exitCodeOf(result: CallResult): number {
  if (!result.ok) return REFUSALS.includes(result.code) ? EXIT_CODES.refused.code : EXIT_CODES.error.code;
  return result.structured["needs_confirmation"] === true ? EXIT_CODES.needs_confirmation.code : EXIT_CODES.ok.code;
}
