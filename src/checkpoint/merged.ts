import { commitOf, fullBranch } from "./head.ts";
import type { RepoGit } from "./repo-git.ts";

export interface Merge {
  readonly into: string;
  /** The commit of the base branch that brought the work in. */
  readonly sha: string;
  /** `merge`, `fast_forward`, `rebase` (each commit has an equal patch) or `squash` (one commit with the whole patch or tree). */
  readonly how: string;
}

const MAX_BASE_COMMITS = 200;

export interface MergeQuestion {
  /** Short names of branches that it may have been merged into. */
  readonly bases: readonly string[];
  readonly tip: string | null;
  readonly own: readonly string[];
  /** Where the remote's refs stand, when it was asked. */
  readonly remote?: ReadonlyMap<string, string> | undefined;
}

/** Whether the run's commits are in a base branch by now: here, at the last fetch, or where the remote stands if that commit is here. */
export async function findMerge(git: RepoGit, question: MergeQuestion): Promise<Merge | null> {
  const { tip, own, remote } = question;
  // Without commits of its own a branch is always contained in its base.
  if (tip === null || own.length === 0) return null;
  const seen = new Set<string>();
  for (const base of question.bases) {
    const tracking = git.repo.remote_name === null ? [] : [`refs/remotes/${git.repo.remote_name}/${base}`];
    const told = remote?.get(`refs/heads/${base}`);
    for (const ref of [fullBranch(base), ...tracking, ...(told === undefined ? [] : [told])]) {
      const head = await commitOf(git, ref);
      if (head === null || seen.has(head)) continue;
      seen.add(head);
      const found = (await byAncestry(git, tip, head)) ?? (await byContent(git, tip, head));
      if (found !== null) return { into: ref === told ? base : ref.replace(/^refs\/(heads|remotes)\//, ""), ...found };
    }
  }
  return null;
}

type Found = { readonly sha: string; readonly how: string } | null;

async function byAncestry(git: RepoGit, tip: string, head: string): Promise<Found> {
  if ((await git.run(["merge-base", "--is-ancestor", tip, head], { ok: [0, 1, 128] })).code !== 0) return null;
  if (tip === head) return { sha: head, how: "fast_forward" };
  const line = (await git.run(["rev-list", "--first-parent", head, "--not", tip])).text.split("\n");
  const entry = line.filter((sha) => sha !== "").at(-1) ?? head;
  const parents = (await git.run(["rev-list", "--parents", "-n", "1", entry])).text.split(" ").slice(1);
  return parents.length > 1 && parents[0] !== tip ? { sha: entry, how: "merge" } : { sha: tip, how: "fast_forward" };
}

async function byContent(git: RepoGit, tip: string, head: string): Promise<Found> {
  const fork = await git.run(["merge-base", tip, head], { ok: [0, 1, 128] });
  if (fork.code !== 0 || fork.text === tip) return null;
  const cherry = (await git.run(["cherry", head, tip])).text.split("\n");
  if (cherry.every((line) => line.startsWith("- "))) return { sha: head, how: "rebase" };
  const tree = (await git.run(["rev-parse", `${tip}^{tree}`])).text;
  const listed = await git.run(["log", "-n", String(MAX_BASE_COMMITS), "--no-merges", "--format=%H %T", `${fork.text}..${head}`]);
  const commits = listed.text.split("\n").flatMap((line) => {
    const [sha, its] = line.split(" ");
    return sha && its ? [{ sha, tree: its }] : [];
  });
  const same = commits.find((commit) => commit.tree === tree);
  if (same !== undefined) return { sha: same.sha, how: "squash" };
  const whole = await patchId(git, [fork.text, tip]);
  for (const { sha } of commits)
    if (whole !== null && (await patchId(git, [`${sha}^`, sha])) === whole) return { sha, how: "squash" };
  return null;
}

const MAX_PATCH_BYTES = 20_000_000;

async function patchId(git: RepoGit, ends: readonly string[]): Promise<string | null> {
  const args = ["diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", "--no-color", ...ends];
  const patch = await git.run(args, { ok: [0, 128], max_bytes: MAX_PATCH_BYTES });
  if (patch.cut || patch.bytes.length === 0) return null;
  return (await git.run(["patch-id", "--stable"], { input: patch.bytes })).text.split(" ")[0] ?? null;
}
