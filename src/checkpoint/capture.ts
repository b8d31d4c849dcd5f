import { canonicalJson, sha256 } from "../run/id.ts";
import type { CheckpointKind } from "../run/run.ts";
import type { Captured } from "./checkpoint.ts";
import { GitFailure } from "./git.ts";
import { commitsOf, type HeadState, readHead } from "./head.ts";
import { dropOwnIndexLock } from "./index-lock.ts";
import { withPrivateLock } from "./lock.ts";
import { withNested } from "./nested.ts";
import { operationOf, stateKey } from "./op-state.ts";
import { lastSchema, readState, resetPrivateState, STATE_FILES, writeState } from "./private-state.ts";
import { writeCheckpoint } from "./record.ts";
import { checkpointRef } from "./refs.ts";
import type { RepoGit } from "./repo-git.ts";
import { extendSnapshot, type Snapshot, takeSnapshot } from "./snapshot.ts";

export interface CaptureInput {
  readonly run_id: string;
  readonly id: string;
  readonly kind: CheckpointKind;
  readonly thorough?: boolean;
  /** Paths that are captured whatever their size and whether ignored or not. */
  readonly force?: readonly string[];
}

const TRIES = 3;

/** Takes the private lock, saves the working tree and puts a hidden ref on it. */
export function capture(git: RepoGit, input: CaptureInput): Promise<Captured> {
  return withPrivateLock(git.private_dir, async () => {
    // Before an engine works here, or after one did: a dead process of ours must not keep git from the index.
    await dropOwnIndexLock(git);
    return (await captureLocked(git, input)).captured;
  });
}

/** As `capture`, for a caller that holds the private lock; also gives the snapshot behind it. */
export async function captureLocked(git: RepoGit, input: CaptureInput): Promise<{ captured: Captured; snapshot: Snapshot }> {
  const ref = checkpointRef(input.run_id, input.id);
  return withRepair(git, async () => {
    const plain = await takeSnapshot(git, { thorough: input.thorough ?? false, run_id: input.run_id });
    const forced = input.force ?? [];
    const whole = forced.length > 0 ? await extendSnapshot(git, plain, forced) : plain;
    const ends = input.thorough === true || input.kind === "entry";
    const snapshot = ends ? { ...whole, skipped: await withNested(git, whole.skipped) } : whole;
    const head = await readHead(git);
    const { commit, files, bytes, fresh } = await commitFor(git, snapshot, head, input);
    await git.run(["update-ref", "--stdin"], {
      input: `create ${ref} ${commit}\n`,
      config: ["core.fsync=reference,loose-object"],
    });
    if (fresh || input.thorough) await verifyConnected(git, commit, head.head, ref);
    const operation = await operationOf(git.repo.git_dir);
    const { tree, skipped, user } = snapshot;
    const captured: Captured = {
      id: input.id,
      ref,
      commit,
      tree,
      index_tree: user.index_tree,
      head: head.head,
      branch: head.branch,
      files,
      bytes,
      skipped,
      operation,
    };
    return { captured, snapshot };
  });
}

/** A snapshot without a ref, to compare with. The caller holds the private lock. */
export function probeLocked(git: RepoGit, force: readonly string[] = []): Promise<Snapshot> {
  return withRepair(git, async () => {
    const plain = await takeSnapshot(git);
    return force.length > 0 ? extendSnapshot(git, plain, force) : plain;
  });
}

/** The working tree as a git tree, without a ref. */
export function treeNow(git: RepoGit): Promise<string> {
  return withPrivateLock(git.private_dir, async () => (await probeLocked(git)).tree);
}

/** When nothing that a checkpoint holds has changed, the last commit serves again and only a ref is written. */
async function commitFor(
  git: RepoGit,
  snapshot: Snapshot,
  head: HeadState,
  input: CaptureInput,
): Promise<{ commit: string; files: number; bytes: number; fresh: boolean }> {
  const key = sha256(
    canonicalJson({
      tree: snapshot.tree,
      index_tree: snapshot.user.index_tree,
      special: snapshot.user.special,
      sidecar: snapshot.sidecar,
      skipped: snapshot.skipped,
      head,
      state: await stateKey(git.repo.git_dir),
    }),
  );
  const last = await readState(git.private_dir, STATE_FILES.last, lastSchema);
  if (last !== null && last.key === key) return { ...last, fresh: false };
  const { commit, meta } = await writeCheckpoint(git, snapshot, head, input);
  const { files, bytes } = meta;
  await writeState(git.private_dir, STATE_FILES.last, { key, commit, files, bytes });
  return { commit, files, bytes, fresh: true };
}

/**
 * A private index is no root for `git gc`: objects it names can be gone. Then a new index is made from the user's and the
 * work is done again. A tree that changes while it is read is simply read again.
 */
async function withRepair<T>(git: RepoGit, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === TRIES || !isRepairable(error)) throw error;
      await resetPrivateState(git.private_dir);
    }
  }
}

function isRepairable(error: unknown): boolean {
  if (error instanceof RangeError) return true;
  return error instanceof GitFailure && error.code === null && !error.stderr.includes("reference already exists");
}

/** Fails when an object of the checkpoint is missing, after taking the ref away again. */
async function verifyConnected(git: RepoGit, commit: string, base: string | null, ref: string): Promise<void> {
  try {
    await walkObjects(git, [commit], base);
  } catch (error) {
    await git.run(["update-ref", "-d", ref]);
    throw error;
  }
}

/** Walks what checkpoints add to the commit they stand on. */
async function walkObjects(git: RepoGit, commits: readonly string[], base: string | null): Promise<void> {
  await git.run(["rev-list", "--objects", "--quiet", ...commits, ...(base === null ? [] : ["--not", base])]);
}

/** The given checkpoints of which every object is there; those that stand on one commit are walked together. */
export async function connectedOf(git: RepoGit, commits: readonly string[]): Promise<ReadonlySet<string>> {
  const unique = [...new Set(commits)];
  const heads =
    unique.length > 1
      ? await commitsOf(
          git,
          unique.map((commit) => `${commit}^2^1`),
        )
      : [];
  const groups = new Map<string | null, string[]>();
  for (const [n, commit] of unique.entries()) {
    const head = heads[n] ?? null;
    groups.set(head, [...(groups.get(head) ?? []), commit]);
  }
  const found = new Set<string>();
  for (const [head, group] of groups) {
    const together = head !== null && group.length > 1 && (await walks(git, group, head));
    for (const commit of group) if (together || (await isConnected(git, commit))) found.add(commit);
  }
  return found;
}

/** True when every object of the checkpoint is there. */
export async function isConnected(git: RepoGit, commit: string): Promise<boolean> {
  // Two parents: HEAD, which the index commit has too, and that. One: the checkpoint was taken before the first commit.
  if (await walks(git, [commit], `${commit}^2^1`)) return true;
  const parents = await git.run(["rev-list", "--parents", "-n", "1", commit], { ok: [0, 128] });
  return parents.text.split(" ").length === 2 && walks(git, [commit], null);
}

async function walks(git: RepoGit, commits: readonly string[], base: string | null): Promise<boolean> {
  try {
    await walkObjects(git, commits, base);
    return true;
  } catch (error) {
    if (error instanceof GitFailure) return false;
    throw error;
  }
}
