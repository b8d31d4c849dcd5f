import { lstat, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { exists } from "./git-dir.ts";
import { commitOf, fullBranch } from "./head.ts";
import type { Holdings, ReclaimQuestion } from "./holdings.ts";
import { operationOf } from "./op-state.ts";
import { absolute, splitNul, textOfPath } from "./path-text.ts";
import { listRunRefs } from "./refs.ts";
import type { RepoGit } from "./repo-git.ts";
import { entryFor } from "./worktree-state.ts";

/** Folders that tools make again from what is tracked: nothing in them exists nowhere else. */
const MADE_AGAIN = /(^|\/)(node_modules|__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache)\//u;
/** The first bytes of a CACHEDIR.TAG: whoever made the folder says that all in it can be made again (cargo, uv, pytest, ...). */
const CACHE_SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55";
const LISTED = 200;

/** What of a run exists nowhere else. `workspace` is null when its folder is gone. */
export async function holdingsOf(main: RepoGit, workspace: RepoGit | null, question: ReclaimQuestion): Promise<Holdings> {
  const tips = await tipsOf(main, workspace, question);
  return {
    ...(workspace === null ? NOTHING_THERE : await inTheTree(main, workspace)),
    fixed: await isFixed(main, question.worktree),
    commits: await unsafeCommits(main, tips, question),
    stashes: await stashesOf(main, question, tips),
  };
}

const NOTHING_THERE = { uncommitted: [], ignored: [], nested: [], operation: null, locked: false } as const;

async function inTheTree(main: RepoGit, git: RepoGit): Promise<Omit<Holdings, "commits" | "stashes" | "fixed">> {
  // With the user's own index: what git itself calls dirty. Edits that a flag hides from it are seen when the tree is saved once more.
  const listed = await git.run(["status", "--porcelain=v1", "-z", "-uall", "--ignored=matching", "--no-renames"]);
  const uncommitted: string[] = [];
  const ignored: string[] = [];
  for (const item of splitNul(listed.bytes)) {
    const path = textOfPath(item.subarray(3));
    if (item.toString("latin1", 0, 2) !== "!!") uncommitted.push(path);
    else if (!(await isMadeAgain(git, path)) && !(await isCopy(main, git, path))) ignored.push(path);
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

async function isFixed(main: RepoGit, worktree: string | null): Promise<boolean> {
  const entry = worktree === null ? null : await entryFor(main.repo.common_dir, worktree);
  return entry !== null && (await exists(join(entry, "locked")));
}

async function isMadeAgain(git: RepoGit, path: string): Promise<boolean> {
  if (MADE_AGAIN.test(path)) return true;
  if (!path.endsWith("/")) return false;
  try {
    const tag = `${absolute(git.repo.top, path).toString()}CACHEDIR.TAG`;
    if (!(await lstat(tag)).isFile()) return false;
    const file = await open(tag, "r");
    try {
      const start = Buffer.alloc(CACHE_SIGNATURE.length);
      await file.read(start, 0, start.length, 0);
      return start.toString("latin1") === CACHE_SIGNATURE;
    } finally {
      await file.close();
    }
  } catch {
    return false;
  }
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

/** Every commit that may be held by nothing but what would go: the run's own, its branches, and what its worktree's git directory names. */
async function tipsOf(main: RepoGit, workspace: RepoGit | null, question: ReclaimQuestion): Promise<readonly string[]> {
  const left = (await listRunRefs(main, question.run_id)).filter((item) => item.ref.includes("/left-"));
  const tips = [...question.commits, ...left.map((item) => item.commit)];
  for (const branch of question.branches) tips.push((await commitOf(main, fullBranch(branch))) ?? "");
  // In place the HEAD and its reflog are the person's, and nothing of them goes.
  const entry = question.worktree === null ? null : await entryFor(main.repo.common_dir, question.worktree);
  if (entry !== null) tips.push(...(await namedByEntry(entry)));
  if (workspace !== null) {
    tips.push((await commitOf(workspace, "HEAD")) ?? "");
    // Refs of one worktree go with it: a bisect's, a rebase's, and those that somebody made under refs/worktree.
    const own = ["refs/worktree", "refs/bisect", "refs/rewritten"];
    if (question.worktree !== null)
      tips.push(...(await workspace.run(["for-each-ref", "--format=%(objectname)", ...own])).text.split("\n"));
  }
  return existing(main, tips);
}

/** HEAD, ORIG_HEAD and the reflog of HEAD, from the files of a worktree's git directory: its folder may be gone. */
async function namedByEntry(entry: string): Promise<string[]> {
  const files = ["HEAD", "ORIG_HEAD", join("logs", "HEAD")];
  const texts = await Promise.all(files.map((name) => readFile(join(entry, name), "utf8").catch(() => "")));
  return texts.flatMap((text) =>
    text.split("\n").flatMap((line) => line.split("\t")[0]?.match(/\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b/g) ?? []),
  );
}

/** Commits that no branch or remote holds but the run's own. Its first start is where it began, whatever was resumed since. */
async function unsafeCommits(main: RepoGit, tips: readonly string[], question: ReclaimQuestion): Promise<Holdings["commits"]> {
  if (tips.length === 0) return [];
  const own = new Set(question.branches.map(fullBranch));
  const refs = (await main.run(["for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"])).text.split("\n");
  const safe = refs.filter((ref) => ref !== "" && !own.has(ref));
  const not = await existing(main, [...question.merged, ...(question.base === null ? [] : [question.base])]);
  const input = [...tips, ...[...safe, ...not].map((ref) => `^${ref}`)].map((line) => `${line}\n`).join("");
  const listed = await main.run(["log", "--format=%H%x09%s", `--max-count=${LISTED}`, "--stdin"], { input });
  return listed.text.split("\n").flatMap((line) => {
    const tab = line.indexOf("\t");
    return tab < 0 ? [] : [{ sha: line.slice(0, tab), subject: line.slice(tab + 1) }];
  });
}

/** Those of the ids that are commits here. */
export async function existing(git: RepoGit, commits: readonly string[]): Promise<string[]> {
  const wanted = [...new Set(commits)].filter((commit) => /^[0-9a-f]+$/.test(commit) && !/^0+$/.test(commit));
  if (wanted.length === 0) return [];
  const checked = await git.run(["cat-file", "--batch-check"], { input: `${wanted.join("\n")}\n` });
  return checked.text.split("\n").flatMap((line) => (line.includes(" commit ") ? [line.split(" ")[0] ?? ""] : []));
}

/** Stashes that say in their subject on which branch they were made, or that stand on a commit of the run. */
async function stashesOf(git: RepoGit, question: ReclaimQuestion, tips: readonly string[]): Promise<string[]> {
  const listed = await git.run(["stash", "list", "--format=%gd%x09%P%x09%gs"], { ok: [0, 1, 128] });
  const names = question.branches.map((branch) => branch.replace(/^refs\/heads\//u, ""));
  const own = new Set(tips.filter((commit) => commit !== question.base));
  return listed.text.split("\n").flatMap((line) => {
    const [name = "", parents = "", subject = ""] = line.split("\t");
    const made = names.some((branch) => subject.includes(` ${branch}: `)) || subject.includes("(no branch): ");
    return made || own.has(parents.split(" ")[0] ?? "") ? [`${name} ${subject}`] : [];
  });
}
