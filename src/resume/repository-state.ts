import type { Captured, Checkpoints, Repository } from "../checkpoint/checkpoint.ts";
import { redact } from "../redact/redact.ts";
import type { RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";
import { fence } from "./fence.ts";
import { emptyTree, ownersOf, type PathOwner } from "./owners.ts";
import type { Owned } from "./ownership.ts";
import { oneLine, shownName } from "./shown.ts";

const LISTED_FILES = 60;

/**
 * The passage of a first prompt that says what the working tree holds before the engine touches it, and whose each dirty
 * file is: an engine that does not know takes a person's edits for its own, or throws its own work away.
 */
export async function repositoryState(
  deps: {
    readonly store: Pick<Store, "runsOfRepository" | "checkpoint" | "runArtifacts">;
    readonly checkpoints: Pick<Checkpoints, "contentAt" | "diffSummary">;
  },
  input: { readonly run: RunRecord; readonly repo: Repository; readonly captured: Captured; readonly owned: Owned },
): Promise<string> {
  const { captured, repo, run } = input;
  const branch = captured.branch === null ? null : oneLine(captured.branch.replace("refs/heads/", ""), 200);
  const at = captured.head ?? "(no commit yet)";
  // Anybody can name a branch as he likes; one with a plain name is told in the sentence.
  const plain = branch === null || /^[\w./-]{1,100}$/u.test(branch);
  const where = plain
    ? `Branch ${branch ?? "(detached)"} at ${at}.`
    : `HEAD is at ${at}, on this branch:\n${fence("branch", branch)}\n`;
  const diff = await deps.checkpoints.diffSummary(repo, captured.head ?? emptyTree(repo), captured.commit, LISTED_FILES);
  if (diff.total_files === 0) return `REPOSITORY STATE\n${where} The working tree is clean.`;
  const owners = await ownersOf(deps, {
    run,
    repo,
    tree: captured.tree,
    owned: input.owned,
    paths: diff.files.map((file) => file.path),
  });
  const lines = diff.files.map((file) => `${file.status} ${shownName(file.path)} - ${ownerWords(owners.get(file.path), run)}`);
  if (diff.total_files > diff.files.length) lines.push(`and ${diff.total_files - diff.files.length} more files`);
  return redact(
    [
      "REPOSITORY STATE",
      `${where} ${diff.total_files} files differ from the last commit (+${diff.added} -${diff.removed}):`,
      fence("files that are not committed", lines.join("\n")),
      "Keep what is not yours as it is: do not revert, stash, commit or delete it unless the owner told you to.",
    ].join("\n"),
  );
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
