import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { SkippedPath } from "../run/run.ts";
import { type Classified, classify, largeBytes, type TrackedFacts } from "./classify.ts";
import { exists } from "./git-dir.ts";
import { copyIndex, GITLINK, parseIndex } from "./index-file.ts";
import { NO_LIMITS } from "./limits.ts";
import { type Listed, listChanges } from "./list.ts";
import { absolute, joinNul } from "./path-text.ts";
import {
  dropState,
  lastSchema,
  privateIndex,
  readState,
  resetPrivateState,
  type Sidecar,
  STATE_FILES,
  sidecarSchema,
  treeSchema,
  writeState,
} from "./private-state.ts";
import type { RepoGit } from "./repo-git.ts";
import { mergeSidecar, sidecarOf } from "./sidecar.ts";
import { submodulesOf, syncIgnored, syncPrivateIndex } from "./sync-index.ts";
import { ignoreKey, readUserIndex, trackedPaths, type UserIndex } from "./user-index.ts";

/** The working tree as a git tree, with what the tree cannot hold. */
export interface Snapshot {
  readonly tree: string;
  readonly user: UserIndex;
  readonly sidecar: Sidecar;
  readonly skipped: readonly SkippedPath[];
  /** Index file whose entries match `tree`, with stat data of the files as they are. */
  readonly index: string;
}

export interface SnapshotOptions {
  readonly thorough?: boolean;
  /** The run whose checkpoint it becomes: what large files it writes counts towards that run's share. */
  readonly run_id?: string;
}

/** Brings the private index up to date with the working tree and writes it as a tree. The caller holds the private lock. */
export async function takeSnapshot(git: RepoGit, options: SnapshotOptions = {}): Promise<Snapshot> {
  await startAnewAfterCrash(git);
  const user = await readUserIndex(git);
  const seeded = await syncPrivateIndex(git, user);
  const ignore_key = await ignoreKey(git);
  const known = await readState(git.private_dir, STATE_FILES.tree, treeSchema);
  const listed = await listCovered(git, user, ignore_key, { seeded, thorough: options.thorough ?? false });
  const spent = await spentBy(git, options.run_id);
  const classified = await classify(git.repo.top, listed, await trackedFacts(git, user, spent), git.limits);
  const before = (await readState(git.private_dir, STATE_FILES.sidecar, sidecarSchema)) ?? {};
  const touched = [...classified.stage, ...classified.remove];
  const clean = touched.length === 0 && user.unchanged && user.ignore_key === ignore_key && known !== null;
  const index = privateIndex(git.private_dir);
  if (clean) return { tree: known.tree, user, sidecar: before, skipped: await allSkipped(git, user, classified), index };
  await dropState(git.private_dir, STATE_FILES.tree);
  await stageInto(git, index, classified);
  if (options.run_id !== undefined && largeBytes(classified.sizes) > 0)
    await writeSpent(git, options.run_id, spent + largeBytes(classified.sizes));
  const tree = (await git.run(["write-tree"], { index })).text;
  const sidecar = mergeSidecar(before, touched, await sidecarOf(git, classified.stage));
  await writeState(git.private_dir, STATE_FILES.sidecar, sidecar);
  await writeState(git.private_dir, STATE_FILES.user, {
    key: user.key,
    ignore_key,
    index_tree: user.index_tree,
    special: user.special,
  });
  await writeState(git.private_dir, STATE_FILES.tree, { tree });
  return { tree, user, sidecar, skipped: await allSkipped(git, user, classified), index };
}

/**
 * A snapshot that also holds the given paths, ignored or large as they may be. It lives in an index of its own: the next
 * ordinary capture covers them no more than before.
 */
export async function extendSnapshot(git: RepoGit, snapshot: Snapshot, paths: readonly string[]): Promise<Snapshot> {
  const index = `${privateIndex(git.private_dir)}.forced`;
  await copyIndex(snapshot.index, index);
  const listed = new Map<string, Listed>(paths.map((path) => [path, "forced"]));
  const classified = await classify(git.repo.top, listed, await trackedFacts(git, snapshot.user, 0), NO_LIMITS);
  await stageInto(git, index, classified);
  const tree = (await git.run(["write-tree"], { index })).text;
  const sidecar = mergeSidecar(snapshot.sidecar, classified.stage, await sidecarOf(git, classified.stage));
  const forced = new Set(classified.stage);
  const skipped = [...snapshot.skipped.filter((item) => !forced.has(item.path)), ...classified.skipped];
  return { tree, user: snapshot.user, sidecar, skipped, index };
}

/** Removes the index of `extendSnapshot`. */
export async function dropForced(git: RepoGit): Promise<void> {
  await dropState(git.private_dir, "index.forced");
}

