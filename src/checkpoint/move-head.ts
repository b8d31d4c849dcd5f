import type { HeadMove, OperationMove, RestoreResult } from "./checkpoint.ts";
import { readBranch } from "./head.ts";
import { nextLeftRef } from "./refs.ts";
import type { RepoGit } from "./repo-git.ts";

const MESSAGE = ["-m", "loopkeeper: reset"];

/**
 * Puts the branch (or a detached HEAD) back; what it leaves behind keeps a hidden ref. Refs change in one transaction, refused
 * when one of them moved meanwhile; switching the branch comes after it.
 */
export async function moveHead(git: RepoGit, runId: string, head: HeadMove | null): Promise<RestoreResult["left_behind"]> {
  if (head === null) return null;
  const ref = await nextLeftRef(git, runId);
  const lines = head.from === null ? [] : [`create ${ref} ${head.from}`];
  const branch = head.branch === undefined ? await readBranch(git) : head.branch.to;
  const stands = head.branch === undefined ? head.from : head.branch.tip;
  if (branch !== null && stands !== head.to) lines.push(change(branch, stands, head.to));
  if (branch === null && head.to !== null)
    lines.push("option no-deref", `update HEAD ${head.to}${head.from === null ? "" : ` ${head.from}`}`);
  // The commits of a branch that is gone back to may be held by nothing else.
  if (head.branch !== undefined && stands !== null && stands !== head.to && stands !== head.from)
    lines.unshift(`create ${ref}-branch ${stands}`);
  await git.run(["update-ref", ...MESSAGE, "--stdin"], { input: lines.map((line) => `${line}\n`).join("") });
  if (head.branch !== undefined && branch !== null) await git.run(["symbolic-ref", ...MESSAGE, "HEAD", branch]);
  return head.from === null ? null : { ref, commit: head.from };
}

/** Puts the branch that a rebase works on where the rebase began; HEAD has left it by then. */
export async function moveBranch(git: RepoGit, branch: OperationMove["branch"]): Promise<void> {
  if (branch === null || branch.from === branch.to) return;
  await git.run(["update-ref", ...MESSAGE, "--stdin"], { input: `${change(branch.ref, branch.from, branch.to)}\n` });
}

function change(ref: string, from: string | null, to: string | null): string {
  if (to === null) return `delete ${ref} ${from ?? ""}`;
  return from === null ? `create ${ref} ${to}` : `update ${ref} ${to} ${from}`;
}
