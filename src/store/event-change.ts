import type { IterationRecord, RunRecord } from "../run/run.ts";
import { plain } from "./json.ts";
import type { EventChange, Loose, RunRows } from "./projection.ts";
import type { NewRun, RunChange } from "./store.ts";

/** What an event is stored with: the very rows that its change writes, as records, and nothing of what stayed as it was. */

/** Only says who is at work, and is no part of a run's state. */
const NOT_STATE: ReadonlySet<string> = new Set(["fence", "alive_at", "progress_at"]);

export function creationOf({ run, steps, attempts, instructions }: NewRun): string {
  return textOf({
    run: stored(withoutSigns(run)),
    steps: steps.map(stored),
    attempts: attempts.map(stored),
    instructions: instructions.map(stored),
  });
}

/** Everything, for a run whose events so far do not tell all of it. */
export function wholeOf(rows: RunRows): string {
  return textOf({
    ...rows,
    whole: true,
    iterations: rows.iterations.toReversed(),
    checkpoints: rows.checkpoints.toReversed(),
  });
}

export function changeOf(change: RunChange, before: RunRecord, after: RunRecord): string {
  const { delivered } = change;
  return textOf({
    run: changedMembers(change, before, after),
    steps: change.steps?.map(stored),
    attempts: [...(change.open_attempts ?? []), ...(change.attempts ?? [])].map(stored),
    iterations: change.iterations?.map((iteration) => stored(countedIteration(iteration, after.revision))),
    acts: change.acts?.map(stored),
    grants: change.grants?.map(stored),
    checkpoints: change.checkpoints?.map(stored),
    verify: change.verify?.map(stored),
    instructions: change.new_instructions?.map(stored),
    delivered:
      delivered === undefined || delivered.ids.length === 0
        ? undefined
        : { ids: [...delivered.ids], iteration: delivered.iteration, at: change.at },
  });
}

/** An iteration that ends with this change gets the revision that the change makes. */
export function countedIteration(iteration: IterationRecord, revision: number): IterationRecord {
  return { ...iteration, revision: iteration.finished ? revision : null };
}

/** Much of a change's patch says what is so already (the plan, the report): only what moved is kept. */
function changedMembers(change: RunChange, before: RunRecord, after: RunRecord): Loose {
  const was = new Map<string, unknown>(Object.entries(before));
  const named = new Set([...Object.keys(change.run ?? {}), "revision", "changed_at", "max_iterations"]);
  return stored(
    Object.fromEntries(
      Object.entries(withoutSigns(after)).filter(
        ([member, value]) => named.has(member) && JSON.stringify(value) !== JSON.stringify(was.get(member)),
      ),
    ),
  );
}

function withoutSigns(run: RunRecord): Loose {
  return Object.fromEntries(Object.entries(run).filter(([member]) => !NOT_STATE.has(member)));
}

/** A record with its texts as a column of text gives them back; what stands in a column of JSON comes back as it was. */
function stored(record: object): Loose {
  return Object.fromEntries(
    Object.entries(record).map(([member, value]) => [member, typeof value === "string" ? plain(value).toWellFormed() : value]),
  );
}

function textOf(parts: { readonly [K in keyof EventChange]: unknown }): string {
  return JSON.stringify(Object.fromEntries(Object.entries(parts).filter(([, part]) => !isEmpty(part))));
}

function isEmpty(part: unknown): boolean {
  if (part === undefined) return true;
  return typeof part === "object" && part !== null && Object.keys(part).length === 0;
}
