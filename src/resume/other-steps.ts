import { redact } from "../redact/redact.ts";
import type { AttemptRecord, IterationRecord, RunRecord, StepRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { fence } from "./fence.ts";
import { lastAttempt, waitsToBegin } from "./reopen.ts";
import { oneLine } from "./shown.ts";
import { isTakenBack, restoresOf } from "./taken-back.ts";

/** More than a run has. */
const ALL = 100_000;
/** Of each step: commits that are listed. */
const COMMITS = 8;
const CHARACTERS = 5_000;

/**
 * The passage of a first prompt that tells a step's engine of the other steps: each has a session of its own, and what they
 * made is in the files. Null for a run of one step. What engines reported stands in a fence.
 */
export async function otherSteps(
  store: Pick<Store, "attempts" | "iterations" | "acts" | "events">,
  facts: { readonly run: Pick<RunRecord, "run_id">; readonly steps: readonly StepRecord[] },
  step: StepRecord,
): Promise<string | null> {
  const { steps } = facts;
  if (steps.length < 2) return null;
  const id = facts.run.run_id;
  const [attempts, rows, acts, restores] = await Promise.all([
    store.attempts(id),
    store.iterations(id, ALL),
    store.acts(id, 500),
    restoresOf(store, id),
  ]);
  const said = steps.flatMap((other) => {
    if (other.step === step.step || waitsToBegin(other)) return [];
    const own = ownRows(other, attempts, rows);
    const summary = own.find((row) => row.summary !== null)?.summary ?? null;
    const numbers = new Set(own.map((row) => row.number));
    const commits = acts.filter((act) => act.kind === "commit" && numbers.has(act.iteration) && !isTakenBack(act, restores));
    return [
      ...(summary === null ? [] : [`${other.step} reported: ${oneLine(summary, 400)}`]),
      ...commits.slice(-COMMITS).map((act) => `${other.step} committed ${act.ref?.slice(0, 12) ?? ""} ${oneLine(act.what, 120)}`),
    ];
  });
  const list = steps
    .filter((other) => other.step !== step.step)
    .map((other) => `- ${other.step}${titleOf(other)}: ${stateWords(other)}`);
  return redact(
    [
      "THE OTHER STEPS",
      "Each has an agent session of its own in this same working tree. Do this step alone: leave what comes later to its own step.",
      ...list,
      ...(said.length === 0 ? [] : [fence("what other steps reported and committed", cutTo(said, CHARACTERS))]),
    ].join("\n"),
  );
}

/** Iterations of the step since it last began afresh, newest first. */
function ownRows(
  step: StepRecord,
  attempts: readonly AttemptRecord[],
  rows: readonly IterationRecord[],
): readonly IterationRecord[] {
  const fresh = attempts.filter((attempt) => attempt.step === step.step && attempt.started_from !== "stop");
  const first = lastAttempt(fresh, step.step)?.attempt ?? 1;
  return rows.filter((row) => row.step === step.step && row.attempt >= first);
}

const titleOf = (step: StepRecord): string => (step.title === null ? "" : ` (${oneLine(step.title, 100)})`);

function stateWords(step: StepRecord): string {
  switch (step.state) {
    case "succeeded":
      return "succeeded; its work is in the files";
    case "failed":
      return "failed; what it made is in the files";
    case "unreachable":
      return "cannot be begun, since a step that it needs failed";
    default:
      return step.attempt === 0 ? "comes later" : "is done again later";
  }
}

function cutTo(lines: readonly string[], length: number): string {
  const kept: string[] = [];
  let room = length;
  for (const line of lines) {
    room -= line.length + 1;
    if (room < 0) return [...kept, `and ${lines.length - kept.length} more lines`].join("\n");
    kept.push(line);
  }
  return kept.join("\n");
}
