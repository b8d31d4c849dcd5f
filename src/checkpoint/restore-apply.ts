import { rm } from "node:fs/promises";
import { join } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import { captureLocked } from "./capture.ts";
import type { OwnedPath, RestorePlan, RestoreResult } from "./checkpoint.ts";
import { checkOut, composeTree, verifyTree } from "./compose.ts";
import { readBranch } from "./head.ts";
import { rewriteIndex } from "./index-entries.ts";
import { withIndexLock } from "./index-lock.ts";
import { withPrivateLock } from "./lock.ts";
import { nextLeftRef } from "./refs.ts";
import type { RepoGit } from "./repo-git.ts";
import { indexChanges } from "./restore-index.ts";
import { type Planned, planLocked } from "./restore-plan.ts";
import { dropForced, isIgnoreFile, type Snapshot } from "./snapshot.ts";
import { contentsAt, sameContent } from "./tree.ts";
import { putSides, sidesOf } from "./write-sides.ts";

export interface ApplyInput {
  readonly run_id: string;
  readonly plan: RestorePlan;
  readonly paths: readonly OwnedPath[];
  readonly safety_id: string;
  readonly checkpoint?: string;
}

/**
 * Looks again, saves everything under the safety checkpoint, then puts only the plan's paths in place. Until the first
 * write a refusal leaves all as it was; after it, the safety checkpoint holds what was there.
 */
export async function applyRestore(git: RepoGit, input: ApplyInput): Promise<RestoreResult> {
  return withIndexLock(git, (held) =>
    withPrivateLock(git.private_dir, async () => {
      const planned = await lookAgain(git, input);
      const { plan } = planned;
      const going = input.paths.filter(({ path }) => plan.restore.includes(path) || plan.remove.includes(path));
      const { captured: safety, snapshot } = await saveSafety(git, input, planned);
      const composed = await composeTree(git, snapshot.tree, going);
      const sides = await sidesOf(git, going, planned.metas, input.checkpoint ?? null);
      const changes = await indexChanges(git, going, planned, input.checkpoint ?? null);
      const fresh = join(git.private_dir, "index.new");
      if (changes.size > 0 && !(await rewriteIndex(git, fresh, changes))) throw moved("the index");
      try {
        if (going.length > 0) await checkOut(git, snapshot.index, composed);
        await putSides(git, sides);
        const left_behind = await moveHead(git, input.run_id, plan.head);
        if (changes.size > 0) await held.replace(fresh);
        const names = going.map(({ path }) => path);
        await verifyTree(git, composed, { paths: names, rules_changed: names.some(isIgnoreFile), safety_id: safety.id });
        return {
          restored: plan.restore,
          removed: plan.remove,
          kept: [...plan.conflicts, ...plan.uncovered].sort(),
          safety,
          left_behind,
        };
      } finally {
        await rm(fresh, { force: true });
        await dropForced(git);
      }
    }),
  );
}

/** Plans once more; what the plan was to overwrite is what it lists, so an equal view gives an equal fingerprint. */
async function lookAgain(git: RepoGit, input: ApplyInput): Promise<Planned> {
  const { plan } = input;
  const head =
    plan.head === null || plan.head.from === null || plan.head.to === null ? null : { from: plan.head.from, to: plan.head.to };
  const overwrite = [...plan.restore, ...plan.remove];
  const planned = await planLocked(git, { run_id: input.run_id, paths: input.paths, overwrite, head });
  if (planned.plan.fingerprint !== plan.fingerprint) throw moved("a path, the index or HEAD");
  return planned;
}

/** The safety checkpoint holds every path of the plan, whatever its size and whether ignored or not. */
async function saveSafety(git: RepoGit, input: ApplyInput, planned: Planned) {
  const names = input.paths.map(({ path }) => path);
  const saved = await captureLocked(git, { run_id: input.run_id, id: input.safety_id, kind: "reset", force: names });
  await refuseNewer(git, saved.snapshot, names, planned);
  return saved;
}

async function refuseNewer(git: RepoGit, snapshot: Snapshot, names: readonly string[], planned: Planned): Promise<void> {
  const contents = await contentsAt(git, snapshot.tree, names);
  const newer = names.find((path, n) => !sameContent(contents[n] ?? null, planned.present.get(path) ?? null));
  if (newer !== undefined) throw moved(newer);
}

/** Puts the branch (or a detached HEAD) back; what it leaves behind keeps a hidden ref. One transaction, refused if HEAD moved. */
async function moveHead(git: RepoGit, runId: string, head: RestorePlan["head"]): Promise<RestoreResult["left_behind"]> {
  if (head === null || head.from === null || head.to === null) return null;
  const ref = await nextLeftRef(git, runId);
  const branch = await readBranch(git);
  const move =
    branch === null ? `option no-deref\nupdate HEAD ${head.to} ${head.from}\n` : `update ${branch} ${head.to} ${head.from}\n`;
  await git.run(["update-ref", "-m", "loopkeeper: reset", "--stdin"], { input: `create ${ref} ${head.from}\n${move}` });
  return { ref, commit: head.from };
}

function moved(what: string): LoopkeeperError {
  return new LoopkeeperError(
    "repository_problem",
    `The working tree moved since the preview (${what}). Nothing was changed. Ask for a new preview.`,
  );
}
