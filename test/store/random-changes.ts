import type { CheckpointRecord, InstructionRecord, StopRecord } from "../../src/run/run.ts";
import type { NewRun, RunChange, RunPatch } from "../../src/store/store.ts";
import type { Pick } from "../support/generator.ts";
import { AT, aNewRun, anAttempt, anEntry, anEvent, anIteration, aStep, aStop } from "../support/records.ts";

/** Valid changes of a run with two steps, of every kind that a change can hold, in any mixture and order. */

const ODD = ["", "plain", "\u0000", "\ud800 half of a pair", "日本語 🙂", '"quoted" \\ {', "x".repeat(5_000)];
const STEPS = ["main", "zweiter Schritt 🙂"] as const;

export function randomStart(pick: Pick): NewRun {
  const created = aNewRun({ objective: one(pick, ODD), resume_note: orNull(pick, ODD) });
  return {
    ...created,
    steps: STEPS.map((step, position) => aStep({ step, position, needs: STEPS.slice(0, position), title: orNull(pick, ODD) })),
    attempts: pick(2) === 0 ? [] : [anAttempt({ note: orNull(pick, ODD) })],
    instructions: pick(2) === 0 ? [] : [anInstruction("first", pick)],
  };
}

/** Makes changes of one run, each fitting what those before it made. */
export class Changes {
  readonly #pick: Pick;
  readonly #runId: string;
  readonly #attempts = new Map<string, number>();
  readonly #given: string[] = [];
  #n = 0;

  constructor(pick: Pick, { run, attempts, instructions }: NewRun) {
    this.#pick = pick;
    this.#runId = run.run_id;
    for (const attempt of attempts) this.#attempts.set(attempt.step, attempt.attempt);
    this.#given.push(...instructions.map((instruction) => instruction.id));
  }

