import type { NewRunEvent } from "../run/event.ts";
import type { IterationRecord, PlanEntry } from "../run/run.ts";

/** A plan's words stand in full in the journal; how it moved is told by these and the statuses. */
const ITEM_CHARACTERS = 300;

/** That the plan is another at the end of an iteration. The whole list is in the event: nobody has to search the journal for it. */
export function planEvents(
  before: readonly PlanEntry[],
  after: readonly PlanEntry[],
  row: Pick<IterationRecord, "number" | "step">,
  at: string,
): NewRunEvent[] {
  if (JSON.stringify(before.map(asKept)) === JSON.stringify(after.map(asKept))) return [];
  return [{ type: "plan_changed", at, data: { iteration: row.number, step: row.step, entries: after.map(asKept) } }];
}

function asKept({ content, status }: PlanEntry): PlanEntry {
  return { content: content.slice(0, ITEM_CHARACTERS), status };
}
