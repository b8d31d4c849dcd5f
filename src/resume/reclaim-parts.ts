import { bytesText } from "../run/bytes.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { ALL } from "./reclaim-reasons.ts";
import { type FreedFiles, freeable, type RunSize, sessionsOf } from "./run-size.ts";

/** How a reclaim is told, of what was done and of what would be done alike: one piece, so that the two cannot differ. */

export interface ReclaimTold {
  readonly freed: readonly string[];
  /** What is not freed, each with its reason. */
  readonly kept: readonly string[];
  /** The workspace goes, or was never the run's to free. */
  readonly done: boolean;
  /** What keeps it goes away by itself soon. */
  readonly passing: boolean;
  readonly freed_bytes: number;
  readonly kept_bytes: number;
}

interface Part {
  readonly freed: readonly string[];
  readonly kept: readonly string[];
}

/** It is all or nothing: one reason keeps everything. */
export function allStays(reasons: readonly string[], passing: boolean, size: RunSize): ReclaimTold {
  return { freed: [], kept: reasons, done: false, passing, freed_bytes: 0, kept_bytes: freeable(size) };
}

export function wentFree(run: RunRecord, before: RunSize, after: RunSize, parts: readonly Part[]): ReclaimTold {
  const inPlace = run.workspace_kind === "in_place";
  const worktree = before.worktree === null || before.worktree === 0 ? "" : ` (${bytesText(before.worktree)})`;
  return {
    freed: [
      ...(inPlace ? [] : [`worktree ${run.workspace_path}${worktree}`]),
      ...parts.flatMap((part) => part.freed),
      ...(before.copies === 0 ? [] : [`the copies of its conversation and its tree (${bytesText(before.copies)})`]),
    ],
    kept: [
      ...(inPlace ? [`${run.workspace_path}: it is the repository's own working tree`] : []),
      ...parts.flatMap((part) => part.kept),
      ...(run.branch === null ? [] : [`branch ${run.branch.replace(/^refs\/heads\//u, "")}: branches are not deleted`]),
    ],
    done: true,
    passing: false,
    freed_bytes: Math.max(0, freeable(before) - freeable(after)),
    kept_bytes: freeable(after),
  };
}

/** The agent's own files of each session. `free` frees them, or only looks. */
export async function sessionsPart(
  store: Pick<Store, "attempts">,
  run: RunRecord,
  free: (session: string) => Promise<FreedFiles>,
): Promise<Part & { readonly bytes: number }> {
  const freed: string[] = [];
  const kept: string[] = [];
  let bytes = 0;
  for (const session of await sessionsOf(store, run)) {
    const result = await free(session);
    bytes += result.freed;
    if (result.kept !== null) kept.push(`the agent's own files of session ${session}: ${result.kept}`);
    else if (result.freed > 0) freed.push(`the agent's own files of session ${session} (${bytesText(result.freed)})`);
  }
  return { freed, kept, bytes };
}

/** The starts and the stop are what the run's record points to: they stay readable. `free` gives the ids that are left. */
export async function checkpointsPart(
  store: Pick<Store, "checkpoints">,
  run: RunRecord,
  free: (keep: readonly string[]) => Promise<readonly string[]>,
): Promise<Part & { readonly gone: readonly CheckpointRecord[]; readonly left: readonly string[] }> {
  const known = (await store.checkpoints(run.run_id, ALL)).filter((record) => record.state === "present");
  const stop = run.stop?.uncommitted?.checkpoint;
  const keep = known.filter((record) => record.kind === "entry" || record.id === stop).map((record) => record.id);
  const left = new Set(await free(keep));
  const gone = known.filter((record) => !left.has(record.id));
  const more = left.size - keep.filter((id) => left.has(id)).length;
  return {
    gone,
    left: [...left],
    freed: gone.length === 0 ? [] : [`${gone.length} checkpoints whose files are all in a branch, a tag or at the remote`],
    kept: [
      ...(left.size > more ? [`${left.size - more} checkpoints: where the run and its steps began, and its stop`] : []),
      ...(more > 0 ? [`${more} checkpoints: states between commits that exist nowhere else`] : []),
    ],
  };
}

/** True when the removal of the worktree was begun and its end never recorded: a death may have left it half done. */
export async function removalBegan(store: Pick<Store, "events">, run: RunRecord): Promise<boolean> {
  if (run.workspace_kind === "in_place") return false;
  const [last] = await store.events(run.run_id, { types: ["reclaim_begun", "reclaim_kept", "run_claimed"], limit: 1 });
  return last?.type === "reclaim_begun";
}
