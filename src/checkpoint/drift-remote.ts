import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Drift } from "./drift-shapes.ts";
import { exists } from "./git-dir.ts";
import { commitOf, trackingOf } from "./head.ts";
import { readMeta } from "./meta.ts";
import { quotedPath, type RepoGit } from "./repo-git.ts";

/** Asks the remote for refs; null when it was not asked or gave no answer. */
export type AskRemote = (url: string, refs: readonly string[]) => Promise<string | null>;

/** What the remote said, or said at an earlier look. */
export interface RemoteView {
  /** Lines of `ls-remote`, for handing on to a later look. */
  readonly text: string;
  readonly refs: ReadonlyMap<string, string>;
}

/** One question for the run's branch and the branches it may be merged into; null without a remote or an answer. */
export async function viewRemote(
  git: RepoGit,
  branch: string | null,
  bases: readonly string[],
  ask: AskRemote,
): Promise<RemoteView | null> {
  const { remote_name } = git.repo;
  if (branch === null || remote_name === null) return null;
  const url = (await git.run(["ls-remote", "--get-url", "--", remote_name])).text;
  const wanted = [await remoteRefOf(git, branch, bases), ...bases.map((base) => `refs/heads/${base}`)];
  const text = await ask(url, wanted);
  if (text === null) return null;
  const refs = text.split("\n").flatMap((line) => {
    const [sha = "", ref = ""] = line.split("\t");
    return /^[0-9a-f]{40,64}$/.test(sha) && wanted.includes(ref) ? [[ref, sha] as const] : [];
  });
  return { text: refs.map(([ref, sha]) => `${sha}\t${ref}`).join("\n"), refs: new Map(refs) };
}

/**
 * The same repository, seeing also the commits of a remote that is a folder of this machine: they can be read where they are,
 * without a fetch. Of any other remote only ids are known.
 */
export async function withRemoteObjects(git: RepoGit): Promise<RepoGit> {
  const { remote_name } = git.repo;
  if (remote_name === null) return git;
  const url = (await git.run(["ls-remote", "--get-url", "--", remote_name])).text;
  const path = url.startsWith("file://") ? fileURLToPath(url) : /^[^:]*(\/|$)/.test(url) ? resolve(git.repo.top, url) : null;
  if (path === null) return git;
  for (const objects of [join(path, "objects"), join(path, ".git", "objects")]) {
    if (!(await exists(objects))) continue;
    const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: quotedPath(objects) };
    return { ...git, run: (args, call = {}) => git.run(args, { ...call, env: { ...env, ...call.env } }) };
  }
  return git;
}

/** The branch's name at the remote: the same, unless it was pushed under another one. A base that it merely follows does not count. */
async function remoteRefOf(git: RepoGit, branch: string, bases: readonly string[]): Promise<string> {
  if ((await trackingOf(git, branch)) !== null) return branch;
  const listed = await git.run(["for-each-ref", "--format=%(upstream:remotename)%00%(upstream:remoteref)", branch]);
  const [remote, ref] = listed.text.split("\0");
  const follows = ref?.startsWith("refs/heads/") === true && remote === git.repo.remote_name;
  return follows && !bases.includes(ref.slice("refs/heads/".length)) ? ref : branch;
}

/** Where the remote's branch was at the stop and is now. */
export async function remoteMove(
  git: RepoGit,
  branch: string,
  bases: readonly string[],
  checkpoint: string,
  view: RemoteView,
): Promise<Drift["branch"]["remote"]> {
  const ref = await remoteRefOf(git, branch, bases);
  const to = view.refs.get(ref) ?? null;
  const meta = await readMeta(git, checkpoint);
  const known = meta !== null && meta.branch === branch ? meta.upstream : null;
  const from = known ?? (await trackingOf(git, ref));
  return { from, to, deleted: from !== null && to === null };
}

/** How the remote's branch moved, as far as its commits are here: `ls-remote` tells ids alone, and nothing is fetched. */
export async function remoteGrowth(git: RepoGit, move: NonNullable<Drift["branch"]["remote"]>): Promise<Drift["remote_growth"]> {
  if (move.to === null || move.from === move.to) return null;
  if ((await commitOf(git, move.to)) === null) return { commits: null, rewritten: null };
  if (move.from === null) return { commits: null, rewritten: null };
  const count = async (from: string, to: string) => Number((await git.run(["rev-list", "--count", to, "--not", from])).text);
  return { commits: await count(move.from, move.to), rewritten: (await count(move.to, move.from)) > 0 };
}
