import type { OwnedPath, PathContent } from "./checkpoint.ts";
import { type EntryChange, entryContent, stagesOf } from "./index-entries.ts";
import { parentsOf } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";
import { leftByRun, type Planned } from "./restore-plan.ts";
import { contentsAt, sameContent } from "./tree.ts";

const EMPTY_BLOBS: readonly string[] = [
  "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
  "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/**
 * The index entries that a restore has to set: those that are as the run left them, and those of paths that may be
 * overwritten. An entry with any other content was staged by somebody else and keeps what it has; so does that of a path
 * whose file is left alone.
 */
export function indexChanges(
  planned: Planned,
  entries: readonly OwnedPath[],
  overwrite: ReadonlySet<string>,
): Map<string, PathContent> {
  const changes = new Map<string, PathContent>();
  const alone = new Set(planned.plan.conflicts);
  for (const owned of entries) {
    if (alone.has(owned.path)) continue;
    const now = entryContent(planned.lines.get(owned.path));
    if (now === "conflict" || sameContent(now, owned.target)) continue;
    if (leftByRun(owned, now) || overwrite.has(owned.path)) changes.set(owned.path, owned.target);
  }
  // A promise to add a file later ends with the file.
  for (const path of planned.plan.remove) {
    const now = entryContent(planned.lines.get(path));
    if (!changes.has(path) && now !== "conflict" && now !== null && EMPTY_BLOBS.includes(now.oid)) changes.set(path, null);
  }
  return withoutClashes(planned, changes);
}

/** The conflicts of an operation that is taken back go as the target has these paths; those that the target had come back. */
export async function operationEntries(git: RepoGit, { plan, target, lines }: Planned): Promise<Map<string, EntryChange>> {
  if (plan.operation === null || target === null) return new Map();
  const conflicts = [...lines].flatMap(([path, at]) => (entryContent(at) === "conflict" ? [path] : []));
  const contents = await contentsAt(git, target.index_tree, conflicts);
  return new Map<string, EntryChange>([...conflicts.map((path, n) => [path, contents[n] ?? null] as const), ...stagesOf(target)]);
}

/** A file's entry cannot stand beside entries beneath it: where somebody else staged one of the two, theirs stays. */
function withoutClashes(planned: Planned, changes: ReadonlyMap<string, PathContent>): Map<string, PathContent> {
  const stays = [...planned.lines.keys()].filter((path) => changes.get(path) !== null);
  const beneath = new Set(stays.flatMap(parentsOf));
  const there = new Set(stays);
  return new Map(
    [...changes].filter(
      ([path, content]) => content === null || !(beneath.has(path) || parentsOf(path).some((parent) => there.has(parent))),
    ),
  );
}
