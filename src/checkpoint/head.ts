import { refInFiles, type Standing, standInFiles } from "./ref-files.ts";
import type { RepoGit } from "./repo-git.ts";

/** Where a working tree stands. */
export interface HeadState {
  readonly head: string | null;
  /** Full ref name, or null when detached. */
  readonly branch: string | null;
  /** Commit of the remote-tracking ref of the branch, or null. */
  readonly upstream: string | null;
}

export async function readHead(git: RepoGit): Promise<HeadState> {
  const { head, branch } = await readStand(git);
  const upstream = branch === null ? null : await trackingOf(git, branch);
  return { head, branch, upstream };
}

/** Commit and branch of HEAD. */
export async function readStand(git: RepoGit): Promise<Standing> {
  const stand = await standInFiles(git.repo, git.config);
  if (stand !== undefined) return stand;
  const [head, branch] = await Promise.all([commitByGit(git, "HEAD"), branchByGit(git)]);
  return { head, branch };
}

export async function readBranch(git: RepoGit): Promise<string | null> {
  return (await readStand(git)).branch;
}

async function branchByGit(git: RepoGit): Promise<string | null> {
  const answer = await git.run(["symbolic-ref", "-q", "HEAD"], { ok: [0, 1, 128] });
  return answer.code === 0 ? answer.text : null;
}

/** The commit of a revision, or null. */
export async function commitOf(git: RepoGit, revision: string): Promise<string | null> {
  if (revision === "HEAD") return (await readStand(git)).head;
  const commit = await refInFiles(git.repo, git.config, revision);
  return commit === undefined ? commitByGit(git, revision) : commit;
}

async function commitByGit(git: RepoGit, revision: string): Promise<string | null> {
  const answer = await git.run(["rev-parse", "-q", "--verify", "--end-of-options", `${revision}^{commit}`], { ok: [0, 1, 128] });
  return answer.code === 0 && answer.text !== "" ? answer.text : null;
}

/** As `commitOf` for several revisions of ours, with one git process. */
export async function commitsOf(git: RepoGit, revisions: readonly string[]): Promise<(string | null)[]> {
  if (revisions.length === 0) return [];
  const input = revisions.map((revision) => `${revision}^{commit}\n`).join("");
  const lines = (await git.run(["cat-file", "--batch-check"], { input })).text.split("\n");
  return revisions.map((_revision, n) => /^([0-9a-f]{40,64}) commit \d+$/.exec(lines[n] ?? "")?.[1] ?? null);
}

/** The last known commit of a branch at the run's remote. */
export async function trackingOf(git: RepoGit, branch: string): Promise<string | null> {
  const { remote_name } = git.repo;
  if (remote_name === null) return null;
  return commitOf(git, `refs/remotes/${remote_name}/${branch.replace(/^refs\/heads\//, "")}`);
}

/** A branch name in full: callers may keep the short one. */
export function fullBranch(name: string): string {
  return name.startsWith("refs/") ? name : `refs/heads/${name}`;
}

/** A HEAD that names a branch which was deleted would make the next commit a first one, without any history. */
export async function reviveBranch(
  git: RepoGit,
  stand: { readonly head: string | null; readonly branch: string | null },
): Promise<boolean> {
  const { head, branch } = stand;
  if (head === null || branch === null || (await readBranch(git)) !== branch) return false;
  if ((await commitOf(git, branch)) !== null || (await commitOf(git, head)) === null) return false;
  // Created only where there is none: somebody may have made it in between.
  await git.run(["update-ref", "-m", "loopkeeper: the branch was deleted", branch, head, "0".repeat(head.length)]);
  return true;
}
