import { realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import type { Repository } from "./checkpoint.ts";
import { type Git, GitFailure } from "./git.ts";
import type { GitConfig, ReadConfig } from "./git-config.ts";
import { exists, findCommonDir, findGitDir, looksLikeGitDir } from "./git-dir.ts";
import { operationOf } from "./op-state.ts";
import { type Standing, standInFiles } from "./ref-files.ts";
import { normaliseRemote, withoutCredentials } from "./remote-url.ts";

export interface Discovery {
  readonly git: Git;
  readonly home: string;
  readonly roots: FindRoot;
  readonly config: ReadConfig;
  readonly facts: FindFacts;
}

/** Finds the working tree that holds `path` and reads where it stands. The walk is ours: git would obey a planted core.worktree. */
export async function discoverRepository({ git, home, roots, config, facts }: Discovery, path: string): Promise<Repository> {
  const { top, git_dir } = await findTop(path);
  await refuseUnsafe(top, home);
  const common_dir = await findCommonDir(git_dir).catch(() => {
    throw problem(
      `The git directory of ${top} names a common directory that is not there. Repair the worktree first (git worktree repair).`,
    );
  });
  const ask = asker(git, top, git_dir);
  const settings = await config({ top, git_dir, common_dir }).catch((error: unknown) => {
    throw error instanceof GitFailure ? unreadable(top) : error;
  });
  const { object_format, ...remote } = await facts(ask, settings, top);
  if (git_dir === common_dir && settings.isTrue("core.bare")) throw bare(top);
  const { head, branch } = (await standInFiles({ git_dir, common_dir }, settings)) ?? (await standByGit(ask));
  const operation = await operationOf(git_dir);
  // In a shallow clone the first commit is not there to be found.
  const shallow = await exists(join(common_dir, "shallow"));
  const root_commit = shallow ? null : await roots(head, common_dir, ask);
  return { top, git_dir, common_dir, object_format, head, branch, root_commit, ...remote, operation };
}

async function standByGit(ask: Ask): Promise<Standing> {
  const [head, branch] = [await ask(["rev-parse", "-q", "--verify", "HEAD^{commit}"]), await ask(["symbolic-ref", "-q", "HEAD"])];
  return { head: head === "" ? null : head, branch: branch === "" ? null : branch };
}

/** Finds the first commit below a HEAD; null when there is none. A long history is walked once per HEAD. */
export type FindRoot = (head: string | null, commonDir: string, ask: Ask) => Promise<string | null>;

export function rememberRoots(): FindRoot {
  const known = new Map<string, string>();
  return async (head, commonDir, ask) => {
    if (head === null) return null;
    const key = `${commonDir} ${head}`;
    const root = known.get(key) ?? (await ask(["rev-list", "--max-parents=0", "--first-parent", head])).split("\n").at(-1) ?? "";
    if (root !== "") known.set(key, root);
    return root === "" ? null : root;
  };
}

/** Runs a question: what git said before it had no answer any more (exit 1 or 128). */
export type Ask = (args: readonly string[]) => Promise<string>;

function asker(git: Git, top: string, gitDir: string): Ask {
  return async (args) => (await git(args, { cwd: top, env: { GIT_DIR: gitDir, GIT_WORK_TREE: top }, ok: [0, 1, 2, 128] })).text;
}

async function findTop(path: string): Promise<{ top: string; git_dir: string }> {
  const start = await realpath(path).catch(() => null);
  if (start === null) throw problem(`There is no folder ${path}. Give the path of a git working tree.`);
  let top = (await stat(start)).isDirectory() ? start : dirname(start);
  for (;;) {
    const git_dir = await findGitDir(top);
    if (git_dir !== null && (await looksLikeGitDir(git_dir))) return { top, git_dir };
    if (await looksLikeGitDir(top)) throw bare(top);
    const up = dirname(top);
    if (up === top)
      throw problem(`${path} is in no git repository. Give the path of a git working tree, or run git init there first.`);
    top = up;
  }
}

async function refuseUnsafe(top: string, home: string): Promise<void> {
  const homeReal = await realpath(home).catch(() => home);
  const what =
    top === "/"
      ? "the root folder"
      : top === homeReal
        ? "the home folder"
        : homeReal.startsWith(`${top}/`)
          ? "a folder that holds the home folder"
          : null;
  if (what !== null) throw problem(`${top} is ${what}: a run there could touch everything. Give a repository of one project.`);
}

type Facts = Pick<Repository, "object_format" | "remote" | "remote_name" | "remote_url">;
export type FindFacts = (ask: Ask, config: GitConfig, top: string) => Promise<Facts>;

/** Asks git once per configuration that it gave: the same one has the same answers. */
export function rememberFacts(): FindFacts {
  const known = new WeakMap<GitConfig, Facts>();
  return async (ask, config, top) => {
    const facts = known.get(config) ?? { object_format: await readFormat(ask, top), ...(await readRemote(ask, config)) };
    known.set(config, facts);
    return facts;
  };
}

async function readFormat(ask: Ask, top: string): Promise<Facts["object_format"]> {
  const format = await ask(["rev-parse", "--show-object-format"]);
  if (format !== "sha1" && format !== "sha256") throw unreadable(top);
  return format;
}

function unreadable(top: string): LoopkeeperError {
  return problem(
    `The git on this machine cannot read the repository ${top} (an unknown format or extension, such as reftable). Use a newer git.`,
  );
}

/** `origin`, else the only remote. Its URL is rewritten by the user's `insteadOf` before it is normalised. */
async function readRemote(ask: Ask, { settings }: GitConfig): Promise<Omit<Facts, "object_format">> {
  const names = [...new Set(settings.flatMap(({ key }) => /^remote\.(.*)\.url$/s.exec(key)?.[1] ?? []))];
  const remote_name = names.includes("origin") ? "origin" : names.length === 1 ? (names[0] ?? null) : null;
  const url = remote_name === null ? "" : await ask(["ls-remote", "--get-url", "--", remote_name]);
  if (url === "") return { remote_name: null, remote_url: null, remote: null };
  return { remote_name, remote_url: withoutCredentials(url), remote: normaliseRemote(url) };
}

function bare(folder: string): LoopkeeperError {
  return problem(`${folder} is a bare repository or a git directory, not a working tree. Give the path of a working tree.`);
}

function problem(message: string): LoopkeeperError {
  return new LoopkeeperError("repository_problem", message);
}
