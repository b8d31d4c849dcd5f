import { capture } from "./capture.ts";
import { GitFailure } from "./git.ts";
import type { CheckpointsToFree } from "./holdings.ts";
import { existing } from "./holdings-of.ts";
import { META_NAME, readMeta } from "./meta.ts";
import { checkpointOf, listRunRefs } from "./refs.ts";
import type { RepoGit } from "./repo-git.ts";
import { changedBetween } from "./tree.ts";
import { relinkWorktree } from "./worktree.ts";
import { entryFor, worktreeState } from "./worktree-state.ts";

/**
 * Removes a worktree that holds nothing but its commit. Everything is saved once more first; git itself looks again and refuses
 * what is not clean. Gives the reason when it was left as it is.
 */
export async function removeWorktree(
  main: RepoGit,
  workspace: RepoGit | null,
  input: { readonly run_id: string; readonly checkpoint_id: string; readonly worktree: string },
): Promise<string | null> {
  const why = workspace === null ? null : await changedSince(workspace, input);
  if (why !== null) return why;
  if (workspace === null && (await entryFor(main.repo.common_dir, input.worktree)) === null) return null;
  try {
    await main.run(["worktree", "remove", "--", input.worktree]);
    return null;
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    return "git would not remove it without force: it is locked, or something in it changed just now";
  }
}

async function changedSince(
  workspace: RepoGit,
  input: { readonly run_id: string; readonly checkpoint_id: string },
): Promise<string | null> {
  const saved = await capture(workspace, { run_id: input.run_id, id: input.checkpoint_id, kind: "stop", thorough: true });
  const changed = saved.head === null ? [] : await changedBetween(workspace, `${saved.head}^{tree}`, saved.tree);
  if (saved.head !== null && changed.length === 0 && saved.skipped.length === 0) return null;
  const named = changed.slice(0, 3).map((change) => change.path);
  return `it changed just now (${named.join(", ") || "something no checkpoint covers"})`;
}

/** See `Reclaiming.mendRemoval`. The index is as it was when the removal began, for git removes the folder before its entry. */
export async function mendRemoval(
  main: RepoGit,
  worktree: string,
  open: (path: string) => Promise<RepoGit | null>,
): Promise<boolean> {
  const state = await worktreeState(worktree, main.repo.common_dir);
  if (state === "unregistered" && !(await relinkWorktree(main, worktree))) return false;
  if (state !== "present" && state !== "unregistered") return false;
  const workspace = await open(worktree);
  if (workspace === null) return false;
  const gone = await workspace.run(["ls-files", "-z", "--deleted"]);
  if (gone.bytes.length === 0) return state === "unregistered";
  // Without -f: a file that is there again is somebody's.
  await workspace.run(["checkout-index", "-q", "-u", "-z", "--stdin"], { input: gone.bytes, ok: [0, 1, 128] });
  return true;
}

/**
 * Frees checkpoints all of whose files are elsewhere: their hidden refs go, the content stays. Gives the ids of those that are
 * still there; each of them holds content that exists nowhere else, or is one to keep.
 */
export async function freeCheckpoints(git: RepoGit, input: CheckpointsToFree): Promise<readonly string[]> {
  const { left, free } = await sorted(git, input);
  const orders = free.map(({ ref, commit }) => `delete ${ref} ${commit}\n`).join("");
  if (orders !== "") await git.run(["update-ref", "--stdin"], { input: orders, config: ["core.fsync=reference"] });
  return left;
}

/** See `Reclaiming.checkpointsLeft`. */
export async function checkpointsLeft(git: RepoGit, input: CheckpointsToFree): Promise<readonly string[]> {
  return (await sorted(git, input)).left;
}

interface Sorted {
  /** Ids of checkpoints that stay. */
  readonly left: readonly string[];
  readonly free: readonly { readonly ref: string; readonly commit: string }[];
}

async function sorted(git: RepoGit, input: CheckpointsToFree): Promise<Sorted> {
  const stays = new Set(input.keep);
  const elsewhere = (await visibleOf(git, input.commits)).map((commit) => `^${commit}`);
  const left: string[] = [];
  const free: Sorted["free"][number][] = [];
  for (const { ref, commit } of await listRunRefs(git, input.run_id)) {
    const id = checkpointOf(ref);
    if (id === null) continue;
    if (stays.has(id) || (await holdsMore(git, commit, elsewhere))) left.push(id);
    else free.push({ ref, commit });
  }
  return { left, free };
}

/** What a person sees. A stash, a reflog or another hidden ref keeps nothing safe, since they go by themselves. */
const VISIBLE = ["--not", "--branches", "--tags", "--remotes"] as const;

/** Those of the commits that something visible holds. */
async function visibleOf(git: RepoGit, commits: readonly string[]): Promise<string[]> {
  const there = await existing(git, commits);
  if (there.length === 0) return [];
  const input = there.map((commit) => `${commit}\n`).join("");
  const hidden = new Set((await git.run(["rev-list", "--stdin", ...VISIBLE], { input })).text.split("\n"));
  return there.filter((commit) => !hidden.has(commit));
}

/** The commits that a checkpoint is made of. */
const OWN_COMMITS = 3;

/** Whether a checkpoint holds a file or a commit that is not elsewhere. Its own commits, its trees and its description are nobody's work. */
async function holdsMore(git: RepoGit, commit: string, elsewhere: readonly string[]): Promise<boolean> {
  // Aggressive: else only the trees right below the checkpoint are looked at, and what was committed later seems to be nowhere.
  const listed = await git.run(["rev-list", "--objects-edge-aggressive", "--stdin", ...VISIBLE], {
    input: [commit, ...elsewhere].map((line) => `${line}\n`).join(""),
    ok: [0, 128],
  });
  if (listed.code !== 0) return true;
  const meta = await readMeta(git, commit);
  if (meta === null) return true;
  // Without an operation under way its files are pointers (ORIG_HEAD): the commits that they name are looked at as commits.
  const own = new Set(meta.operation === null ? meta.state.map(([, oid]) => oid) : []);
  const objects = listed.text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("-") && !line.endsWith(` ${META_NAME}`));
  const ids = objects.map((line) => line.split(" ")[0] ?? "").filter((oid) => !own.has(oid));
  const input = ids.map((oid) => `${oid}\n`).join("");
  if (input === "") return false;
  const types = (await git.run(["cat-file", "--batch-check=%(objecttype)"], { input })).text.split("\n");
  return (
    types.some((type) => type !== "commit" && type !== "tree") || types.filter((type) => type === "commit").length > OWN_COMMITS
  );
}
