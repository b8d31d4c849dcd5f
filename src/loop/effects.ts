import type { ToolCallSeen } from "../engine/engine.ts";
import { absorb, type Owned, saveOwned } from "../resume/ownership.ts";
import type { Act } from "../run/act.ts";
import type { Drive } from "./drive.ts";

/** What an iteration did to the repository: acts, and the paths that are the run's from then on. */

type CallFacts = Pick<ToolCallSeen, "command" | "paths" | "status">;

/** Acts since the mark, with the run's own commands as evidence. */
export function observeActs(
  drive: Drive,
  input: { readonly mark: string; readonly iteration: number; readonly at: string; readonly calls: readonly CallFacts[] },
): Promise<readonly Act[]> {
  const commands = input.calls.flatMap((call) => {
    if (call.command === null) return [];
    const outcome = call.status === "completed" ? ("ok" as const) : call.status === "failed" ? ("failed" as const) : null;
    return [{ command: call.command, outcome }];
  });
  return drive.ctx.checkpoints.observeActs(drive.repo, input.mark, { iteration: input.iteration, at: input.at, commands });
}

export function commitsOf(acts: readonly Act[]): readonly string[] {
  return acts.flatMap((act) => (act.kind === "commit" && act.ref !== null ? [act.ref] : []));
}

/** Adds what changed between an iteration's start and end to what the run owns, and stores it. */
export async function absorbChanges(
  drive: Drive,
  input: {
    readonly owned: Owned;
    readonly from_tree: string;
    readonly to_tree: string;
    readonly calls: readonly CallFacts[];
    readonly commits: readonly string[];
  },
): Promise<Owned> {
  if (input.from_tree === input.to_tree) return input.owned;
  const { checkpoints, store } = drive.ctx;
  const changes = await checkpoints.changedPaths(drive.repo, input.from_tree, input.to_tree);
  const unseen = changes.filter((change) => !input.owned.has(change.path)).map((change) => change.path);
  const entryTree = unseen.length === 0 ? null : await firstEntryTree(drive);
  const contents = entryTree === null ? [] : await checkpoints.contentAt(drive.repo, entryTree, unseen);
  const entry = new Map(unseen.map((path, index) => [path, contents[index] ?? null]));
  const committed = await committedPaths(drive, input.commits);
  const inPlace = drive.run.workspace_kind === "in_place";
  const attributed = (path: string): boolean => !inPlace || committed.has(path) || input.calls.some((call) => names(call, path));
  const owned = absorb(input.owned, changes, { entry, attributed });
  await saveOwned(store, drive.run.run_id, owned);
  return owned;
}

async function firstEntryTree(drive: Drive): Promise<string | null> {
  const [first] = await drive.ctx.store.attempts(drive.run.run_id);
  if (first?.entry_checkpoint == null) return null;
  return (await drive.ctx.store.checkpoint(drive.run.run_id, first.entry_checkpoint))?.tree ?? null;
}

/** Paths in the run's own commits; in a worktree everything is the run's anyway. */
async function committedPaths(drive: Drive, commits: readonly string[]): Promise<ReadonlySet<string>> {
  const paths = new Set<string>();
  if (drive.run.workspace_kind === "worktree") return paths;
  for (const commit of commits.slice(0, 50)) {
    const parent = await drive.ctx.checkpoints.resolve(drive.repo, `${commit}^`);
    if (parent === null) continue;
    for (const change of await drive.ctx.checkpoints.changedPaths(drive.repo, parent, commit)) paths.add(change.path);
  }
  return paths;
}

/** A tool call names a path in its locations, or in the text of its command. */
function names(call: CallFacts, path: string): boolean {
  return call.paths.some((named) => named === path || named.endsWith(`/${path}`)) || (call.command?.includes(path) ?? false);
}
