import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import { newCheckpointId } from "../run/id.ts";
import { captureLocked, probeLocked } from "./capture.ts";
import type { Captured } from "./checkpoint.ts";
import { checkOut, verifyTree } from "./compose.ts";
import type { WholeInput } from "./drift-shapes.ts";
import { commitOf } from "./head.ts";
import { indexInfo, stagesOf } from "./index-entries.ts";
import { copyIndex } from "./index-file.ts";
import { withIndexLock } from "./index-lock.ts";
import { withPrivateLock } from "./lock.ts";
import { type Meta, readMeta } from "./meta.ts";
import { operationOf, STATE_NAMES } from "./op-state.ts";
import { switchOperation } from "./operation-move.ts";
import { absolute, joinNul, parentsOf } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";
import { isFree } from "./restore-plan.ts";
import { dropForced } from "./snapshot.ts";
import { changedBetween, emptyTree } from "./tree.ts";
import { zeroOid } from "./user-index.ts";
import { putSides, sidesIn } from "./write-sides.ts";

/**
 * Makes a new or rebuilt worktree as a checkpoint saw it: files, index, HEAD and an operation under way. Gives the
 * checkpoint of what was there before, or null when nothing was.
 */
export async function restoreWhole(git: RepoGit, input: WholeInput): Promise<Captured | null> {
  if (git.repo.git_dir === git.repo.common_dir)
    throw problem(`${git.repo.top} is the main working tree. A whole restore needs a worktree of its own.`);
  const meta = await readMeta(git, input.commit);
  if (meta === null) throw problem("The checkpoint's objects are gone from this repository. Choose another checkpoint.");
  if ((await operationOf(git.repo.git_dir)) !== null)
    throw problem(`A git operation is under way in ${git.repo.top}. Finish or abort it first.`);
  return withIndexLock(git, (held) =>
    withPrivateLock(git.private_dir, async () => {
      const { index, tree, safety } =
        input.keep_files === true
          ? { ...(await probeLocked(git)), safety: null }
          : { ...(await saveWhatIsThere(git, input.run_id, meta)), tree: meta.tree };
      if (input.keep_files !== true) {
        await checkOut(git, index, meta.tree);
        await putSides(git, sidesIn(meta));
      }
      await settleHead(git, meta);
      const fresh = join(git.private_dir, "index.new");
      await buildIndex(git, index, fresh, meta);
      await held.replace(fresh);
      await switchOperation(git, meta, STATE_NAMES);
      await dropForced(git);
      await verifyTree(git, tree, safety?.id ?? meta.id);
      return safety;
    }),
  );
}

/** In a worktree that is not as HEAD has it, everything present is saved first; also what is ignored and in the way. Gives the index that matches the files. */
async function saveWhatIsThere(
  git: RepoGit,
  runId: string,
  meta: Meta,
): Promise<{ readonly index: string; readonly safety: Captured | null }> {
  const present = await probeLocked(git);
  const head = await commitOf(git, "HEAD");
  const empty = emptyTree(git.repo.object_format);
  const clean = head === null ? empty : (await git.run(["rev-parse", `${head}^{tree}`])).text;
  const force = await inTheWay(git, present.tree, meta.tree);
  if ([clean, empty].includes(present.tree) && force.length === 0) return { index: present.index, safety: null };
  const { captured, snapshot } = await captureLocked(git, { run_id: runId, id: newCheckpointId(), kind: "reset", force });
  return { index: snapshot.index, safety: captured };
}

/** Files on disk that the present tree does not cover, where the target wants one: git would overwrite them in silence. */
async function inTheWay(git: RepoGit, present: string, target: string): Promise<string[]> {
  const found = new Set<string>();
  for (const change of await changedBetween(git, present, target)) {
    if (change.from !== null) continue;
    for (const path of [...parentsOf(change.path), change.path]) {
      const info = await lstat(absolute(git.repo.top, path)).catch(() => null);
      if (info === null) break;
      if (info.isDirectory()) continue;
      found.add(path);
      break;
    }
  }
  const covered = new Set((await changedBetween(git, emptyTree(git.repo.object_format), present)).map((change) => change.path));
  return [...found].filter((path) => !covered.has(path));
}

/** A worktree at the right commit keeps its branch. A captured branch that moved since stays where it is, and HEAD is detached. */
async function settleHead(git: RepoGit, meta: Meta): Promise<void> {
  if (meta.head === null || (await commitOf(git, "HEAD")) === meta.head) return;
  const { branch } = meta;
  const message = ["-m", "loopkeeper: restore"];
  if (branch !== null && (await isFree(git, branch))) {
    const tip = await commitOf(git, branch);
    if (tip === null) await git.run(["update-ref", ...message, branch, meta.head, zeroOid(git)]);
    if (tip === null || tip === meta.head) {
      await git.run(["symbolic-ref", ...message, "HEAD", branch]);
      return;
    }
  }
  await git.run(["update-ref", "--no-deref", ...message, "HEAD", meta.head]);
}

/** The captured index on top of the files' stat data: entries, conflicts and flags. */
async function buildIndex(git: RepoGit, from: string, fresh: string, meta: Meta): Promise<void> {
  await rm(fresh, { force: true });
  await copyIndex(from, fresh);
  await git.run(["read-tree", "--reset", "--no-sparse-checkout", meta.index_tree], { index: fresh });
  const conflicts = stagesOf(meta);
  if (conflicts.size > 0)
    await git.run(["update-index", "-z", "--index-info"], { index: fresh, input: indexInfo(git, conflicts) });
  const flagged = (which: "assume" | "skip" | "intent") =>
    joinNul(meta.flags.filter((flag) => flag[which]).map((flag) => flag.path));
  const set = async (args: readonly string[], input: Buffer): Promise<void> => {
    if (input.length > 0) await git.run(args, { index: fresh, input });
  };
  await set(["add", "-N", "-f", "--pathspec-from-file=-", "--pathspec-file-nul"], flagged("intent"));
  await set(["update-index", "--skip-worktree", "-z", "--stdin"], flagged("skip"));
  await set(["update-index", "--assume-unchanged", "-z", "--stdin"], flagged("assume"));
}

function problem(message: string): LoopkeeperError {
  return new LoopkeeperError("repository_problem", message);
}
