import type { Captured, Checkpoints, Repository } from "../checkpoint/checkpoint.ts";
import type { RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { fence } from "./fence.ts";
import { emptyTree, ownersOf, type PathOwner } from "./owners.ts";
import type { Owned } from "./ownership.ts";

const LISTED_FILES = 60;

/**
 * The passage of a first prompt that says what the working tree holds before the engine touches it, and whose each dirty
 * file is: an engine that does not know takes a person's edits for its own, or throws its own work away.
 */
export async function repositoryState(
  deps: {
    readonly store: Pick<Store, "runsOfRepository" | "checkpoint">;
    readonly checkpoints: Pick<Checkpoints, "contentAt" | "diffSummary">;
  },
  input: { readonly run: RunRecord; readonly repo: Repository; readonly captured: Captured; readonly owned: Owned },
): Promise<string> {
  const { captured, repo, run } = input;
  const where = `Branch ${captured.branch?.replace("refs/heads/", "") ?? "(detached)"} at ${captured.head ?? "(no commit yet)"}.`;
  const diff = await deps.checkpoints.diffSummary(repo, captured.head ?? emptyTree(repo), captured.commit, LISTED_FILES);
  if (diff.total_files === 0) return `REPOSITORY STATE\n${where} The working tree is clean.`;
  const owners = await ownersOf(deps, {
    run,
    repo,
    tree: captured.tree,
    owned: input.owned,
    paths: diff.files.map((file) => file.path),
  });
  const lines = diff.files.map((file) => `${file.status} ${file.path} - ${ownerWords(owners.get(file.path), run)}`);
  if (diff.total_files > diff.files.length) lines.push(`and ${diff.total_files - diff.files.length} more files`);
  return [
    "REPOSITORY STATE",
    `${where} ${diff.total_files} files differ from the last commit (+${diff.added} -${diff.removed}):`,
    fence("files that are not committed", lines.join("\n")),
    "Keep what is not yours as it is: do not revert, stash, commit or delete it unless the owner told you to.",
  ].join("\n");
}

function ownerWords(owner: PathOwner | undefined, run: RunRecord): string {
  switch (owner?.kind) {
    case "this_run":
      return "yours: this run left it so";
    case "other_run":
      return owner.run_id === run.predecessor_run_id
        ? `left by the predecessor run ${owner.run_id}`
        : `left by another run, ${owner.run_id}; you did not create this state`;
    default:
      return "of unknown origin; you did not create this state";
  }
}
