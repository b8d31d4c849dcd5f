import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import type { Repository } from "./checkpoint.ts";
import type { Git } from "./git.ts";
import { findCommonDir, findGitDir, looksLikeGitDir } from "./git-dir.ts";
import { operationOf } from "./op-state.ts";
import { normaliseRemote, withoutCredentials } from "./remote-url.ts";

/** Finds the working tree that holds `path` and reads where it stands. The walk is ours: git would obey a planted core.worktree. */
export async function discoverRepository(git: Git, home: string, roots: FindRoot, path: string): Promise<Repository> {
  const { top, git_dir } = await findTop(path);
  await refuseUnsafe(top, home);
  const common_dir = await findCommonDir(git_dir).catch(() => {
    throw problem(
      `The git directory of ${top} names a common directory that is not there. Repair the worktree first (git worktree repair).`,
    );
  });
  const ask = asker(git, top, git_dir);
  const { object_format, shallow } = await readFormat(ask, top);
  const settings = await readSettings(ask);
  if (git_dir === common_dir && settings.bare) throw bare(top);
  const [head, branch, operation, remote] = await Promise.all([
    ask(["rev-parse", "-q", "--verify", "HEAD^{commit}"]),
    ask(["symbolic-ref", "-q", "HEAD"]),
    operationOf(git_dir),
    readRemote(ask, settings.remotes),
  ]);
  const root_commit = shallow ? null : await roots(head, common_dir, ask);
  return { top, git_dir, common_dir, object_format, head, branch, root_commit, ...remote, operation };
}

/** Finds the first commit below a HEAD; null when there is none. A long history is walked once per HEAD. */
export type FindRoot = (head: string | null, commonDir: string, ask: Ask) => Promise<string | null>;

export function rememberRoots(): FindRoot {
  const known = new Map<string, string>();
  return async (head, commonDir, ask) => {
    if (head === null) return null;
    const key = `${commonDir} ${head}`;
    const root =
      known.get(key) ?? (await ask(["rev-list", "--max-parents=0", "--first-parent", head]))?.split("\n").at(-1) ?? null;
    if (root !== null) known.set(key, root);
    return root;
  };
}

export type Ask = (args: readonly string[]) => Promise<string | null>;

/** Runs a question; null when git has no answer (exit 1 or 128). */
function asker(git: Git, top: string, gitDir: string): Ask {
  return async (args) => {
    const answer = await git(args, { cwd: top, env: { GIT_DIR: gitDir, GIT_WORK_TREE: top }, ok: [0, 1, 2, 128] });
    return answer.code === 0 && answer.text !== "" ? answer.text : null;
  };
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

async function readFormat(ask: Ask, top: string): Promise<{ object_format: "sha1" | "sha256"; shallow: boolean }> {
  const [object_format, shallow] =
    (await ask(["rev-parse", "--show-object-format", "--is-shallow-repository"]))?.split("\n") ?? [];
  // In a shallow clone the first commit is not there to be found.
  if (object_format === "sha1" || object_format === "sha256") return { object_format, shallow: shallow !== "false" };
  throw problem(
    `The git on this machine cannot read the repository ${top} (an unknown format or extension, such as reftable). Use a newer git.`,
  );
}

async function readSettings(ask: Ask): Promise<{ bare: boolean; remotes: readonly string[] }> {
  const lines = (await ask(["config", "--name-only", "--get-regexp", "^remote\\..*\\.url$"]))?.split("\n") ?? [];
  const remotes = lines.map((line) => line.slice("remote.".length, -".url".length));
  return { bare: (await ask(["config", "--get", "--type=bool", "core.bare"])) === "true", remotes: [...new Set(remotes)] };
}

type RemoteFacts = Pick<Repository, "remote" | "remote_name" | "remote_url">;

/** `origin`, else the only remote. Its URL is rewritten by the user's `insteadOf` before it is normalised. */
async function readRemote(ask: Ask, names: readonly string[]): Promise<RemoteFacts> {
  const remote_name = names.includes("origin") ? "origin" : names.length === 1 ? (names[0] ?? null) : null;
  const url = remote_name === null ? null : await ask(["ls-remote", "--get-url", "--", remote_name]);
  if (url === null) return { remote_name: null, remote_url: null, remote: null };
  return { remote_name, remote_url: withoutCredentials(url), remote: normaliseRemote(url) };
}

function bare(folder: string): LoopkeeperError {
  return problem(`${folder} is a bare repository or a git directory, not a working tree. Give the path of a working tree.`);
}

function problem(message: string): LoopkeeperError {
  return new LoopkeeperError("repository_problem", message);
}
