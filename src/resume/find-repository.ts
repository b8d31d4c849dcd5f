import { join, resolve } from "node:path";
import type { Checkpoints, Repository } from "../checkpoint/checkpoint.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { shortId } from "../run/id.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import { type Said, said } from "../run/said.ts";

/** The run's paths on this machine. */
export interface Place {
  readonly repo_path: string;
  readonly repo_common_dir: string;
  readonly workspace_path: string;
}

export interface FoundRepository {
  readonly repo: Repository;
  /** New paths, when the run did not work in this clone before; null when it did. */
  readonly place: Place | null;
  /** Whether the clone holds the checkpoint's objects. */
  readonly has_checkpoint: boolean;
}

type Git = Pick<Checkpoints, "discover" | "isPresent" | "worktreeState">;

/**
 * The run's repository on this machine: where `given` says, else where it was, else where the caller is - and it must be the same
 * one. The same path on another machine is another clone: it is one in which the run never was.
 */
export async function findRepository(
  git: Git,
  run: RunRecord,
  from: { readonly given: string | undefined; readonly cwd: string; readonly workspaces: string },
  checkpoint: CheckpointRecord | null,
): Promise<FoundRepository> {
  const candidates = from.given === undefined ? [run.repo_path, from.cwd] : [resolve(from.cwd, from.given)];
  const others: string[] = [];
  for (const candidate of candidates) {
    const repo = await discoverOrNull(git, candidate);
    if (repo === null) continue;
    if (!isSameRepository(repo, run)) {
      others.push(repo.top);
      continue;
    }
    const commit = checkpoint?.commit ?? null;
    const has_checkpoint = commit === null || (await git.isPresent(repo, commit));
    const here = repo.common_dir === run.repo_common_dir && (has_checkpoint || (await isWorking(git, run)));
    return { repo, has_checkpoint, place: here ? null : placeIn(repo, run, from.workspaces) };
  }
  throw new LoopkeeperError(
    "repository_problem",
    said`the run's repository was at ${run.repo_path} and ${others.length === 0 ? "is not there" : `${others.join(", ")} is another one`}; give ${REPO} ${wantedRepository(run)} on this machine.`,
  );
}

const REPO: Said = {
  agent: "`repo`: the path of",
  page: "the path with loopkeeper resume --repo of",
  shell: "`--repo` with the path of",
};

function wantedRepository(run: RunRecord): string {
  const root = run.root_commit === null ? "" : ` (root commit ${run.root_commit})`;
  return run.repo_remote === null ? `a clone of it${root}` : `a clone of ${run.repo_remote}`;
}

/** A worktree that is there shows that it is this machine, even where git lost the checkpoint. */
async function isWorking(git: Git, run: RunRecord): Promise<boolean> {
  return run.workspace_kind === "worktree" && (await git.worktreeState(run.workspace_path, run.repo_common_dir)) === "present";
}

function placeIn(repo: Repository, run: RunRecord, workspaces: string): Place {
  const workspace = run.workspace_kind === "in_place" ? repo.top : join(workspaces, shortId(run.run_id));
  return { repo_path: repo.top, repo_common_dir: repo.common_dir, workspace_path: workspace };
}

async function discoverOrNull(git: Git, path: string): Promise<Repository | null> {
  try {
    return await git.discover(path);
  } catch (error) {
    if (error instanceof LoopkeeperError) return null;
    throw error;
  }
}

/** Same remote in any spelling, or same first commit; without either, the same place. */
export function isSameRepository(found: Repository, run: RunRecord): boolean {
  if (run.repo_remote !== null && found.remote === run.repo_remote) return true;
  if (run.root_commit !== null && found.root_commit !== null) return found.root_commit === run.root_commit;
  return found.common_dir === run.repo_common_dir;
}
