import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { msOf, now } from "../run/clock.ts";
import type { CheckpointKind } from "../run/run.ts";
import type { HeadState } from "./head.ts";
import { META_NAME, type Meta } from "./meta.ts";
import { type GitDate, type NewObjects, newObjects } from "./new-objects.ts";
import { operationOf, stateFiles } from "./op-state.ts";
import { absolute, splitNul, textOfPath } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";
import type { Snapshot } from "./snapshot.ts";
import { emptyTree } from "./tree.ts";

/**
 * Writes a snapshot as commits: C(tree = working tree) -> [HEAD, I(tree = index) -> [HEAD, M(meta) -> pinned commits]].
 * The working tree is the root of C, so that `git diff`, `git stash apply` and thin packs work on it by hand.
 */
export async function writeCheckpoint(
  git: RepoGit,
  snapshot: Snapshot,
  head: HeadState,
  input: { readonly run_id: string; readonly id: string; readonly kind: CheckpointKind },
): Promise<{ commit: string; meta: Meta }> {
  const objects = newObjects(git);
  const [size, state] = await Promise.all([sizeAgainstHead(git, snapshot, head.head), stateIn(git, objects, head.head)]);
  const meta: Meta = {
    v: 1,
    kind: input.kind,
    run_id: input.run_id,
    id: input.id,
    at: now(),
    head: head.head,
    branch: head.branch,
    tree: snapshot.tree,
    index_tree: snapshot.user.index_tree,
    operation: await operationOf(git.repo.git_dir),
    upstream: head.upstream,
    ...size,
    ...indexFacts(snapshot),
    raw: Object.entries(snapshot.sidecar).flatMap(([path, side]) => (side.raw === undefined ? [] : [[path, side.raw]])),
    modes: Object.entries(snapshot.sidecar).flatMap(([path, side]) => (side.mode === undefined ? [] : [[path, side.mode]])),
    state: state.files,
    skipped: [...snapshot.skipped],
  };
  const commit = addMeta(objects, meta, state.pins, `${Math.floor(msOf(meta.at) / 1000)} +0000`);
  await objects.write();
  return { commit, meta };
}

/** Writes the three commits of a checkpoint: the same meta with the same date always gives the same ones. */
export async function commitMeta(git: RepoGit, meta: Meta, pins: readonly string[], date: GitDate): Promise<string> {
  const objects = newObjects(git);
  const commit = addMeta(objects, meta, pins, date);
  await objects.write();
  return commit;
}

function addMeta(objects: NewObjects, meta: Meta, pins: readonly string[], date: GitDate): string {
  const message = `Loopkeeper checkpoint ${meta.run_id}/${meta.id} (${meta.kind})`;
  const side = objects.commit({ tree: metaTree(objects, meta), parents: pins, message, date });
  const parents = meta.head === null ? [] : [meta.head];
  const index = objects.commit({ tree: meta.index_tree, parents: [...parents, side], message, date });
  return objects.commit({ tree: meta.tree, parents: [...parents, index], message, date });
}

/** Number and bytes of the paths that differ from HEAD. */
async function sizeAgainstHead(git: RepoGit, snapshot: Snapshot, head: string | null): Promise<{ files: number; bytes: number }> {
  const from = head ?? emptyTree(git.repo.object_format);
  const listed = await git.run(["diff-tree", "-r", "-z", "--no-renames", "--name-only", from, snapshot.tree]);
  const paths = splitNul(listed.bytes).map(textOfPath);
  let bytes = 0;
  for (const path of paths) {
    const info = await lstat(absolute(git.repo.top, path)).catch(() => null);
    if (info?.isFile()) bytes += info.size;
  }
  return { files: paths.length, bytes };
}

function indexFacts({ user }: Snapshot): Pick<Meta, "flags" | "unmerged"> {
  const flagged = user.special.filter(
    (entry) =>
      entry.stage === 0 && entry.mode !== 0o40000 && (entry.assume_unchanged || entry.skip_worktree || entry.intent_to_add),
  );
  return {
    flags: flagged.map((entry) => ({
      path: entry.path,
      assume: entry.assume_unchanged,
      skip: entry.skip_worktree,
      intent: entry.intent_to_add,
    })),
    unmerged: user.special
      .filter((entry) => entry.stage > 0)
      .map((entry) => ({ path: entry.path, mode: entry.mode.toString(8), oid: entry.oid, stage: entry.stage })),
  };
}

/** Takes the files of an operation under way, and finds the commits they name: garbage collection must not take those. */
async function stateIn(
  git: RepoGit,
  objects: NewObjects,
  head: string | null,
): Promise<{ files: [string, string][]; pins: string[] }> {
  const names = await stateFiles(git.repo.git_dir);
  const files: [string, string][] = [];
  const named = new Set<string>();
  for (const name of names) {
    const content = await readFile(join(git.repo.git_dir, name)).catch(() => null);
    if (content === null) continue;
    files.push([name, objects.blob(content)]);
    for (const match of content.toString("latin1").matchAll(/\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b/g)) named.add(match[0]);
  }
  // The commit of HEAD holds itself.
  if (head !== null) named.delete(head);
  if (named.size === 0) return { files, pins: [] };
  const checked = await git.run(["cat-file", "--batch-check"], { input: `${[...named].join("\n")}\n` });
  const pins = checked.text.split("\n").flatMap((line) => (line.includes(" commit ") ? [line.split(" ")[0] ?? ""] : []));
  return { files, pins };
}

function metaTree(objects: NewObjects, meta: Meta): string {
  const meta_blob = { name: META_NAME, oid: objects.blob(JSON.stringify(meta)), is_tree: false };
  const parts: [string, readonly string[]][] = [
    ["raw", meta.raw.map(([, oid]) => oid)],
    ["state", meta.state.map(([, oid]) => oid)],
    // A submodule's entry names a commit of another repository.
    ["unmerged", meta.unmerged.filter((entry) => entry.mode !== "160000").map((entry) => entry.oid)],
  ];
  const kept = parts.filter(([, oids]) => oids.length > 0);
  return objects.tree([meta_blob, ...kept.map(([name, oids]) => ({ name, oid: numberedTree(objects, oids), is_tree: true }))]);
}

/** A tree whose only task is to keep the given blobs reachable. */
function numberedTree(objects: NewObjects, oids: readonly string[]): string {
  return objects.tree(oids.map((oid, n) => ({ name: String(n), oid, is_tree: false })));
}
