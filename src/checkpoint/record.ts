import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { now } from "../run/clock.ts";
import type { CheckpointKind } from "../run/run.ts";
import type { HeadState } from "./head.ts";
import { META_NAME, type Meta } from "./meta.ts";
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
  const [size, state] = await Promise.all([sizeAgainstHead(git, snapshot, head.head), storeState(git)]);
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
  return { commit: await commitMeta(git, meta, state.pins), meta };
}

/** The three commits of a checkpoint. With a date (`@seconds +0000`), the same meta always gives the same commits. */
export async function commitMeta(git: RepoGit, meta: Meta, pins: readonly string[], date?: string): Promise<string> {
  const message = `Loopkeeper checkpoint ${meta.run_id}/${meta.id} (${meta.kind})`;
  const env = date === undefined ? {} : { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
  const side = await commitTree(git, await metaTree(git, meta), pins, message, env);
  const parents = meta.head === null ? [] : [meta.head];
  const index = await commitTree(git, meta.index_tree, [...parents, side], message, env);
  return commitTree(git, meta.tree, [...parents, index], message, env);
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

/** Stores the files of an operation under way, and finds the commits they name: garbage collection must not take those. */
async function storeState(git: RepoGit): Promise<{ files: [string, string][]; pins: string[] }> {
  const names = await stateFiles(git.repo.git_dir);
  const files: [string, string][] = [];
  const named = new Set<string>();
  for (const name of names) {
    const content = await readFile(join(git.repo.git_dir, name)).catch(() => null);
    if (content === null) continue;
    files.push([name, (await git.run(["hash-object", "-w", "--stdin"], { input: content })).text]);
    for (const match of content.toString("latin1").matchAll(/\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b/g)) named.add(match[0]);
  }
  if (named.size === 0) return { files, pins: [] };
  const checked = await git.run(["cat-file", "--batch-check"], { input: `${[...named].join("\n")}\n` });
  const pins = checked.text.split("\n").flatMap((line) => (line.includes(" commit ") ? [line.split(" ")[0] ?? ""] : []));
  return { files, pins };
}

async function metaTree(git: RepoGit, meta: Meta): Promise<string> {
  const blob = (await git.run(["hash-object", "-w", "--stdin"], { input: JSON.stringify(meta) })).text;
  const parts: [string, readonly string[]][] = [
    ["raw", meta.raw.map(([, oid]) => oid)],
    ["state", meta.state.map(([, oid]) => oid)],
    ["unmerged", meta.unmerged.map((entry) => entry.oid)],
  ];
  let lines = `100644 blob ${blob}\t${META_NAME}\0`;
  for (const [name, oids] of parts) if (oids.length > 0) lines += `040000 tree ${await numberedTree(git, oids)}\t${name}\0`;
  return makeTree(git, lines);
}

/** A tree whose only task is to keep the given blobs reachable. */
function numberedTree(git: RepoGit, oids: readonly string[]): Promise<string> {
  return makeTree(git, oids.map((oid, n) => `100644 blob ${oid}\t${n}\0`).join(""));
}

async function makeTree(git: RepoGit, lines: string): Promise<string> {
  return (await git.run(["mktree", "-z"], { input: lines })).text;
}

async function commitTree(
  git: RepoGit,
  tree: string,
  parents: readonly string[],
  message: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const args = [...new Set(parents)].flatMap((parent) => ["-p", parent]);
  return (await git.run(["commit-tree", tree, ...args, "-F", "-"], { input: message, env })).text;
}
