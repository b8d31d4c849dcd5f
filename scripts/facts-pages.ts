import { EXIT_CODES } from "../src/cli/exit-code.ts";
import { REFUSALS, WISHES } from "../src/resume/refusals.ts";
import { STOP_REASONS, stopReasonRow } from "../src/run/stop-reason.ts";
import { PROBLEM_KINDS, PROBLEM_TYPE_PREFIX } from "../src/server/problem.ts";
import { code, GENERATED, page, table } from "./markdown.ts";

const CLASSES = {
  cut_off: "cut-off: nothing judged the objective",
  verdict: "verdict: the objective was judged",
  owner: "the owner stopped it",
} as const;

export function stopReasonsPage(): string {
  const rows = STOP_REASONS.map((reason) => {
    const row = stopReasonRow(reason);
    return [
      code(reason),
      CLASSES[row.class],
      row.briefsSuccessor ? "yes" : "no",
      row.resumable ? row.needs.map(code).join(", ") || "nothing" : "cannot be resumed: start a new run",
      row.resumable ? code(row.resumesFrom) : "-",
      row.personMust ?? "-",
      row.sentence,
    ];
  });
  return page([
    "# Stop reasons",
    GENERATED,
    "Why a run stopped. The set is closed. `{n}` and `{max}` stand for the finished and the allowed iterations.",
    table(["reason", "class", "a new run is briefed", "`run_resume` wants", "resumes from", "a person must", "sentence"], rows),
    "## What a run's state refuses",
    "Whatever the arguments; the first row that applies is the answer, and its word begins the text of the error. Everything else is allowed once what a resume wants is given.",
    table(
      ["a run that", "refuses", "as"],
      REFUSALS.map((row) => [
        row.when,
        row.refuses.map((wish) => code(WISHES[wish])).join(", "),
        code(row.code === "not_allowed" ? `not_allowed: ${row.word}` : row.code),
      ]),
    ),
  ]);
}

export function errorsPage(): string {
  return page([
    "# Errors",
    GENERATED,
    "An error's text is `code: what happened, which values are valid, what to call next`. Over MCP it comes as `isError` without structuredContent.",
    `Over HTTP it is a problem document (RFC 9457) whose type is \`${PROBLEM_TYPE_PREFIX}<code>\` and whose \`detail\` is the text without the code; \`refusal\` is the first word of a \`not_allowed\`. \`not_allowed: inside_a_run\` is 403. The last rows are refusals of that door alone.`,
    table(
      ["code", "HTTP", "about"],
      Object.entries(PROBLEM_KINDS).map(([name, { status, about }]) => [code(name), String(status), about]),
    ),
    "## Exit codes of the command line",
    table(
      ["code", "means"],
      Object.values(EXIT_CODES).map(({ code: exit, means }) => [String(exit), means]),
    ),
  ]);
}
