import type { AttemptRecord, RunRecord } from "../run/run.ts";
import type { Store, StoredCopy } from "../store/store.ts";

/** Where the conversation of a run is, seen from this host. */
export interface Conversation {
  /** `available`: the agent's own files are here. `portable_copy`: they come from the store. `lost`: a resume is a hand-off. */
  readonly state: "available" | "portable_copy" | "lost";
  /** Why it is lost, or what the copy lacks. */
  readonly gaps: readonly string[];
}

/** What only this host can tell. */
export interface HostView {
  readonly host: string;
  /** Whether the agent's own files of a session of this run are here; null when that cannot be told. */
  sessionHere(run: RunRecord, session: string): Promise<boolean | null>;
}

export async function conversationOf(
  store: Pick<Store, "copies">,
  view: HostView,
  run: RunRecord,
  attempts: readonly AttemptRecord[],
  workspaceHere: boolean,
): Promise<Conversation> {
  if (run.reclaimed_at !== null)
    return { state: "lost", gaps: [`what a resume needs was freed with the run's workspace at ${run.reclaimed_at}`] };
  const session = attempts.findLast((attempt) => attempt.engine_session !== null)?.engine_session ?? null;
  if (session === null) return { state: "lost", gaps: [] };
  const [here, stored] = await Promise.all([view.sessionHere(run, session), store.copies.get(run.run_id, "session")]);
  const copy = stored?.about === session ? stored : null;
  // Files of an earlier stay lack what was said on the other host since.
  const newest = copy === null || copy.host === view.host;
  if (newest && (here === true || (here === null && workspaceHere))) return { state: "available", gaps: [] };
  if (copy === null) return { state: "lost", gaps: [lostBecause(store)] };
  if (copy.unreadable !== null)
    return { state: "lost", gaps: [`the conversation is on ${copy.host}; ${copy.unreadable}. A resume here is a hand-off`] };
  return { state: "portable_copy", gaps: behind(copy, run) };
}

function lostBecause({ copies }: Pick<Store, "copies">): string {
  const why = copies.refused ?? "no copy of the agent's session files was stored";
  return `the conversation is not on this host: ${why}. A resume here is a hand-off`;
}

function behind(copy: StoredCopy, run: RunRecord): string[] {
  if (copy.iteration >= run.iteration) return [];
  return [`the copy of the conversation ends with iteration ${copy.iteration} of ${run.iteration}`];
}
