import { lstat, readFile } from "node:fs/promises";
import { capture } from "./capture.ts";
import { GitFailure } from "./git.ts";
import { exists } from "./git-dir.ts";
import { commitOf, fullBranch } from "./head.ts";
import type { Holdings, ReclaimQuestion } from "./holdings.ts";
import { readMeta } from "./meta.ts";
import { operationOf } from "./op-state.ts";
import { absolute, splitNul, textOfPath } from "./path-text.ts";
import { listRunRefs } from "./refs.ts";
import type { RepoGit } from "./repo-git.ts";
import { changedBetween } from "./tree.ts";

/** Folders that tools make again from what is tracked: nothing in them exists nowhere else. */
const MADE_AGAIN = /(^|\/)(node_modules|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache)\//u;
const LISTED = 200;

/** What of a run exists nowhere else. `workspace` is null when its folder is gone. */
export async function holdingsOf(main: RepoGit, workspace: RepoGit | null, question: ReclaimQuestion): Promise<Holdings> {
  return {
    ...(workspace === null ? NOTHING_THERE : await inTheTree(main, workspace)),
    commits: await unsafeCommits(main, workspace, question),
    stashes: await stashesOf(main, question.branches),
  };
}

const NOTHING_THERE = { uncommitted: [], ignored: [], nested: [], operation: null, locked: false } as const;

async function inTheTree(main: RepoGit, git: RepoGit): Promise<Omit<Holdings, "commits" | "stashes">> {
  // With the user's own index: what git itself calls dirty. Edits that a flag hides from it are seen when the tree is saved once more.
  const listed = await git.run(["status", "--porcelain=v1", "-z", "-uall", "--ignored=matching", "--no-renames"]);
  const uncommitted: string[] = [];
  const ignored: string[] = [];
  for (const item of splitNul(listed.bytes)) {
    const path = textOfPath(item.subarray(3));
    if (item.toString("latin1", 0, 2) !== "!!") uncommitted.push(path);
    else if (!MADE_AGAIN.test(path) && !(await isCopy(main, git, path))) ignored.push(path);
  }
  const links = await git.run(["ls-files", "-s", "-z"]);
  const nested = splitNul(links.bytes).flatMap((item) =>
    item.toString("latin1", 0, 6) === "160000" ? [textOfPath(item.subarray(item.indexOf(9) + 1))] : [],
  );
  return {
    uncommitted: uncommitted.slice(0, LISTED),
    ignored: ignored.slice(0, LISTED),
    nested,
    operation: await operationOf(git.repo.git_dir),
    locked: await exists(`${git.repo.git_dir}/index.lock`),
  };
}

/** A file that is the same in the repository's own working tree, as one that was copied from there. */
async function isCopy(main: RepoGit, git: RepoGit, path: string): Promise<boolean> {
  try {
    const [one, other] = [absolute(git.repo.top, path), absolute(main.repo.top, path)];
    if (main.repo.top === git.repo.top || !(await lstat(one)).isFile() || !(await lstat(other)).isFile()) return false;
    return (await readFile(one)).equals(await readFile(other));
  } catch {
    return false;
  }
}

/** Commits of the run that no branch or remote holds but its own. Its first start is where it began, whatever was resumed since. */
async function unsafeCommits(main: RepoGit, workspace: RepoGit | null, question: ReclaimQuestion): Promise<Holdings["commits"]> {
  const own = new Set(question.branches.map(fullBranch));
  const refs = (await main.run(["for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"])).text.split("\n");
  const safe = refs.filter((ref) => ref !== "" && !own.has(ref));
  const tips = [
    ...question.commits,
    ...(await listRunRefs(main, question.run_id)).filter((item) => item.ref.includes("/left-")).map((item) => item.commit),
  ];
  for (const branch of own) tips.push((await commitOf(main, branch)) ?? "");
  if (workspace !== null) tips.push((await commitOf(workspace, "HEAD")) ?? "");
  const there = await existing(main, tips);
  if (there.length === 0) return [];
  const not = await existing(main, [...question.merged, ...(question.base === null ? [] : [question.base])]);
  const input = [...there, ...[...safe, ...not].map((ref) => `^${ref}`)].map((line) => `${line}\n`).join("");
  const listed = await main.run(["log", "--format=%H%x09%s", `--max-count=${LISTED}`, "--stdin"], { input });
  return listed.text.split("\n").flatMap((line) => {
    const tab = line.indexOf("\t");
    return tab < 0 ? [] : [{ sha: line.slice(0, tab), subject: line.slice(tab + 1) }];
  });
}

async function existing(git: RepoGit, commits: readonly string[]): Promise<string[]> {
  const wanted = [...new Set(commits)].filter((commit) => commit !== "");
  if (wanted.length === 0) return [];
  const checked = await git.run(["cat-file", "--batch-check"], { input: `${wanted.join("\n")}\n` });
  return checked.text.split("\n").flatMap((line) => (line.includes(" commit ") ? [line.split(" ")[0] ?? ""] : []));
}

/** Stashes say in their subject on which branch they were made. */
async function stashesOf(git: RepoGit, branches: readonly string[]): Promise<string[]> {
  const listed = await git.run(["stash", "list", "--format=%gd%x09%gs"], { ok: [0, 1, 128] });
  const names = branches.map((branch) => branch.replace(/^refs\/heads\//u, ""));
  return listed.text
    .split("\n")
    .filter((line) => names.some((name) => line.includes(` ${name}: `) || line.includes("(no branch): ")));
}

/**
 * Removes a worktree that holds nothing but its commit. Everything is saved once more first; git itself looks again and refuses
 * what is not clean. Gives the reason when it was left as it is.
 */
export async function removeWorktree(
  main: RepoGit,
  workspace: RepoGit,
  input: { readonly run_id: string; readonly checkpoint_id: string },
): Promise<string | null> {
  const saved = await capture(workspace, { run_id: input.run_id, id: input.checkpoint_id, kind: "stop", thorough: true });
  const changed = saved.head === null ? [] : await changedBetween(workspace, `${saved.head}^{tree}`, saved.tree);
  if (saved.head === null || changed.length > 0 || saved.skipped.length > 0)
    return `it changed just now (${
      changed
        .slice(0, 3)
        .map((change) => change.path)
        .join(", ") || "something no checkpoint covers"
    })`;
  try {
    await main.run(["worktree", "remove", "--", workspace.repo.top]);
    return null;
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    return "git would not remove it without force: it is locked, or something in it changed just now";
  }
}

/**
 * Frees checkpoints that hold nothing but a commit which exists elsewhere: their hidden refs go, the commit stays. Gives the ids
 * of those that were freed; any other holds a state that exists nowhere else, and stays.
 */
export async function freeCheckpoints(git: RepoGit, runId: string, ids: readonly string[]): Promise<string[]> {
  const wanted = new Set(ids);
  const freed: string[] = [];
  let input = "";
  for (const { ref, commit } of await listRunRefs(git, runId)) {
    const id = ref.slice(ref.lastIndexOf("/") + 1);
    if (!wanted.has(id)) continue;
    const meta = await readMeta(git, commit);
    if (meta === null || meta.head === null || meta.files > 0 || meta.skipped.length > 0 || meta.state.length > 0) continue;
    const tree = (await git.run(["rev-parse", "-q", "--verify", `${meta.head}^{tree}`], { ok: [0, 1] })).text;
    if (tree !== meta.tree || tree !== meta.index_tree) continue;
    input += `delete ${ref} ${commit}\n`;
    freed.push(id);
  }
  if (freed.length > 0) await git.run(["update-ref", "--stdin"], { input });
  return freed;
}
