import type { Checkpoints, PathChange, PathContent, Repository } from "../checkpoint/checkpoint.ts";
import type { ToolCallSeen } from "../engine/engine.ts";
import { ALWAYS, absorb, type Owned, type OwnedState, saveOwned } from "../resume/ownership.ts";
import type { Act } from "../run/act.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { namedPaths } from "./named-paths.ts";

/** What an iteration did to the repository: acts, and the paths that are the run's from then on. */

type CallFacts = Pick<ToolCallSeen, "command" | "paths" | "status" | "held">;

/** What of a run this needs: a part of its drive. */
interface Owner {
  readonly ctx: { readonly store: Store; readonly checkpoints: Checkpoints };
  readonly run: Pick<RunRecord, "run_id" | "workspace_kind">;
  readonly repo: Repository;
}

/** Acts since the mark, with the run's own commands as evidence. */
export function observeActs(
  owner: Owner,
  input: { readonly mark: string; readonly iteration: number; readonly at: string; readonly calls: readonly CallFacts[] },
): Promise<readonly Act[]> {
  const commands = input.calls.flatMap((call) => {
    if (call.command === null || call.held) return [];
    const outcome = call.status === "completed" ? ("ok" as const) : call.status === "failed" ? ("failed" as const) : null;
    return [{ command: call.command, outcome }];
  });
  return owner.ctx.checkpoints.observeActs(owner.repo, input.mark, { iteration: input.iteration, at: input.at, commands });
}

export function commitsOf(acts: readonly Act[]): readonly string[] {
  return acts.flatMap((act) => (act.kind === "commit" && act.ref !== null ? [act.ref] : []));
}

/** One end of an iteration. */
export interface TreeEnd {
  /** Checkpoint that holds it; null at the end, where it is not recorded yet. */
  readonly id: string | null;
  readonly tree: string;
  readonly index_tree: string | null;
}

/** Adds what changed between an iteration's start and end, in files and in the index, to what the run owns, and stores it. */
export async function absorbChanges(
  owner: Owner,
  input: {
    readonly owned: OwnedState;
    readonly from: TreeEnd;
    readonly to: TreeEnd;
    readonly calls: readonly CallFacts[];
    readonly commits: readonly string[];
  },
): Promise<OwnedState> {
  const { from, to } = input;
  if (from.tree === to.tree && from.index_tree === to.index_tree) return input.owned;
  const first = await firstEntry(owner);
  const committed = await committedPaths(owner, input.commits);
  const named = await namedPaths(input.calls, owner.repo.top);
  const inPlace = owner.run.workspace_kind === "in_place";
  const attributed = (path: string): boolean => !inPlace || committed.has(path) || named(path);
  const start = from.id ?? ALWAYS;
  const seen = await owner.ctx.checkpoints.changedPaths(owner.repo, from.tree, to.tree);
  const { changes, unknown } = await owner.ctx.checkpoints.withoutIgnored(owner.repo, { from: from.tree, changes: seen });
  const files = absorb(input.owned.files, changes, {
    start,
    entry: await entryContents(owner, first?.tree ?? null, changes, input.owned.files),
    attributed,
    unknown: new Set(unknown),
  });
  const entries = await absorbEntries(owner, input, first, start, (path) => {
    const file = files.get(path);
    return attributed(path) || (file !== undefined && file.unattributed_after === null);
  });
  const owned = { files, entries };
  await saveOwned(owner.ctx.store, owner.run.run_id, owned);
  return owned;
}

async function absorbEntries(
  owner: Owner,
  input: { readonly owned: OwnedState; readonly from: TreeEnd; readonly to: TreeEnd },
  first: CheckpointRecord | null,
  start: string,
  attributed: (path: string) => boolean,
): Promise<Owned> {
  const { from, to, owned } = input;
  if (from.index_tree === null || to.index_tree === null || from.index_tree === to.index_tree) return owned.entries;
  const changes = await owner.ctx.checkpoints.changedPaths(owner.repo, from.index_tree, to.index_tree);
  const entry = await entryContents(owner, first?.index_tree ?? null, changes, owned.entries);
  return absorb(owned.entries, changes, { start, entry, attributed, unknown: new Set() });
}

/** What paths that the run touches for the first time held at its start. */
async function entryContents(
  owner: Owner,
  tree: string | null,
  changes: readonly PathChange[],
  owned: Owned,
): Promise<ReadonlyMap<string, PathContent>> {
  const unseen = changes.filter((change) => !owned.has(change.path)).map((change) => change.path);
  const contents = tree === null || unseen.length === 0 ? [] : await owner.ctx.checkpoints.contentAt(owner.repo, tree, unseen);
  return new Map(unseen.map((path, index) => [path, contents[index] ?? null]));
}

async function firstEntry(owner: Owner): Promise<CheckpointRecord | null> {
  const [first] = await owner.ctx.store.attempts(owner.run.run_id);
  if (first?.entry_checkpoint == null) return null;
  return owner.ctx.store.checkpoint(owner.run.run_id, first.entry_checkpoint);
}

/** Paths in the run's own commits; in a worktree everything is the run's anyway. */
async function committedPaths(owner: Owner, commits: readonly string[]): Promise<ReadonlySet<string>> {
  const paths = new Set<string>();
  if (owner.run.workspace_kind === "worktree") return paths;
  for (const commit of commits.slice(0, 50)) {
    const parent = await owner.ctx.checkpoints.resolve(owner.repo, `${commit}^`);
    if (parent === null) continue;
    for (const change of await owner.ctx.checkpoints.changedPaths(owner.repo, parent, commit)) paths.add(change.path);
  }
  return paths;
}
