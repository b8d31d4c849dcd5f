import { z } from "zod";
import type { Act } from "../run/act.ts";
import type { RunEventType } from "../run/event.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";

/** Which acts of a run a restore of ours took off its branch again: they are told as gone, not as done. */

const wentBackSchema = z.object({
  /** Iterations that were finished when the restore was made. */
  iteration: z.number(),
  /** Iterations that were finished at the checkpoint it went to, and when that was taken. */
  to_iteration: z.number(),
  to_at: z.string(),
});
/** What the event of a restore that moved HEAD keeps for that, under `went_back`. */
type WentBack = z.infer<typeof wentBackSchema>;

export interface WentBackAt extends WentBack {
  readonly at: string;
}

/** Null for a restore that left HEAD where it was: it takes no commit off the branch. */
export function wentBack(
  run: RunRecord,
  restore: { readonly target: CheckpointRecord; readonly plan: { readonly head: unknown } },
): WentBack | null {
  const { target, plan } = restore;
  return plan.head === null ? null : { iteration: run.iteration, to_iteration: target.iteration, to_at: target.at };
}

const EVENTS = ["step_redone", "run_resumed", "run_reset"] as const satisfies readonly RunEventType[];
const eventSchema = z.looseObject({ went_back: wentBackSchema.nullish() });

/** All restores of this run that moved HEAD, oldest first. */
export async function restoresOf(store: Pick<Store, "events">, runId: string): Promise<readonly WentBackAt[]> {
  // One type at a time: each has its place in an index, while several in one order would be looked for among all events.
  const lists = await Promise.all(EVENTS.map((type) => store.events(runId, { types: [type], limit: 1_000 })));
  const events = lists.flat().toSorted((a, b) => a.seq - b.seq);
  return events.flatMap(({ data, at }) => {
    const told = eventSchema.safeParse(data).data?.went_back;
    return told == null ? [] : [{ ...told, at }];
  });
}

/** A commit, or a merge that is nothing but one: it goes when the branch goes back. */
export function leavesTheBranch(act: Act): boolean {
  return act.kind === "commit" || (act.kind === "merge" && act.what.startsWith("git "));
}

/** Whether the act is off the branch again; a later restore of the safety checkpoint puts it back. */
export function isTakenBack(act: Act, restores: readonly WentBackAt[]): boolean {
  if (!leavesTheBranch(act)) return false;
  const last = restores.at(-1);
  if (last === undefined) return false;
  // The iteration after the last finished one may have been cut off before the restore, or be the first one after it.
  const before = act.iteration <= last.iteration || (act.iteration === last.iteration + 1 && act.at <= last.at);
  if (!before) return false;
  return (
    act.iteration > last.to_iteration ||
    isTakenBack(
      act,
      restores.filter((restore) => restore.at < last.to_at),
    )
  );
}
