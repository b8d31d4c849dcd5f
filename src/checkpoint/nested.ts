import type { SkippedPath } from "../run/run.ts";
import { findCommonDir, findGitDir } from "./git-dir.ts";
import { commitOf } from "./head.ts";
import { absolute } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";

/** At most so many nested repositories are looked into; the others are named all the same. */
const MAX_LOOKED = 50;

/**
 * Where each nested repository stands and whether it has uncommitted changes. Nothing of it is captured: this is all that a
 * checkpoint knows of it.
 */
export async function withNested(git: RepoGit, skipped: readonly SkippedPath[]): Promise<SkippedPath[]> {
  let looked = 0;
  const result: SkippedPath[] = [];
  for (const item of skipped) {
    if (item.why !== "nested_repository" || looked >= MAX_LOOKED) {
      result.push(item);
      continue;
    }
    looked += 1;
    result.push({ ...item, nested: await lookInto(git, item.path).catch(() => ({ commit: null, dirty: null })) });
  }
  return result;
}

async function lookInto(git: RepoGit, path: string): Promise<NonNullable<SkippedPath["nested"]>> {
  const top = absolute(git.repo.top, path).toString();
  const git_dir = await findGitDir(top);
  if (git_dir === null) return { commit: null, dirty: null };
  const inner = await git.open({ ...git.repo, top, git_dir, common_dir: await findCommonDir(git_dir) });
  // Its own submodules are left out: git would start itself in each, with that one's configuration.
  const args = ["status", "--porcelain", "-z", "--ignore-submodules=all"];
  const changed = await inner.run(args, { max_bytes: 1 });
  return { commit: await commitOf(inner, "HEAD"), dirty: changed.bytes.length > 0 };
}
