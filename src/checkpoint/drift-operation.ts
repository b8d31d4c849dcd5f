import type { Drift } from "./drift-shapes.ts";
import { type Meta, readMeta, readMetas, stateText } from "./meta.ts";
import { OPERATION_KEYS, operationKey, operationOf } from "./op-state.ts";
import { listRunRefs } from "./refs.ts";
import type { RepoGit } from "./repo-git.ts";

type Operation = Pick<Drift, "operation_in_progress" | "operation_by_run" | "operation_ended">;

/**
 * The git operation that is under way, and whose it is: the run's when it was under way at the stop and not yet when the
 * run began. What was under way at the stop and is no longer is told too.
 */
export async function operationSince(git: RepoGit, runId: string, checkpoint: string): Promise<Operation> {
  const now = await operationOf(git.repo.git_dir);
  const stop = await readMeta(git, checkpoint);
  const atStop = stop?.operation ?? null;
  if (now === null) return { operation_in_progress: null, operation_by_run: null, operation_ended: atStop };
  const same = stop !== null && atStop === now && (await keyIn(git, stop)) === (await operationKey(git.repo.git_dir));
  const ended = same ? null : atStop;
  if (!same) return { operation_in_progress: now, operation_by_run: false, operation_ended: ended };
  const first = await firstEntry(git, runId);
  const before = first !== null && first.operation === now && (await keyIn(git, first)) === (await keyIn(git, stop));
  return { operation_in_progress: now, operation_by_run: !before, operation_ended: null };
}

async function firstEntry(git: RepoGit, runId: string): Promise<Meta | null> {
  const refs = await listRunRefs(git, runId);
  const metas = await readMetas(
    git,
    refs.map((item) => item.commit),
  );
  const entries = [...metas.values()].filter((meta) => meta.kind === "entry").sort((a, b) => (a.at < b.at ? -1 : 1));
  return entries[0] ?? null;
}

/** As `operationKey`, from the files that a checkpoint saved. */
async function keyIn(git: RepoGit, meta: Meta): Promise<string> {
  const parts: string[] = [];
  for (const name of OPERATION_KEYS) parts.push((await stateText(git, meta, name)) ?? "");
  return parts.join("|");
}
