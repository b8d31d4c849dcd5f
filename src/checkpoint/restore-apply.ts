import { rm } from "node:fs/promises";
import { join } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import { captureLocked } from "./capture.ts";
import type { Captured, OwnedPath, RestorePlan, RestoreResult } from "./checkpoint.ts";
import { composeTree, differingFrom, dropComposed, notAsMeant } from "./compose.ts";
import { type EntryChange, rewriteIndex } from "./index-entries.ts";
import { withIndexLock } from "./index-lock.ts";
import { withPrivateLock } from "./lock.ts";
import { moveBranch, moveHead } from "./move-head.ts";
import { switchOperation } from "./operation-move.ts";
import { placeFiles } from "./place-files.ts";
import type { RepoGit } from "./repo-git.ts";
import { indexChanges, operationEntries } from "./restore-index.ts";
import { type Planned, planLocked } from "./restore-plan.ts";
import { dropForced, isIgnoreFile, type Snapshot } from "./snapshot.ts";
import { dropStage, stageFiles } from "./stage-files.ts";
import { contentsAt, sameContent } from "./tree.ts";
import { sidesOf } from "./write-sides.ts";

export interface ApplyInput {
  readonly run_id: string;
  readonly plan: RestorePlan;
  readonly paths: readonly OwnedPath[];
  readonly entries?: readonly OwnedPath[];
  readonly safety_id: string;
  readonly checkpoint?: string;
  readonly own_operation?: boolean;
  readonly overwrite?: readonly string[];
  readonly onSafety?: (safety: Captured) => Promise<void>;
}

/**
 * Looks again, saves everything under the safety checkpoint, makes all that is to be written, then puts only the plan's
 * paths in place. Until the first write a refusal leaves all as it was; after it, the safety checkpoint holds what was there.
 */
export async function applyRestore(git: RepoGit, input: ApplyInput): Promise<RestoreResult> {
  return withIndexLock(git, (held) =>
    withPrivateLock(git.private_dir, async () => {
      const planned = await lookAgain(git, input);
      const { plan } = planned;
      const wanted = new Set([...plan.restore, ...plan.remove]);
      const going = input.paths.filter(({ path }) => wanted.has(path));
      const { captured: safety, snapshot } = await saveSafety(git, input, planned);
      const fresh = join(git.private_dir, "index.new");
      try {
        const composed = await composeTree(git, snapshot.tree, going);
        const staged = await stageFiles(
          git,
          composed.index,
          going,
          await sidesOf(git, going, planned.metas, input.checkpoint ?? null),
        );
        const changes = new Map<string, EntryChange>([
          ...indexChanges(planned, input.entries ?? [], new Set(input.overwrite ?? [])),
          ...(await operationEntries(git, planned)),
        ]);
        if (changes.size > 0 && !(await rewriteIndex(git, fresh, changes))) throw moved("the index");
        await input.onSafety?.(safety);
        const placements = going.map(({ path }) => ({
          path,
          present: planned.present.get(path) ?? null,
          staged: staged.get(path) ?? null,
        }));
        await placeFiles(git, placements, snapshot.sidecar);
        const left_behind = await moveHead(git, input.run_id, plan.head);
        if (changes.size > 0) await held.replace(fresh);
        if (plan.operation !== null && planned.target !== null) {
          await moveBranch(git, plan.operation.branch);
          await switchOperation(git, planned.target);
        }
        const names = going.map(({ path }) => path);
        const differing = await differingFrom(git, composed.tree, { paths: names, rules_changed: names.some(isIgnoreFile) });
        const wrong = differing.filter((path) => wanted.has(path));
        if (wrong.length > 0) throw notAsMeant(wrong, safety.id);
        return {
          restored: plan.restore,
          removed: plan.remove,
          kept: [...plan.conflicts, ...plan.uncovered].sort(),
          safety,
          left_behind,
          entries: [...changes.keys()],
          changed_meanwhile: differing,
        };
      } finally {
        await rm(fresh, { force: true });
        await dropStage(git);
        await dropComposed(git);
        await dropForced(git);
      }
    }),
  );
}

/** Plans once more; what the plan was to overwrite is what it lists, so an equal view gives an equal fingerprint. */
async function lookAgain(git: RepoGit, input: ApplyInput): Promise<Planned> {
  const { plan, run_id, paths } = input;
  const planned = await planLocked(git, {
    run_id,
    paths,
    entries: input.entries ?? [],
    overwrite: [...plan.restore, ...plan.remove],
    head: plan.head,
    ...(input.checkpoint === undefined ? {} : { checkpoint: input.checkpoint }),
    own_operation: input.own_operation === true,
  });
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

function moved(what: string): LoopkeeperError {
  return new LoopkeeperError(
    "repository_problem",
    `The working tree moved since the preview (${what}). Nothing was changed. Ask for a new preview.`,
  );
}
