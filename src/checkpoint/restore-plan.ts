import { lstat, readdir } from "node:fs/promises";
import { canonicalJson, sha256 } from "../run/id.ts";
import { probeLocked } from "./capture.ts";
import type { HeadMove, OwnedPath, PathContent, RestorePlan } from "./checkpoint.ts";
import { commitOf, readBranch, readStand } from "./head.ts";
import { type EntryLines, entryLines } from "./index-entries.ts";
import { withPrivateLock } from "./lock.ts";
import { type Meta, readMeta, readMetas } from "./meta.ts";
import { isMovable, operationKey, operationOf } from "./op-state.ts";
import { isBranchFree, operationMove } from "./operation-move.ts";
import { absolute, parentsOf, textOfPath } from "./path-text.ts";
import { listRunRefs } from "./refs.ts";
import type { RepoGit } from "./repo-git.ts";
import type { Snapshot } from "./snapshot.ts";
import { contentsAt, sameContent } from "./tree.ts";
import { userIndexPath } from "./user-index.ts";

export interface PlanInput {
  readonly run_id: string;
  readonly paths: readonly OwnedPath[];
  readonly entries?: readonly OwnedPath[];
  readonly overwrite: readonly string[];
  readonly head: HeadMove | null;
  readonly checkpoint?: string;
  readonly own_operation?: boolean;
}

/** A plan with what it was made from. */
export interface Planned {
  readonly plan: RestorePlan;
  readonly snapshot: Snapshot;
  readonly present: ReadonlyMap<string, PathContent>;
  /** The user's index. */
  readonly lines: EntryLines;
  /** Metas of the run's checkpoints. */
  readonly metas: readonly Meta[];
  /** Of the target; null when it was not named. */
  readonly target: Meta | null;
}

export function planRestore(git: RepoGit, input: PlanInput): Promise<RestorePlan> {
  return withPrivateLock(git.private_dir, async () => (await planLocked(git, input)).plan);
}

/** Looks at everything before anything changes: ignore rules too, so that undoing a rule cannot expose what it protected. */
export async function planLocked(git: RepoGit, input: PlanInput): Promise<Planned> {
  const names = input.paths.map((owned) => owned.path);
  const snapshot = await probeLocked(git, names);
  const contents = await contentsAt(git, snapshot.tree, names);
  const present = new Map(names.map((path, n) => [path, contents[n] ?? null] as const));
  const refs = await listRunRefs(git, input.run_id);
  const metas = [
    ...(
      await readMetas(
        git,
        refs.map((item) => item.commit),
      )
    ).values(),
  ];
  const draft = sortPaths(input, present, uncoveredTest(snapshot, metas));
  await withdrawBlocked(git.repo.top, draft);
  const target = input.checkpoint === undefined ? null : await readMeta(git, input.checkpoint);
  const { head, operation } = await standMove(git, input, target, draft.conflicts.size === 0);
  const lists = {
    restore: [...draft.restore].sort(),
    remove: [...draft.remove].sort(),
    conflicts: [...draft.conflicts].sort(),
    uncovered: draft.uncovered.sort(),
    head,
    operation,
  };
  const lines = await entryLines(git, userIndexPath(git));
  const fingerprint = await fingerprintOf(git, input, lists, present, lines);
  const plan = { ...lists, tree: snapshot.tree, index_tree: snapshot.user.index_tree, fingerprint };
  return { plan, snapshot, present, lines, metas, target };
}

interface Draft {
  readonly restore: Set<string>;
  readonly remove: Set<string>;
  readonly conflicts: Set<string>;
  readonly uncovered: string[];
}

function sortPaths(
  input: PlanInput,
  present: ReadonlyMap<string, PathContent>,
  isUncovered: (owned: OwnedPath) => boolean,
): Draft {
  const draft: Draft = { restore: new Set(), remove: new Set(), conflicts: new Set(), uncovered: [] };
  const overwrite = new Set(input.overwrite);
  for (const owned of input.paths) {
    const now = present.get(owned.path) ?? null;
    if (isUncovered(owned)) draft.uncovered.push(owned.path);
    else if (sameContent(now, owned.target)) continue;
    else if (!leftByRun(owned, now) && !overwrite.has(owned.path)) draft.conflicts.add(owned.path);
    else if (owned.target === null) draft.remove.add(owned.path);
    else draft.restore.add(owned.path);
  }
  return draft;
}

/** Whether a content is what the run left, or what a restore that was broken off may have left. */
export function leftByRun(owned: OwnedPath, now: PathContent): boolean {
  return sameContent(now, owned.last) || (owned.pending !== undefined && sameContent(now, owned.pending));
}