  next(): RunChange {
    this.#n += 1;
    const pick = this.#pick;
    const at = instant(this.#n);
    return {
      run_id: this.#runId,
      at,
      bump_revision: pick(2) === 0,
      events: pick(3) === 0 ? [anEvent("iteration_started"), anEvent("iteration_finished")] : [anEvent("step_changed")],
      ...this.#some({ run: this.#patch(at), steps: this.#steps(), acts: this.#acts(at), checkpoints: this.#checkpoints(at) }),
      ...this.#some({ grants: [{ iterations: 1 + pick(9), at }], verify: this.#verify(at), journal: [anEntry("said")] }),
      ...this.#some({ iterations: this.#iterations(at) }),
      ...(pick(3) === 0 ? this.#attempted(at) : {}),
      ...(pick(3) === 0 ? this.#instructed(at) : {}),
    };
  }

  #some<T extends object>(parts: T): Partial<T> {
    const copy: Partial<T> = { ...parts };
    for (const name of Object.keys(parts)) if (this.#pick(3) > 0) Reflect.deleteProperty(copy, name);
    return copy;
  }

  #patch(at: string): RunPatch {
    const pick = this.#pick;
    const all: RunPatch = {
      state: one(pick, ["queued", "running", "stopping", "stopped", "done"]),
      stop_reason: orNull(pick, ["failed", "cancelled", "max_iterations"]),
      stop: pick(2) === 0 ? null : aRandomStop(pick),
      iteration: pick(50),
      usage: { input_tokens: pick(9_999), output_tokens: 1, cost_usd: orNull(pick, [0.1, 3, 1e-9]), active_ms: pick(9) },
      plan: pick(2) === 0 ? [] : [{ content: one(pick, ODD), status: "pending" }],
      report: null,
      last_words: orNull(pick, ODD),
      waiting_until: orNull(pick, [at]),
      archived_at: orNull(pick, [at]),
      progress_at: at,
      workspace_path: `/trees/${pick(5)}`,
    };
    return this.#some(all);
  }

  #steps(): NonNullable<RunChange["steps"]> {
    const state = one(this.#pick, ["pending", "running", "succeeded", "failed"]);
    return [{ step: one(this.#pick, STEPS), state, ...this.#some({ verify: ["make"], iteration: this.#pick(9) }) }];
  }

  /** A new attempt of one step, and a change of the attempt that is there, also when it is only opened with it. */
  #attempted(at: string): Partial<Record<"open_attempts" | "attempts", NonNullable<RunChange["open_attempts"]>>> {
    const step = one(this.#pick, STEPS);
    const attempt = (this.#attempts.get(step) ?? 0) + 1;
    this.#attempts.set(step, attempt);
    const opened = anAttempt({ step, attempt, opened_at: one(this.#pick, [AT, at]), note: orNull(this.#pick, ODD) });
    return { open_attempts: [opened], attempts: [{ ...opened, context: "native", why_handoff: orNull(this.#pick, ODD) }] };
  }

  #iterations(at: string): NonNullable<RunChange["iterations"]> {
    const ordinal = 1 + this.#pick(6);
    const finished = this.#pick(2) === 0;
    return [
      anIteration(ordinal, { finished, ended_at: at, summary: orNull(this.#pick, ODD), cost_usd: orNull(this.#pick, [0.25]) }),
    ];
  }

  #acts(at: string): NonNullable<RunChange["acts"]> {
    return [{ kind: "commit", what: one(this.#pick, ODD), ref: orNull(this.#pick, ODD), iteration: 1, at, status: "landed" }];
  }

  #checkpoints(at: string): CheckpointRecord[] {
    const id = `cp_${this.#pick(5)}`;
    return [aRandomCheckpoint(id, at, this.#pick), aRandomCheckpoint(`cp_${this.#pick(5)}`, at, this.#pick)];
  }

  #verify(at: string): NonNullable<RunChange["verify"]> {
    const command = one(this.#pick, ["make", "npm test", "true"]);
    return [
      {
        step: one(this.#pick, STEPS),
        command,
        exit_code: orNull(this.#pick, [0, 1]),
        iteration: 1,
        at,
        tail: one(this.#pick, ODD),
      },
    ];
  }

  #instructed(at: string): Instructed {
    const id = `i${this.#n}`;
    this.#given.push(id);
    const ids = this.#given.filter(() => this.#pick(2) === 0);
    return { new_instructions: [{ ...anInstruction(id, this.#pick), at }], delivered: { ids, iteration: this.#pick(9) } };
  }
}

type Instructed = { new_instructions: readonly InstructionRecord[]; delivered: NonNullable<RunChange["delivered"]> };

function anInstruction(id: string, pick: Pick): InstructionRecord {
  return { id, kind: "instructions", text: one(pick, ODD), at: AT, delivered_at: null, delivered_iteration: null };
}

function aRandomStop(pick: Pick): StopRecord {
  return aStop({ evidence: one(pick, ODD), gaps: [one(pick, ODD)], resets_at: orNull(pick, [AT]) });
}

function aRandomCheckpoint(id: string, at: string, pick: Pick): CheckpointRecord {
  return {
    ...{ id, kind: "iteration", iteration: pick(9), step: orNull(pick, STEPS), attempt: null, at, commit: orNull(pick, ["c"]) },
    ...{ tree: null, index_tree: null, head: null, branch: null, files: pick(9), bytes: 5_000_000_000, state: "present" },
    skipped:
      pick(2) === 0 ? [] : [{ path: one(pick, ODD), bytes: 1, why: "nested_repository", nested: { commit: null, dirty: true } }],
    failure: orNull(pick, ODD),
  };
}

function instant(n: number): string {
  return `2026-11-29T20:${String(Math.floor(n / 60)).padStart(2, "0")}:${String(n % 60).padStart(2, "0")}.000Z`;
}

function one<const T>(pick: Pick, from: readonly T[]): T {
  const found = from[pick(from.length)];
  if (found === undefined) throw new Error("nothing to pick from");
  return found;
}

function orNull<const T>(pick: Pick, from: readonly T[]): T | null {
  return pick(3) === 0 ? null : one(pick, from);
}