export function isIgnoreFile(path: string): boolean {
  return path === ".gitignore" || path.endsWith("/.gitignore");
}

/** The tree file is removed before the private index is written: an index without it is of a capture that never ended. */
async function startAnewAfterCrash(git: RepoGit): Promise<void> {
  if (!(await exists(privateIndex(git.private_dir)))) return;
  if (await exists(`${git.private_dir}/${STATE_FILES.tree}`)) return;
  await resetPrivateState(git.private_dir);
}

async function listCovered(
  git: RepoGit,
  user: UserIndex,
  ignore_key: string,
  { seeded, thorough }: { readonly seeded: boolean; readonly thorough: boolean },
): Promise<Map<string, Listed>> {
  // An index that is a copy of the user's, entry by entry, covers what that one tracks.
  const same = seeded && user.special.length === 0;
  const rulesMoved = !same && (!user.unchanged || thorough || user.ignore_key !== ignore_key);
  let sync = rulesMoved ? await syncIgnored(git, user) : { add: [], dropped: [] };
  let dropped = sync.dropped;
  let listed = await listChanges(git, thorough);
  if (!rulesMoved && [...listed.keys()].some(isIgnoreFile)) {
    sync = await syncIgnored(git, user);
    dropped = sync.dropped;
    if (dropped.length > 0) listed = await listChanges(git, thorough);
  }
  for (const path of sync.add) listed.set(path, "forced");
  // What came to be ignored is out of the index already; listing it as removed makes the tree be written anew.
  for (const path of dropped) if (!listed.has(path)) listed.set(path, "dropped");
  return listed;
}

const SPENT_FILE = "spent-by-run.json";
/** The newest last: runs in place share one working tree, and one that is resumed must not begin its share anew. */
const spentSchema = z.array(z.object({ run_id: z.string(), bytes: z.number() }));
const REMEMBERED = 100;

/** Bytes of large files that this run's checkpoints wrote here so far; a look that becomes no checkpoint has no share. */
async function spentBy(git: RepoGit, runId: string | undefined): Promise<number> {
  const all = runId === undefined ? null : await readState(git.private_dir, SPENT_FILE, spentSchema);
  return all?.find((one) => one.run_id === runId)?.bytes ?? 0;
}

async function writeSpent(git: RepoGit, run_id: string, bytes: number): Promise<void> {
  const others = ((await readState(git.private_dir, SPENT_FILE, spentSchema)) ?? []).filter((one) => one.run_id !== run_id);
  await writeState(git.private_dir, SPENT_FILE, [...others, { run_id, bytes }].slice(-REMEMBERED));
}

async function trackedFacts(git: RepoGit, user: UserIndex, spent_bytes: number): Promise<TrackedFacts> {
  const last = await readState(git.private_dir, STATE_FILES.last, lastSchema);
  let all: Promise<ReadonlySet<string>> | null = null;
  return {
    submodules: submodulesOf(user),
    spent_bytes,
    tracked: () => {
      all ??= trackedPaths(git);
      return all;
    },
    // Bytes that differ from HEAD bound the untracked ones from above.
    untracked_bound: last?.bytes ?? Number.POSITIVE_INFINITY,
    held: async () => {
      const bytes = await readFile(privateIndex(git.private_dir)).catch(() => null);
      const entries = bytes === null ? [] : parseIndex(bytes, git.repo.object_format, "all").entries;
      return new Map(entries.map((entry) => [entry.path, entry.size]));
    },
  };
}

async function stageInto(git: RepoGit, index: string, { remove, stage }: Classified): Promise<void> {
  if (remove.length > 0) await git.run(["update-index", "--force-remove", "-z", "--stdin"], { index, input: joinNul(remove) });
  if (stage.length > 0) {
    await git.run(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], {
      index,
      input: joinNul(stage),
      config: ["core.fsync=loose-object", "core.fsyncMethod=batch"],
    });
  }
  if (!(await exists(index))) await git.run(["read-tree", "--empty"], { index });
}

/** Populated submodules are named as not covered, whether they changed or not. */
async function allSkipped(git: RepoGit, user: UserIndex, classified: Classified): Promise<SkippedPath[]> {
  const skipped = [...classified.skipped];
  for (const entry of user.special) {
    if (entry.mode !== GITLINK || entry.stage > 0) continue;
    if (await exists(absolute(git.repo.top, `${entry.path}/.git`)))
      skipped.push({ path: entry.path, bytes: 0, why: "nested_repository" });
  }
  return skipped.sort((a, b) => (a.path < b.path ? -1 : 1));
}
