import { mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import { GitFailure } from "./git.ts";
import { exists, findCommonDir, findGitDir } from "./git-dir.ts";
import { commitOf, fullBranch } from "./head.ts";
import type { RepoGit } from "./repo-git.ts";

/** Makes a worktree at `path` on the new branch `branch` from `base`. Hooks of the repository do not run. */
export async function addWorktree(
  git: RepoGit,
  input: { readonly path: string; readonly branch: string; readonly base: string },
): Promise<void> {
  const ref = fullBranch(input.branch);
  const short = ref.replace(/^refs\/heads\//, "");
  if ((await git.run(["check-ref-format", ref], { ok: [0, 1] })).code !== 0)
    throw problem(`${input.branch} is no valid branch name.`);
  if ((await commitOf(git, ref)) !== null) throw problem(`The branch ${short} exists already. Choose another branch name.`);
  const base = await commitOf(git, input.base);
  if (base === null)
    throw problem(
      `${input.base} names no commit of ${git.repo.top}. Give a branch, a tag or a commit; a repository without commits needs a first one.`,
    );
  await refuseOccupied(input.path);
  await add(git, ["--no-track", "-b", short, "--", input.path, base]);
}

/** Makes a worktree again whose folder is gone, or that git no longer knows. Files of a folder that is there are left as they are. */
export async function rebuildWorktree(
  git: RepoGit,
  input: { readonly path: string; readonly branch: string | null; readonly head: string },
): Promise<void> {
  if ((await commitOf(git, input.head)) === null)
    throw problem(`The commit ${input.head} is not in ${git.repo.top}. Fetch it first.`);
  const state = await worktreeState(input.path);
  if (state === "present") throw problem(`${input.path} is a working tree already.`);
  await forgetEntry(git, input.path);
  const target = await targetOf(git, input);
  if (state === "missing") await add(git, [...target.options, "--", input.path, target.commitish]);
  else await adopt(git, input.path, target);
}

export async function worktreeState(path: string): Promise<"present" | "missing" | "unregistered"> {
  if (!(await exists(path))) return "missing";
  const gitDir = await findGitDir(path).catch(() => null);
  if (gitDir === null || !(await exists(join(gitDir, "HEAD")))) return "unregistered";
  if ((await findCommonDir(gitDir).catch(() => null)) === null) return "unregistered";
  // A linked worktree's entry names its folder; an entry that names another one belongs to that.
  const back = await readFile(join(gitDir, "gitdir"), "utf8").catch(() => null);
  if (back === null) return "present";
  const [named, own] = await Promise.all([realOf(resolve(gitDir, back.trim())), realOf(join(path, ".git"))]);
  return named === own ? "present" : "unregistered";
}

interface Target {
  readonly options: readonly string[];
  readonly commitish: string;
}

/** The branch as it is, the branch made anew at `head`, or no branch. */
async function targetOf(git: RepoGit, input: { readonly branch: string | null; readonly head: string }): Promise<Target> {
  if (input.branch === null) return { options: ["--detach"], commitish: input.head };
  const ref = fullBranch(input.branch);
  const short = ref.replace(/^refs\/heads\//, "");
  if ((await commitOf(git, ref)) !== null) return { options: [], commitish: short };
  return { options: ["--no-track", "-b", short], commitish: input.head };
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

/** Removes the one entry of the repository's worktree list that names this folder; others, and their state, stay. */
async function forgetEntry(git: RepoGit, path: string): Promise<void> {
  const entries = join(git.repo.common_dir, "worktrees");
  const wanted = await realOf(join(path, ".git"));
  for (const name of await readdir(entries).catch(() => [])) {
    const named = await readFile(join(entries, name, "gitdir"), "utf8").catch(() => null);
    if (named === null || (await realOf(resolve(entries, name, named.trim()))) !== wanted) continue;
    await keepDetachedHead(git, join(entries, name));
    await rm(join(entries, name), { recursive: true, force: true });
  }
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

/** The real path as far as it exists, for comparing with names of folders that may be gone. */
async function realOf(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  if (real !== null) return real;
  const up = dirname(path);
  return up === path ? path : join(await realOf(up), basename(path));
}

function problem(message: string): LoopkeeperError {
  return new LoopkeeperError("repository_problem", message);
}
