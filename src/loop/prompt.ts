import { fence } from "../resume/fence.ts";
import { permissionAnswerParts } from "../resume/permission-answer.ts";
import type { InstructionRecord, RunRecord, StepRecord, VerifyRecord } from "../run/run.ts";

/** The texts that the loop sends to an engine. The owner's own words stand outside of any fence; everything else is fenced. */

export interface PromptFacts {
  readonly run: RunRecord;
  readonly step: StepRecord;
  readonly steps: readonly StepRecord[];
  /** Number of this iteration over the run's life. */
  readonly number: number;
  readonly instructions: readonly InstructionRecord[];
  /** Ids of instructions that may be in the engine's conversation already: it cannot be seen. */
  readonly in_doubt: ReadonlySet<string>;
  readonly failing: readonly VerifyRecord[];
}

/** First prompt of an engine session: all that the engine must know. */
export function firstPrompt(
  facts: PromptFacts,
  parts: { readonly note: string | null; readonly other_steps: string | null; readonly repository_state: string | null },
): string {
  const { run, step, steps } = facts;
  return sections([
    parts.note,
    `OBJECTIVE\n${run.objective}`,
    steps.length > 1 || step.objective !== run.objective
      ? `THIS STEP (${step.step}, ${step.position + 1} of ${steps.length})\n${step.title === null ? "" : `${step.title}\n`}${step.objective}`
      : null,
    parts.other_steps,
    instructionsPart(facts),
    parts.repository_state,
    step.verify.length > 0
      ? `CHECKS\nThe step is done only when each of these commands exits 0; they are run after every turn:\n${step.verify.map((command) => `- ${command}`).join("\n")}`
      : null,
    failingPart(facts.failing),
    turnPart(facts),
  ]);
}

/** First prompt of an attempt that goes on in a session the engine still has. */
export function resumedPrompt(
  facts: PromptFacts,
  parts: { readonly note: string | null; readonly repository_state: string | null },
): string {
  return sections([parts.note, instructionsPart(facts), parts.repository_state, failingPart(facts.failing), turnPart(facts)]);
}

/** Every later prompt: n of m, what fails, what the owner said, what to report. */
export function nextPrompt(facts: PromptFacts): string {
  return sections([instructionsPart(facts), failingPart(facts.failing), turnPart(facts)]);
}

/** After the engine process died or went silent inside an iteration and its session was loaded again. */
export function againPrompt(why: string): string {
  return `Your process was started again in the middle of this turn (${why}); your conversation was loaded. Background processes that you had started are gone. Look at the state of the files, then go on with the turn.`;
}

function turnPart(facts: PromptFacts): string {
  const { run, number } = facts;
  return [
    `Iteration ${number} of ${run.max_iterations}. Nobody watches this conversation: decide by yourself and work on until the turn's work is done.`,
    "Before you end the turn call the tool report_progress (MCP server loopkeeper) with what is completed, what is midway and what you still intend;",
    `verdict "done" only when ${facts.steps.length > 1 ? "the whole objective of this step" : "the whole objective"} is reached, "blocked" when it cannot be reached, "needs_human" with your question when only a person can decide.`,
  ].join("\n");
}

/** Marks an instruction in a prompt, so that it is known again in a conversation that an engine loads. */
export function instructionRef(id: string): string {
  return `(ref ${id.slice(0, 12)})`;
}

function instructionsPart({ instructions, in_doubt }: PromptFacts): string | null {
  if (instructions.length === 0) return null;
  const marked = ({ id, kind, text }: InstructionRecord): string =>
    `${kind === "permission" ? permissionLine(text) : text}\n${instructionRef(id)}${in_doubt.has(id) ? " You may have this one already, with the same ref: then follow it once." : ""}`;
  const orders = instructions.filter((entry) => entry.kind === "instructions").map(marked);
  const answers = instructions.filter((entry) => entry.kind === "permission").map(marked);
  const updates = instructions
    .filter((entry) => entry.kind === "updates")
    .map((entry) => `${fence("update given by the owner as facts", entry.text)}\n${instructionRef(entry.id)}`);
  return sections([
    orders.length > 0 ? `INSTRUCTIONS FROM THE OWNER\n${orders.join("\n\n")}` : null,
    answers.length > 0 ? `PERMISSIONS\n${answers.join("\n")}` : null,
    updates.length > 0 ? `UPDATES (facts, not orders)\n${updates.join("\n")}` : null,
  ]);
}

/** The owner's answer is an order; the command that it is about is the engine's own words. */
function permissionLine(text: string): string {
  const { answer, command } = permissionAnswerParts(text);
  return command === null ? answer : `${answer}\n${fence("command", command)}`;
}

function failingPart(failing: readonly VerifyRecord[]): string | null {
  if (failing.length === 0) return null;
  const parts = failing.map(
    (result) =>
      `$ ${result.command}\nexit code ${result.exit_code ?? "none (timed out or killed)"}\n${fence("output of the check", result.tail)}`,
  );
  return `CHECKS THAT FAIL\n${parts.join("\n")}`;
}

function sections(parts: readonly (string | null)[]): string {
  return parts.filter((part) => part !== null && part !== "").join("\n\n");
}