/** What no checkpoint can hold, or one of the run's checkpoints had to leave out: its absence there proves nothing. */
function uncoveredTest(snapshot: Snapshot, metas: readonly Meta[]): (owned: OwnedPath) => boolean {
  const skipped = [...snapshot.skipped, ...metas.flatMap((meta) => meta.skipped)];
  const exact = new Set(skipped.map((item) => item.path));
  const nested = new Set(skipped.filter((item) => item.why === "nested_repository").map((item) => item.path));
  const isLink = (content: PathContent) => content?.mode === "160000";
  return ({ path, target, last }) =>
    exact.has(path) || isLink(target) || isLink(last) || parentsOf(path).some((parent) => nested.has(parent));
}

/** Turns into conflicts what cannot be put in place without touching something that is not the run's; until nothing changes. */
async function withdrawBlocked(top: string, draft: Draft): Promise<void> {
  for (let again = true; again; ) {
    again = false;
    for (const path of [...draft.restore]) {
      if (!(await isBlocked(top, path, draft.remove))) continue;
      draft.restore.delete(path);
      draft.conflicts.add(path);
      again = true;
    }
  }
}

async function isBlocked(top: string, path: string, going: ReadonlySet<string>): Promise<boolean> {
  for (const parent of parentsOf(path)) {
    const info = await lstat(absolute(top, parent)).catch(() => null);
    if (info === null) return false;
    // A link or file stands where a folder has to be: fine only if it is the run's own and goes away.
    if (!info.isDirectory()) return !going.has(parent);
  }
  const info = await lstat(absolute(top, path)).catch(() => null);
  return (info?.isDirectory() ?? false) && !(await onlyHolds(top, path, going));
}

/** True when every file beneath a folder is going away. */
async function onlyHolds(top: string, folder: string, going: ReadonlySet<string>): Promise<boolean> {
  for (const entry of await readdir(absolute(top, folder), { withFileTypes: true, encoding: "buffer" })) {
    const path = `${folder}/${textOfPath(entry.name)}`;
    if (entry.isDirectory() ? !(await onlyHolds(top, path, going)) : !going.has(path)) return false;
  }
  return true;
}

/**
 * HEAD and the operation under way go together: HEAD never moves in the middle of an operation that stays, and an operation is
 * taken back only with all of it, files and HEAD.
 */
async function standMove(
  git: RepoGit,
  input: PlanInput,
  target: Meta | null,
  whole: boolean,
): Promise<Pick<RestorePlan, "head" | "operation">> {
  const now = await operationOf(git.repo.git_dir);
  const operation = whole ? await operationMove(git, now, target, input.own_operation === true) : null;
  if (operation === null && isMovable(now)) return { head: null, operation };
  const head = await headMove(git, input.head);
  if (operation === null) return { head, operation };
  if ((input.head !== null && head === null) || !isBranchFree(operation, head)) return { head: null, operation: null };
  return { head, operation };
}

/** HEAD moves only from where the run left it, to a commit that is there. */
async function headMove(git: RepoGit, wanted: HeadMove | null): Promise<HeadMove | null> {
  if (wanted === null) return null;
  if ((await commitOf(git, "HEAD")) !== wanted.from) return null;
  if (wanted.to !== null && (await commitOf(git, wanted.to)) === null) return null;
  const { branch } = wanted;
  if (branch === undefined ? wanted.from === wanted.to : !(await canSwitch(git, branch, wanted.to))) return null;
  return wanted;
}

async function canSwitch(git: RepoGit, branch: NonNullable<HeadMove["branch"]>, to: string | null): Promise<boolean> {
  if (branch.from === branch.to || (await readBranch(git)) !== branch.from) return false;
  // Without a commit there is only a branch to be on.
  if (branch.to === null) return to !== null;
  return (await commitOf(git, branch.to)) === branch.tip && (await isFree(git, branch.to));
}

/** Whether no working tree of the repository stands on the branch. */
export async function isFree(git: RepoGit, branch: string): Promise<boolean> {
  if ((await readBranch(git)) === branch) return false;
  const listed = await git.run(["worktree", "list", "--porcelain"]);
  return !listed.text.split("\n").includes(`branch ${branch}`);
}

async function fingerprintOf(
  git: RepoGit,
  input: PlanInput,
  lists: Pick<RestorePlan, "restore" | "remove" | "conflicts" | "uncovered" | "head" | "operation">,
  present: ReadonlyMap<string, PathContent>,
  lines: EntryLines,
): Promise<string> {
  const names = new Set([...input.paths, ...(input.entries ?? [])].map(({ path }) => path));
  const { head, branch } = await readStand(git);
  return sha256(
    canonicalJson({
      lists,
      run_id: input.run_id,
      paths: input.paths.map((owned) => ({ ...owned, now: present.get(owned.path) ?? null })),
      entries: input.entries ?? [],
      lines: [...names].map((path) => [path, lines.get(path) ?? null]),
      head,
      branch,
      operation: [await operationOf(git.repo.git_dir), await operationKey(git.repo.git_dir)],
    }),
  );
}
