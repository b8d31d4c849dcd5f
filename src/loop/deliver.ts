import { z } from "zod";
import type { Engine } from "../engine/engine.ts";
import { now } from "../run/clock.ts";
import type { JournalEntry } from "../run/event.ts";
import type { InstructionRecord } from "../run/run.ts";
import type { Drive } from "./drive.ts";
import { instructionRef } from "./prompt.ts";

/**
 * Instructions reach an engine once. They count as delivered when it first shows that it took the prompt. A driver that dies, or
 * a turn that is broken off, between the sending and that sign leaves them in doubt: then the conversation that the engine
 * loads tells, and where it shows none, they are given again with the same ref.
 */
export async function markDelivered(
  drive: Drive,
  instructions: readonly Pick<InstructionRecord, "id">[],
  iteration: number,
): Promise<void> {
  if (instructions.length === 0) return;
  const ids = instructions.map((instruction) => instruction.id);
  await drive.apply({
    bump_revision: false,
    delivered: { ids, iteration },
    events: [{ type: "instructions_delivered", at: now(), data: { ids, iteration } }],
  });
}

/** Instructions that went into a prompt of which it is not known whether the engine took it. */
export interface InDoubt {
  readonly iteration: number;
  readonly instructions: readonly InstructionRecord[];
}

const begunSchema = z.looseObject({ iteration: z.number(), instructions: z.array(z.string()) });
/** Prompts looked at for the last one that can be read. */
const READ_PROMPTS = 10;

export async function instructionsInDoubt(drive: Drive): Promise<InDoubt | null> {
  const { store } = drive.ctx;
  const undelivered = await store.instructions(drive.run.run_id, "undelivered");
  if (undelivered.length === 0) return null;
  const events = await store.events(drive.run.run_id, { types: ["iteration_started"], limit: READ_PROMPTS });
  for (const event of events.toReversed()) {
    const begun = begunSchema.safeParse(event.data).data;
    if (begun === undefined) continue;
    const instructions = undelivered.filter((instruction) => begun.instructions.includes(instruction.id));
    return instructions.length === 0 ? null : { iteration: begun.iteration, instructions };
  }
  return null;
}

export function refsOf(doubt: InDoubt | null): readonly string[] {
  return doubt?.instructions.map((instruction) => instructionRef(instruction.id)) ?? [];
}

/** Settles the doubt by what the engine's conversation holds. Answers the ids that stay in doubt. */
export async function settle(drive: Drive, doubt: InDoubt | null, engine: Engine): Promise<ReadonlySet<string>> {
  if (doubt === null || engine.context === "new") return new Set();
  const { found } = engine;
  if (found === null) return new Set(doubt.instructions.map((instruction) => instruction.id));
  const held = doubt.instructions.filter((instruction) => found.includes(instructionRef(instruction.id)));
  await markDelivered(drive, held, doubt.iteration);
  return new Set();
}

/** What a dead driver's journal shows: an agent that said or did anything after the prompt has taken it. */
export async function settleByJournal(drive: Drive, entries: readonly JournalEntry[]): Promise<void> {
  const doubt = await instructionsInDoubt(drive);
  if (doubt === null) return;
  const prompt = entries.findLastIndex((entry) => entry.kind === "prompt");
  const answered = entries.slice(prompt + 1).some((entry) => entry.who !== "loop" && entry.iteration === doubt.iteration);
  if (answered) await markDelivered(drive, doubt.instructions, doubt.iteration);
}
