import { realpath, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import type { Repository } from "./checkpoint.ts";
import type { Git } from "./git.ts";
import { findCommonDir, findGitDir, looksLikeGitDir } from "./git-dir.ts";
import { operationOf } from "./op-state.ts";
import { normaliseRemote, withoutCredentials } from "./remote-url.ts";

/** Finds the working tree that holds `path` and reads where it stands. The walk is ours: git would obey a planted core.worktree. */
export async function discoverRepository(git: Git, home: string, path: string): Promise<Repository> {
  const { top, git_dir } = await findTop(path);
  await refuseUnsafe(top, home);
  const common_dir = await findCommonDir(git_dir).catch(() => {
    throw problem(
      `The git directory of ${top} names a common directory that is not there. Repair the worktree first (git worktree repair).`,
    );
  });
  const ask = asker(git, top, git_dir);
  const object_format = await readFormat(ask, top);
  if (git_dir === common_dir && (await ask(["config", "--get", "--type=bool", "core.bare"])) === "true") throw bare(top);
  const [head, branch, operation, remote] = await Promise.all([
    ask(["rev-parse", "-q", "--verify", "HEAD^{commit}"]),
    ask(["symbolic-ref", "-q", "HEAD"]),
    operationOf(git_dir),
    readRemote(ask),
  ]);
  const root_commit = await readRoot(ask, head);
  return { top, git_dir, common_dir, object_format, head, branch, root_commit, ...remote, operation };
}

type Ask = (args: readonly string[]) => Promise<string | null>;

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
  if (top === "/" || top === homeReal) {
    throw problem(
      `${top} is ${top === "/" ? "the root folder" : "the home folder"}: a run there could touch everything. Give a repository of one project.`,
    );
  }
}

async function readFormat(ask: Ask, top: string): Promise<"sha1" | "sha256"> {
  const format = await ask(["rev-parse", "--show-object-format"]);
  if (format === "sha1" || format === "sha256") return format;
  throw problem(
    `The git on this machine cannot read the repository ${top} (an unknown format or extension, such as reftable). Use a newer git.`,
  );
}

type RemoteFacts = Pick<Repository, "remote" | "remote_name" | "remote_url">;

/** `origin`, else the only remote. Its URL is rewritten by the user's `insteadOf` before it is normalised. */
async function readRemote(ask: Ask): Promise<RemoteFacts> {
  const names = (await ask(["remote"]))?.split("\n") ?? [];
  const remote_name = names.includes("origin") ? "origin" : names.length === 1 ? (names[0] ?? null) : null;
  const url = remote_name === null ? null : await ask(["ls-remote", "--get-url", "--", remote_name]);
  if (url === null) return { remote_name: null, remote_url: null, remote: null };
  return { remote_name, remote_url: withoutCredentials(url), remote: normaliseRemote(url) };
}

/** The first commit of the first-parent line; null when there is none, or history is cut off (shallow) and it cannot be known. */
async function readRoot(ask: Ask, head: string | null): Promise<string | null> {
  if (head === null || (await ask(["rev-parse", "--is-shallow-repository"])) !== "false") return null;
  return (await ask(["rev-list", "--max-parents=0", "--first-parent", head]))?.split("\n").at(-1) ?? null;
}

function bare(folder: string): LoopkeeperError {
  return problem(`${folder} is a bare repository or a git directory, not a working tree. Give the path of a working tree.`);
}

function problem(message: string): LoopkeeperError {
  return new LoopkeeperError("repository_problem", message);
}
