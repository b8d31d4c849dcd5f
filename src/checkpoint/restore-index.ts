import type { OwnedPath, PathContent } from "./checkpoint.ts";
import { commitOf } from "./head.ts";
import { entryContent, entryLines } from "./index-entries.ts";
import { type Meta, readMeta } from "./meta.ts";
import type { RepoGit } from "./repo-git.ts";
import type { Planned } from "./restore-plan.ts";
import { changedBetween, contentsAt, emptyTree, sameContent } from "./tree.ts";
import { userIndexPath } from "./user-index.ts";

/**
 * The index entries that a restore has to set: those whose content is the run's. An entry with any other content was
 * staged by somebody else and keeps what it has.
 */
export async function indexChanges(
  git: RepoGit,
  going: readonly OwnedPath[],
  planned: Planned,
  checkpoint: string | null,
): Promise<Map<string, PathContent>> {
  const { head } = planned.plan;
  const committed = head?.from && head.to ? await changedBetween(git, head.from, head.to) : [];
  const leftBy = new Map(committed.map((change) => [change.path, change.from] as const));
  const owned = new Map(going.map((item) => [item.path, item] as const));
  const names = [...new Set([...owned.keys(), ...leftBy.keys()])];
  const goals = await goalsOf(git, names, head?.to ?? null, checkpoint);
  const entries = await entryLines(git, userIndexPath(git));
  const changes = new Map<string, PathContent>();
  const unclear = new Map<string, PathContent>();
  for (const path of names) {
    const entry = entryContent(entries.get(path));
    const goal = goals.get(path) ?? null;
    if (entry === "conflict" || sameContent(entry, goal)) continue;
    const item = owned.get(path);
    const isLast = item !== undefined && sameContent(entry, item.last);
    const isCommitted = leftBy.has(path) && sameContent(entry, leftBy.get(path) ?? null);
    if (isLast || isCommitted) changes.set(path, goal);
    else if (item !== undefined && entry !== null) unclear.set(path, entry);
  }
  for (const path of await heldByRun(git, unclear, owned, planned.metas)) changes.set(path, goals.get(path) ?? null);
  return changes;
}

/** What the entries go to: the target checkpoint's index, else the commit that HEAD will name. */
async function goalsOf(
  git: RepoGit,
  names: readonly string[],
  headTo: string | null,
  checkpoint: string | null,
): Promise<Map<string, PathContent>> {
  const meta = checkpoint === null ? null : await readMeta(git, checkpoint);
  const tree = meta?.index_tree ?? headTo ?? (await commitOf(git, "HEAD")) ?? emptyTree(git.repo.object_format);
  const contents = await contentsAt(git, tree, names);
  return new Map(names.map((path, n) => [path, contents[n] ?? null] as const));
}

/** Of entries that are neither the run's last content nor its commit's: those that an earlier checkpoint of the run has. */
async function heldByRun(
  git: RepoGit,
  entries: ReadonlyMap<string, PathContent>,
  owned: ReadonlyMap<string, OwnedPath>,
  metas: readonly Meta[],
): Promise<Set<string>> {
  const found = new Set<string>();
  const look = async (trees: readonly string[], names: readonly string[]): Promise<void> => {
    for (const tree of new Set(names.length > 0 ? trees : [])) {
      const contents = await contentsAt(git, tree, names);
      for (const [n, path] of names.entries()) if (sameContent(contents[n] ?? null, entries.get(path) ?? null)) found.add(path);
    }
  };
  const target = (path: string): PathContent => owned.get(path)?.target ?? null;
  const names = [...entries.keys()].filter((path) => !sameContent(entries.get(path) ?? null, target(path)));
  await look(
    metas.map((meta) => meta.tree),
    names,
  );
  // A file that the run made: nobody else can have staged a version of it before.
  const made = names.filter((path) => target(path) === null);
  await look(
    metas.map((meta) => meta.index_tree),
    made,
  );
  return found;
}
