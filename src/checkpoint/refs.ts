import { LoopkeeperError } from "../run/errors.ts";
import type { RepoGit } from "./repo-git.ts";

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_-]*$/;

/** Hidden refs keep a checkpoint's objects from garbage collection; they are in no branch list and no default push. */
function runRefs(runId: string): string {
  if (!NAME.test(runId)) throw new LoopkeeperError("bad_input", "A run id has letters, digits, _ and - only.");
  return `refs/loopkeeper/runs/${runId}`;
}

export function checkpointRef(runId: string, id: string): string {
  if (!NAME.test(id)) throw new LoopkeeperError("bad_input", "A checkpoint id has letters, digits, _ and - only.");
  return `${runRefs(runId)}/${id}`;
}

/** Where a checkpoint stands while it is written into a bundle: the bundle knows it by this name. */
export function outgoingRef(runId: string, id: string): string {
  return checkpointRef(runId, id).replace("refs/loopkeeper/runs/", "refs/loopkeeper/out/");
}

/** Where it stands after it was read from a bundle, until it has its place; `id` may be empty or a star. */
export function incomingRef(runId: string, id: string): string {
  return `${runRefs(runId).replace("refs/loopkeeper/runs/", "refs/loopkeeper/in/")}/${id}`;
}

/** The checkpoint that a hidden ref of a run is; null for one that keeps commits which were left behind. */
export function checkpointOf(ref: string): string | null {
  const name = ref.slice(ref.lastIndexOf("/") + 1);
  return name.startsWith("cp_") ? name : null;
}

/** Every hidden ref of a run with its commit. */
export function listRunRefs(git: RepoGit, runId: string): Promise<{ ref: string; commit: string }[]> {
  return listRefs(git, `${runRefs(runId)}/`);
}

/** Refs below a folder, which ends with a slash. */
export async function listRefs(git: RepoGit, folder: string): Promise<{ ref: string; commit: string }[]> {
  const listed = await git.run(["for-each-ref", "--format=%(objectname) %(refname)", folder]);
  return listed.text.split("\n").flatMap((line) => {
    const [commit, ref] = line.split(" ");
    return commit && ref ? [{ ref, commit }] : [];
  });
}

/** The next free `left-<n>` of a run, for commits that a moved branch leaves behind. */
export async function nextLeftRef(git: RepoGit, runId: string): Promise<string> {
  const taken = new Set((await listRunRefs(git, runId)).map((item) => item.ref));
  for (let n = 1; ; n += 1) {
    const ref = `${runRefs(runId)}/left-${n}`;
    if (!taken.has(ref)) return ref;
  }
}

/**
 * Packs loose refs, since every git command of the person reads them one by one. Where git can, only the hidden ones; an older
 * git packs all of them, as its own `git gc` does: no ref changes its value.
 */
export function refPacker(): (git: RepoGit) => Promise<void> {
  let tooOld = false;
  return async (git) => {
    if (!tooOld) {
      const own = await git.run(["pack-refs", "--include", "refs/loopkeeper/*"], { ok: [0, 129] });
      tooOld = own.code === 129;
    }
    if (tooOld) await git.run(["pack-refs", "--all"]);
  };
}
