import { tool } from "../run/names.ts";
import { type Said, said } from "../run/said.ts";
import { beforeReset, defaultFrom, type GateFacts, resetToStartRefusal, resumeNeeds } from "./gate.ts";
import { type Refusal, refusalOf } from "./refusals.ts";

export const OFFERS = ["resume", "answer", "grant", "redo", "reset", "stop", "instruct", "archive", "reclaim"] as const;

/** One thing that a person can want of a run: allowed now, or why not. */
export interface Offer {
  readonly action: (typeof OFFERS)[number];
  readonly label: string;
  readonly allowed: boolean;
  /** The first word of the refusal, e.g. `archived`; null when allowed. */
  readonly word: string | null;
  readonly why: Said | null;
  /** Arguments that must be given. */
  readonly needs: readonly string[];
}

/** Everything that a row or a head of a page offers, by the same table that the tools refuse by. */
export function offers(facts: GateFacts, nowMs: number): readonly Offer[] {
  const { run } = facts;
  const resume = refusalOf("resume", run);
  const needs = resume === null ? resumeNeeds(facts, defaultFrom(facts)) : [];
  const waits = run.waiting_until !== null && run.state === "stopped";
  return [
    offer("resume", resumeLabel(facts, nowMs), resume, needs),
    offer("answer", "Answer", resume ?? (run.stop?.question == null ? ASKED_NOTHING : null), needs),
    offer("grant", "Grant", refusalOf("grant", run), ["iterations"]),
    offer("redo", "Redo", refusalOf("redo", run) ?? (facts.steps.some((step) => step.attempt > 0) ? null : NEVER_BEGAN), [
      "step",
    ]),
    offer("reset", "Reset", resetToStartRefusal(facts)),
    offer("stop", waits ? "Cancel the wait" : "Stop", refusalOf("stop", run)),
    offer("instruct", "Instruct", refusalOf("instruct", run), ["instructions"]),
    offer("archive", run.archived_at === null ? "Archive" : "Unarchive", refusalOf("archive", run)),
    offer("reclaim", "Free its workspace", refusalOf("archive", run) ?? (run.reclaimed_at === null ? null : FREED)),
  ];
}

function resumeLabel({ run }: GateFacts, nowMs: number): string {
  return beforeReset(run, nowMs) && run.waiting_until === null ? "Resume at the reset" : "Resume";
}

function offer(action: Offer["action"], label: string, refused: Refusal | null, needs: readonly string[] = []): Offer {
  return {
    action,
    label,
    allowed: refused === null,
    word: refused?.word ?? null,
    why: refused?.message ?? null,
    needs: refused === null ? needs : [],
  };
}

const ASKED_NOTHING: Refusal = { code: "not_allowed", word: "asked_nothing", message: said`the run asked nothing.` };
const FREED: Refusal = {
  code: "not_allowed",
  word: "reclaimed",
  message: said`its workspace was freed; nothing is left to free.`,
};
const NEVER_BEGAN: Refusal = {
  code: "not_allowed",
  word: "never_began",
  message: said`no step was begun, so there is nothing to do again. ${tool("run_resume")} begins it.`,
};
