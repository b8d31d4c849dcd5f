import type { Checkpoints } from "../checkpoint/checkpoint.ts";
import { bytesText } from "../run/bytes.ts";
import { isOfHost, type RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";

/** What a run takes of the disk, in bytes. Measured by walking and by asking git: for answers that may take a moment. */
export interface RunSize {
  /** The worktree's folder; 0 in place, where it is the person's. Null: it could not be looked at. */
  readonly worktree: number | null;
  /** Objects that only the run's checkpoints keep. */
  readonly checkpoints: number | null;
  /** The agent's own files of the run's sessions. */
  readonly session: number | null;
  /** Copies of the conversation and of the checkpoints in the store. */
  readonly copies: number;
  /** The transcript in the store: it is never freed. */
  readonly record: number;
}

/** What this host knows of the agent's own files. */
export interface Sessions {
  size(run: RunRecord, session: string): Promise<number | null>;
  /** Files that changed after the stop are not touched. */
  free(run: RunRecord, session: string): Promise<FreedFiles>;
  /** What `free` would answer now. Removes nothing. */
  freeable(run: RunRecord, session: string): Promise<FreedFiles>;
}

/** Bytes freed, and why the files stay; null: none is left. */
export interface FreedFiles {
  readonly freed: number;
  readonly kept: string | null;
}

interface SessionInput<Agent> {
  readonly agent: Agent;
  readonly session_id: string;
  readonly cwd: string;
}

/** How an agent's files are got at, whatever an agent is there. */
interface SessionEngines<Agent> {
  sessionSize(input: SessionInput<Agent>): Promise<number | null>;
  freeSession(input: FreeInput<Agent>): Promise<FreedFiles>;
  freeableSession(input: FreeInput<Agent>): Promise<FreedFiles>;
}

type FreeInput<Agent> = SessionInput<Agent> & { readonly untouched_since: string };

/** The agent's own files of runs on this host. They are asked for from the repository: the worktree may be gone. */
export function sessionsThrough<Agent>(engines: SessionEngines<Agent>, agentOf: (run: RunRecord) => Promise<Agent>): Sessions {
  const freeing = async (
    run: RunRecord,
    session_id: string,
    free: (input: FreeInput<Agent>) => Promise<FreedFiles>,
  ): Promise<FreedFiles> => {
    const agent = await agentOf(run).catch(() => null);
    if (agent === null) return { freed: 0, kept: `the agent ${run.agent} is not here to tell where they are` };
    const untouched_since = run.stop?.at ?? run.created_at;
    try {
      return await free({ agent, session_id, cwd: run.repo_path, untouched_since });
    } catch {
      return { freed: 0, kept: "they could not be removed" };
    }
  };
  return {
    size: async (run, session_id) => {
      try {
        return await engines.sessionSize({ agent: await agentOf(run), session_id, cwd: run.repo_path });
      } catch {
        return null;
      }
    },
    free: (run, session) => freeing(run, session, (input) => engines.freeSession(input)),
    freeable: (run, session) => freeing(run, session, (input) => engines.freeableSession(input)),
  };
}

interface Deps {
  readonly store: Pick<Store, "attempts" | "runBytes">;
  readonly checkpoints: Pick<Checkpoints, "discover" | "diskUse">;
  readonly sessions: Sessions;
  readonly host: string;
}

export async function sizeOf(deps: Deps, run: RunRecord): Promise<RunSize> {
  const stored = await deps.store.runBytes(run.run_id);
  const away = { ...stored, worktree: null, checkpoints: null, session: null };
  if (!isOfHost(run, deps.host)) return away;
  const session = await sessionBytes(deps, run);
  try {
    const repo = await deps.checkpoints.discover(run.repo_path);
    if (repo.common_dir !== run.repo_common_dir) return { ...away, session };
    const worktree = run.workspace_kind === "worktree" ? run.workspace_path : null;
    return { ...stored, session, ...(await deps.checkpoints.diskUse(repo, { run_id: run.run_id, worktree })) };
  } catch {
    return { ...away, session };
  }
}

/** Every session that the run had, the oldest first. */
export async function sessionsOf(store: Pick<Store, "attempts">, run: RunRecord): Promise<readonly string[]> {
  const attempts = await store.attempts(run.run_id);
  return [...new Set(attempts.flatMap((attempt) => attempt.engine_session ?? []))];
}

async function sessionBytes(deps: Deps, run: RunRecord): Promise<number | null> {
  let sum = 0;
  for (const session of await sessionsOf(deps.store, run)) {
    const bytes = await deps.sessions.size(run, session);
    if (bytes === null) return null;
    sum += bytes;
  }
  return sum;
}

/** All of it that a reclaim may free; what is not known counts as nothing. */
export function freeable(size: RunSize): number {
  return (size.worktree ?? 0) + (size.checkpoints ?? 0) + (size.session ?? 0) + size.copies;
}

/** One line: `worktree 12.3 MB, checkpoints 1.2 MB, ...`. */
export function sizeLine(size: RunSize): string {
  const part = (name: string, bytes: number | null): string => `${name} ${bytes === null ? "not known" : bytesText(bytes)}`;
  return [
    part("worktree", size.worktree),
    part("checkpoints", size.checkpoints),
    part("agent's files", size.session),
    part("copies", size.copies),
    part("record", size.record),
  ].join(", ");
}
