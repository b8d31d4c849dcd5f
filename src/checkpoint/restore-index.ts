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
  const [seen, staged] = [
    await everHeld(git, names, planned.metas, "tree"),
    await everHeld(git, names, planned.metas, "index_tree"),
  ];
  const entries = await entryLines(git, userIndexPath(git));
  const changes = new Map<string, PathContent>();
  for (const path of names) {
    const entry = entryContent(entries.get(path));
    const item = owned.get(path);
    const goal = goals.get(path) ?? null;
    if (entry === "conflict" || sameContent(entry, goal)) continue;
    const run = item === undefined ? null : item;
    const isRuns =
      (run !== null && sameContent(entry, run.last)) ||
      (leftBy.has(path) && sameContent(entry, leftBy.get(path) ?? null)) ||
      (run !== null && entry !== null && !sameContent(entry, run.target) && holds(seen, path, entry)) ||
      // A file that the run made: nobody else can have had a version of it before.
      (run !== null && entry !== null && run.target === null && holds(staged, path, entry));
    if (isRuns) changes.set(path, goal);
  }
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

type Held = ReadonlyMap<string, readonly PathContent[]>;

/** Every content that the run's checkpoints have for a path. */
async function everHeld(
  git: RepoGit,
  names: readonly string[],
  metas: readonly Meta[],
  which: "tree" | "index_tree",
): Promise<Held> {
  const held = new Map<string, PathContent[]>(names.map((path) => [path, []]));
  for (const tree of new Set(metas.map((meta) => meta[which]))) {
    const contents = await contentsAt(git, tree, names);
    for (const [n, path] of names.entries()) held.get(path)?.push(contents[n] ?? null);
  }
  return held;
}

function holds(held: Held, path: string, content: PathContent): boolean {
  return held.get(path)?.some((one) => sameContent(one, content)) ?? false;
}
