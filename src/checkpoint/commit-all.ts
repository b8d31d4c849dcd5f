import { rm } from "node:fs/promises";
import { join } from "node:path";
import { LoopkeeperError } from "../run/errors.ts";
import { probeLocked } from "./capture.ts";
import { commitOf } from "./head.ts";
import { copyIndex } from "./index-file.ts";
import { withIndexLock } from "./index-lock.ts";
import { withPrivateLock } from "./lock.ts";
import { operationOf } from "./op-state.ts";
import { joinNul } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";
import { emptyTree } from "./tree.ts";

/** Commits everything uncommitted where HEAD stands, with the user's identity if there is one. Null when there is nothing to commit. */
export async function commitAll(git: RepoGit, message: string): Promise<string | null> {
  const operation = await operationOf(git.repo.git_dir);
  if (operation !== null) {
    throw new LoopkeeperError(
      "repository_problem",
      `A ${operation} is under way in ${git.repo.top}: finish or abort it, then commit.`,
    );
  }
  return withIndexLock(git, (held) =>
    withPrivateLock(git.private_dir, async () => {
      const snapshot = await probeLocked(git);
      const head = await commitOf(git, "HEAD");
      const before = head === null ? emptyTree(git.repo.object_format) : (await git.run(["rev-parse", `${head}^{tree}`])).text;
      if (snapshot.tree === before) return null;
      const parents = head === null ? [] : ["-p", head];
      const env = identity(git);
      const commit = (await git.run(["commit-tree", snapshot.tree, ...parents, "-F", "-"], { input: message, env })).text;
      const fresh = join(git.private_dir, "index.new");
      await rm(fresh, { force: true });
      await copyIndex(snapshot.index, fresh);
      await keepFlags(git, fresh, snapshot.user.special);
      const subject = message.split("\n")[0] ?? "";
      await git.run(["update-ref", "-m", `commit: ${subject}`, "HEAD", commit, head ?? ""], { env });
      await held.replace(fresh);
      return commit;
    }),
  );
}

function identity(git: RepoGit): Record<string, string> {
  if (git.user === null) return {};
  const { name, email } = git.user;
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
}

interface Flagged {
  readonly path: string;
  readonly assume_unchanged: boolean;
}

async function keepFlags(git: RepoGit, index: string, special: readonly Flagged[]): Promise<void> {
  const paths = special.filter((entry) => entry.assume_unchanged).map((entry) => entry.path);
  // 128: a path is gone from the tree, and its mark with it.
  if (paths.length > 0)
    await git.run(["update-index", "--assume-unchanged", "-z", "--stdin"], { index, input: joinNul(paths), ok: [0, 128] });
}
