import { bytesText } from "../run/bytes.ts";
import type { RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { type Consequences, whichRun } from "./consequences.ts";
import type { ReclaimOutlook } from "./reclaim-outlook.ts";

/** What freeing a run's workspace does, in the words for people and the shape of every other destructive action. */
export async function reclaimConsequences(
  deps: { readonly store: Pick<Store, "runsOfRepository" | "instructions"> },
  run: RunRecord,
  outlook: ReclaimOutlook,
): Promise<Consequences> {
  return {
    happens: [await whichRun(deps, run, verb(run, outlook)), ...happens(run, outlook)],
    undoes: run.waiting_until === null ? [] : [`the wait until ${run.waiting_until}: it does not go on by itself any more`],
    cannot_undo: outlook.done || outlook.broken_off ? await lasting(deps, run) : [],
    conflicts: [],
  };
}

function verb({ archived_at, workspace_kind }: RunRecord, { done, broken_off }: ReclaimOutlook): string {
  const away = archived_at === null ? "is archived" : "stays archived";
  const goes = workspace_kind === "in_place" ? "its agent's files are freed" : "its workspace is freed";
  return done ? `${away}, and ${goes}` : broken_off ? away : `${away}, and nothing of it is freed`;
}

function happens(run: RunRecord, { done, broken_off, freed, kept, ...bytes }: ReclaimOutlook): string[] {
  if (run.reclaimed_at !== null) return [`Its workspace was freed at ${run.reclaimed_at}: nothing is left to free.`];
  if (broken_off)
    return [
      "Freeing it was broken off. What is missing of its worktree is written again; then it is judged anew, and freed if nothing of it exists nowhere else.",
    ];
  if (!done) return [`${bytesText(bytes.kept_bytes)} stay where they are, because not all of it exists elsewhere.`];
  const rest = bytes.kept_bytes === 0 ? "" : `; ${bytesText(bytes.kept_bytes)} stay`;
  return [
    `${bytesText(bytes.freed_bytes)} of this disk are freed${rest}.`,
    ...freed.map((what) => `Goes: ${what}`),
    ...kept.map((what) => `Stays: ${what}`),
    "Its record, its transcript and why it stopped stay readable.",
  ];
}

async function lasting({ store }: { readonly store: Pick<Store, "instructions"> }, run: RunRecord): Promise<string[]> {
  const waiting = await store.instructions(run.run_id, "undelivered");
  return [
    "What is freed does not come back: bringing the run back brings back no file.",
    "The run cannot be resumed, reset or done again any more, and gets no more iterations.",
    ...(waiting.length === 0 ? [] : ["The instructions that wait for it are never delivered."]),
  ];
}
