import { lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, dirname, join } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import { newToken } from "../run/id.ts";
import type { Rebuilt } from "./drift-shapes.ts";
import { GitFailure } from "./git.ts";
import { exists, findGitDir } from "./git-dir.ts";
import { commitOf, fullBranch } from "./head.ts";
import type { RepoGit } from "./repo-git.ts";
import { entryFor, realOf, worktreeState } from "./worktree-state.ts";

/** Makes a worktree at `path` on the new branch `branch` from `base`. Hooks of the repository do not run. */
export async function addWorktree(
  git: RepoGit,
  input: { readonly path: string; readonly branch: string; readonly base: string; readonly again?: boolean },
): Promise<void> {
  const ref = fullBranch(input.branch);
  const short = ref.replace(/^refs\/heads\//, "");
  const base = await commitOf(git, input.base);
  const left = input.again === true && base !== null && (await commitOf(git, ref)) === base;
  const wrong = left ? null : await branchProblem(git, short);
  if (wrong !== null) throw problem(wrong);
  if (base === null)
    throw problem(
      `${input.base} names no commit of ${git.repo.top}. Give a branch, a tag or a commit; a repository without commits needs a first one.`,
    );
  if (input.again === true) await setAside(git, input.path);
  await refuseOccupied(input.path);
  if (left) await add(git, ["--", input.path, short]);
  else await add(git, ["--no-track", "-b", short, "--", input.path, base]);
}

/** Why no new branch of this name can be made, and what to do instead; null when it can. */
export async function branchProblem(git: RepoGit, short: string): Promise<string | null> {
  const ref = `refs/heads/${short}`;
  // HEAD is a name that git takes for a branch and understands as something else ever after.
  if (short === "HEAD" || (await git.run(["check-ref-format", ref], { ok: [0, 1] })).code !== 0)
    return `"${short}" is no valid branch name. Choose another one, or leave it out to get a new one.`;
  if ((await commitOf(git, ref)) !== null)
    return `branch "${short}" exists already. Choose another branch, or leave it out to get a new one.`;
  const parts = short.split("/");
  const above = parts.slice(1).map((_part, n) => `refs/heads/${parts.slice(0, n + 1).join("/")}`);
  const listed = await git.run(["for-each-ref", "--format=%(refname)", `${ref}/`, ...above]);
  const clash = listed.text.split("\n").find((other) => other.startsWith(`${ref}/`) || above.includes(other));
  if (clash === undefined) return null;
  return `branch "${short}" cannot be made beside "${clash.replace(/^refs\/heads\//, "")}": git keeps branches as files in folders. Give \`branch\` another name.`;
}

/** What a broken-off try left: its entry is forgotten, and its folder keeps its bytes under another name. */
async function setAside(git: RepoGit, path: string): Promise<void> {
  await forgetEntry(git, path);
  if (await exists(path)) await rename(path, `${path}.left-${newToken().slice(0, 8)}`);
}

/** Makes a worktree again whose folder is gone, or that git no longer knows. Files of a folder that is there are left as they are. */
export async function rebuildWorktree(
  git: RepoGit,
  input: { readonly path: string; readonly branch: string | null; readonly head: string },
): Promise<Rebuilt> {
  if ((await commitOf(git, input.head)) === null)
    throw problem(`The commit ${input.head} is not in ${git.repo.top}. Fetch it first.`);
  const state = await worktreeState(input.path, git.repo.common_dir);
  if (state === "present") throw problem(`${input.path} is a working tree already.`);
  if (state === "occupied") throw problem(occupiedText(input.path));
  if (state === "unfinished") return { how: "made", told: [] };
  if (state === "unregistered" && (await relinkWorktree(git, input.path))) return { how: "linked", told: [] };
  const locked = await forgetEntry(git, input.path);
  const target = await targetOf(git, input);
  if (state === "missing") await add(git, ["--no-checkout", ...target.options, "--", input.path, target.commitish]);
  else await adopt(git, input.path, target);
  if (locked !== null) await lockAgain(input.path, locked);
  return { how: state === "missing" ? "made" : "registered", told: target.told };
}

export function occupiedText(path: string): string {
  return `${path} is where the run's worktree belongs, and something else stands there now (a file, a link, another repository or a folder of unknown origin). Nothing there was touched. Move it away, then call again: the worktree is rebuilt from its checkpoint.`;
}

interface Target {
  readonly options: readonly string[];
  readonly commitish: string;
  readonly told: readonly string[];
}

/** The branch where it stands at `head`, the branch made anew there, or no branch: a branch that moved or is in use elsewhere stays as it is. */
async function targetOf(git: RepoGit, input: { readonly branch: string | null; readonly head: string }): Promise<Target> {
  const detached = (told: readonly string[]): Target => ({ options: ["--detach"], commitish: input.head, told });
  if (input.branch === null) return detached([]);
  const ref = fullBranch(input.branch);
  const short = ref.replace(/^refs\/heads\//, "");
  const tip = await commitOf(git, ref);
  const at = `a detached HEAD at ${input.head.slice(0, 12)}`;
  if (tip === null)
    return {
      options: ["--no-track", "-b", short],
      commitish: input.head,
      told: [`Branch ${short} had been deleted; it was made again at ${input.head.slice(0, 12)}.`],
    };
  const elsewhere = await checkedOutAt(git, ref);
  if (elsewhere !== null) return detached([`Branch ${short} is checked out in ${elsewhere} now; the worktree stands on ${at}.`]);
  if (tip !== input.head)
    return detached([
      `Branch ${short} was moved to ${tip.slice(0, 12)} meanwhile and stays there; the worktree stands on ${at}.`,
    ]);
  return { options: [], commitish: short, told: [] };
}

/** The working tree that has a branch checked out, or null. */
async function checkedOutAt(git: RepoGit, ref: string): Promise<string | null> {
  const listed = await git.run(["worktree", "list", "--porcelain"]);
  const block = listed.text.split("\n\n").find((part) => part.split("\n").includes(`branch ${ref}`));
  return block === undefined ? null : (/^worktree (.+)$/m.exec(block)?.[1] ?? "another worktree");
}

async function add(git: RepoGit, args: readonly string[]): Promise<void> {
  try {
    await git.run(["worktree", "add", ...args], { config: [`checkout.workers=${availableParallelism()}`] });
  } catch (error) {
    if (!(error instanceof GitFailure) || error.code !== null) throw error;
    throw new LoopkeeperError("repository_problem", `git could not make the worktree: ${reasonOf(error)}`, { cause: error });
  }
}

/** Only fixed phrases: git's own text may hold anything that the repository holds. */
function reasonOf(error: GitFailure): string {
  const known = [
    [/already (checked out|used by worktree)/, "the branch is checked out in another worktree."],
    [/a branch named .* already exists/, "the branch exists already. Choose another branch name."],
    [/already exists/, "the folder is there already and is not empty."],
    [
      /cannot lock ref|unable to resolve reference/,
      "the branch name clashes with another branch, or another git process holds it. Choose another branch name or try again.",
    ],
    [
      /missing but already registered|missing but locked/,
      "git has a locked entry of an earlier worktree for this folder. Remove it with git worktree prune.",
    ],
  ] as const;
  return (
    known.find(([pattern]) => pattern.test(error.stderr))?.[1] ?? "look at the repository with git worktree list and git fsck."
  );
}

async function refuseOccupied(path: string): Promise<void> {
  const names = await readdir(path).catch(() => null);
  if (names === null ? await exists(path) : names.length > 0)
    throw problem(`${path} is there already and is not an empty folder. Choose another place.`);
}

/** Removes the one entry of the repository's worktree list that names this folder; others, and their state, stay. Gives its lock's reason. */
async function forgetEntry(git: RepoGit, path: string): Promise<string | null> {
  const entry = await entryFor(git.repo.common_dir, path);
  if (entry === null) return null;
  await keepDetachedHead(git, entry);
  const locked = await readFile(join(entry, "locked"), "utf8").catch(() => null);
  await rm(entry, { recursive: true, force: true });
  return locked;
}

/** A worktree that its owner locked stays locked. */
async function lockAgain(path: string, reason: string): Promise<void> {
  const gitDir = await findGitDir(path);
  if (gitDir !== null) await writeFile(join(gitDir, "locked"), reason);
}

/** After the repository was moved, a worktree's entry is whole and only its folder's `.git` names the old place. */
export async function relinkWorktree(git: RepoGit, path: string): Promise<boolean> {
  const entry = await entryFor(git.repo.common_dir, path);
  if (entry === null || !(await exists(join(entry, "HEAD"))) || !(await exists(join(entry, "index")))) return false;
  const dotGit = join(path, ".git");
  const info = await lstat(dotGit).catch(() => null);
  if (info !== null && !info.isFile()) return false;
  await writeFile(`${dotGit}.new`, `gitdir: ${entry}\n`);
  await rename(`${dotGit}.new`, dotGit);
  return true;
}

/** The entry's HEAD may be all that holds a commit: a hidden ref takes its place. */
async function keepDetachedHead(git: RepoGit, entry: string): Promise<void> {
  const head = (await readFile(join(entry, "HEAD"), "utf8").catch(() => "")).trim();
  if (!/^[0-9a-f]{40,64}$/.test(head) || (await commitOf(git, head)) === null) return;
  await git.run(["update-ref", `refs/loopkeeper/kept/${head}`, head]);
}

/** Registers a folder that has files already: a worktree is made beside it, and its registration moved over. */
async function adopt(git: RepoGit, path: string, target: Target): Promise<void> {
  const dotGit = join(path, ".git");
  if ((await stat(dotGit).catch(() => null))?.isDirectory())
    throw problem(`${path} holds a repository of its own. Move it away first.`);
  const beside = await mkdtemp(join(dirname(path), ".loopkeeper-"));
  const made = join(beside, basename(path));
  try {
    await mkdir(beside, { recursive: true });
    await add(git, ["--no-checkout", ...target.options, "--", made, target.commitish]);
    const gitDir = await findGitDir(made);
    if (gitDir === null) throw problem(`git made no worktree at ${made}.`);
    await writeFile(join(gitDir, "gitdir"), `${await realOf(dotGit)}\n`);
    await rename(join(made, ".git"), dotGit);
    await rmdir(made);
    await git.run(["read-tree", "HEAD"], { env: { GIT_DIR: gitDir, GIT_WORK_TREE: path } });
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
}

function problem(message: string): LoopkeeperError {
  return new LoopkeeperError("repository_problem", message);
}
