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

/** Every hidden ref of a run with its commit. */
export async function listRunRefs(git: RepoGit, runId: string): Promise<{ ref: string; commit: string }[]> {
  const listed = await git.run(["for-each-ref", "--format=%(objectname) %(refname)", `${runRefs(runId)}/`]);
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
