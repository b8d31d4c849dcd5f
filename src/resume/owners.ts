import type { Checkpoints, PathContent, Repository } from "../checkpoint/checkpoint.ts";
import type { RunRecord, Uncommitted } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { loadOwned, type Owned, sameContent } from "./ownership.ts";

/** Who left an uncommitted path as it is now. */
export type PathOwner =
  | { readonly kind: "this_run" }
  | { readonly kind: "other_run"; readonly run_id: string }
  | { readonly kind: "unattributed" };

interface Deps {
  readonly store: Pick<Store, "runsOfRepository" | "checkpoint" | "runArtifacts">;
  readonly checkpoints: Pick<Checkpoints, "contentAt" | "diffSummary">;
}

/** Files listed at most in a stop's record and in a prompt; the totals count all. */
const LISTED_FILES = 50;
const EARLIER_RUNS = 5;

/** Judges by content: a path is a run's when it is exactly as that run left it. */
export async function ownersOf(
  deps: Deps,
  input: {
    readonly run: RunRecord;
    readonly repo: Repository;
    readonly tree: string;
    readonly owned: Owned;
    readonly paths: readonly string[];
  },
): Promise<ReadonlyMap<string, PathOwner>> {
  const owners = new Map<string, PathOwner>();
  const present = await deps.checkpoints.contentAt(input.repo, input.tree, input.paths);
  const unknown: { path: string; content: PathContent }[] = [];
  input.paths.forEach((path, index) => {
    const content = present[index] ?? null;
    const mine = input.owned.get(path);
    if (mine?.unattributed_after === null && sameContent(mine.last, content)) owners.set(path, { kind: "this_run" });
    else unknown.push({ path, content });
  });
  if (unknown.length > 0) await findOtherRuns(deps, input, unknown, owners);
  for (const { path } of unknown) if (!owners.has(path)) owners.set(path, { kind: "unattributed" });
  return owners;
}

/** Other runs on the same working tree that left the path exactly as it is now. */
async function findOtherRuns(
  deps: Deps,
  input: { readonly run: RunRecord; readonly repo: Repository },
  unknown: readonly { readonly path: string; readonly content: PathContent }[],
  owners: Map<string, PathOwner>,
): Promise<void> {
  const { run } = input;
  const runs = await deps.store.runsOfRepository({
    owner: run.owner,
    common_dir: run.repo_common_dir,
    remote: run.repo_remote,
    limit: 50,
  });
  const earlier = runs.filter(
    (other) =>
      other.run_id !== run.run_id &&
      // A run that was begun on another's edits has them in a tree of its own.
      (other.workspace_path === run.workspace_path || other.run_id === run.settings.base_run) &&
      other.stop?.uncommitted != null,
  );
  for (const other of earlier.slice(0, EARLIER_RUNS)) {
    const left = other.stop?.uncommitted;
    if (left?.checkpoint == null) continue;
    // What it committed, and what the record of its stop had no room for, is known by what it owned.
    const owned = (await loadOwned(deps.store, other.run_id)).files;
    for (const { path, content } of unknown) {
      const theirs = owned.get(path);
      if (theirs?.unattributed_after === null && sameContent(theirs.last, content) && !owners.has(path))
        owners.set(path, { kind: "other_run", run_id: other.run_id });
    }
    const listed = new Set(left.files.filter((file) => file.owner === "this_run").map((file) => file.path));
    const candidates = unknown.filter(({ path }) => listed.has(path) && !owners.has(path));
    const checkpoint = candidates.length === 0 ? null : await deps.store.checkpoint(other.run_id, left.checkpoint);
    if (checkpoint?.tree == null) continue;
    const contents = await deps.checkpoints.contentAt(
      input.repo,
      checkpoint.tree,
      candidates.map(({ path }) => path),
    );
    candidates.forEach(({ path, content }, index) => {
      if (sameContent(contents[index] ?? null, content)) owners.set(path, { kind: "other_run", run_id: other.run_id });
    });
  }
}

/** What is not committed in a captured tree, each file with its owner. */
export async function uncommittedOf(
  deps: Deps,
  input: {
    readonly run: RunRecord;
    readonly repo: Repository;
    readonly checkpoint: { readonly id: string; readonly commit: string; readonly tree: string; readonly head: string | null };
    readonly owned: Owned;
  },
): Promise<Uncommitted> {
  const { checkpoint, repo } = input;
  const diff = await deps.checkpoints.diffSummary(repo, checkpoint.head ?? emptyTree(repo), checkpoint.commit, LISTED_FILES);
  const owners = await ownersOf(deps, {
    run: input.run,
    repo,
    tree: checkpoint.tree,
    owned: input.owned,
    paths: diff.files.map((file) => file.path),
  });
  return {
    total_files: diff.total_files,
    added: diff.added,
    removed: diff.removed,
    truncated: diff.truncated,
    checkpoint: checkpoint.id,
    files: diff.files.map((file) => ({
      path: file.path,
      status: file.status,
      added: file.added,
      removed: file.removed,
      binary: file.binary,
      owner: owners.get(file.path)?.kind ?? "unattributed",
    })),
  };
}

/** The tree without entries, for a repository that has no commit yet. */
export function emptyTree(repo: Pick<Repository, "object_format">): string {
  return repo.object_format === "sha1"
    ? "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    : "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
}
