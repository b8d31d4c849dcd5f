import { lstat, readFile } from "node:fs/promises";
import { exists } from "./git-dir.ts";
import { copyIndex, GITLINK, parseIndex } from "./index-file.ts";
import { absolute, joinNul, splitNul, textOfPath } from "./path-text.ts";
import { dropState, privateIndex, STATE_FILES, userIndexCopy } from "./private-state.ts";
import type { RepoGit } from "./repo-git.ts";
import { copyUserIndex, dropConflicts, type UserIndex } from "./user-index.ts";

/**
 * Brings the private index in line with facts that only the user's index knows. Without it, files that the user marked
 * `assume-unchanged` would be captured as they were when first seen. True when it was made just now, as a copy of the user's.
 */
export async function syncPrivateIndex(git: RepoGit, user: UserIndex): Promise<boolean> {
  const index = privateIndex(git.private_dir);
  const seeded = !(await exists(index));
  if (seeded && !(await seed(git, user, index))) return false;
  if (user.unchanged) return seeded;
  const { entries } = parseIndex(await readFile(index), git.repo.object_format, "special");
  await dropConflicts(git, index, entries);
  await update(
    git,
    index,
    ["--no-assume-unchanged"],
    entries.filter((entry) => entry.assume_unchanged && entry.stage === 0),
  );
  await syncSkipWorktree(git, user, index, new Set(entries.filter((entry) => entry.skip_worktree).map((entry) => entry.path)));
  await update(
    git,
    index,
    ["--force-remove"],
    entries.filter((entry) => entry.intent_to_add),
  );
  return seeded;
}

async function seed(git: RepoGit, user: UserIndex, index: string): Promise<boolean> {
  const copy = userIndexCopy(git.private_dir);
  if (!user.present) return false;
  // The copy of an unchanged index may be gone after a reset of the private state.
  if (!(await copyUserIndex(git, copy))) return false;
  return copyIndex(copy, index);
}

/** `skip-worktree` holds only for files that are absent on disk; present ones are captured like any other. */
async function syncSkipWorktree(git: RepoGit, user: UserIndex, index: string, marked: ReadonlySet<string>): Promise<void> {
  const wanted = new Set<string>();
  for (const entry of user.special) {
    if (!entry.skip_worktree || entry.mode === 0o40000) continue;
    if ((await lstat(absolute(git.repo.top, entry.path)).catch(() => null)) === null) wanted.add(entry.path);
  }
  const missing = [...wanted].filter((path) => !marked.has(path));
  const extra = [...marked].filter((path) => !wanted.has(path));
  // 128: a path is no longer in the private index.
  if (missing.length > 0)
    await git.run(["update-index", "--skip-worktree", "-z", "--stdin"], { index, input: joinNul(missing), ok: [0, 128] });
  if (extra.length > 0) await git.run(["update-index", "--no-skip-worktree", "-z", "--stdin"], { index, input: joinNul(extra) });
}

async function update(
  git: RepoGit,
  index: string,
  args: readonly string[],
  entries: readonly { readonly path: string }[],
): Promise<void> {
  if (entries.length === 0) return;
  await git.run(["update-index", ...args, "-z", "--stdin"], { index, input: joinNul(entries.map((entry) => entry.path)) });
}

/**
 * Ignored files are covered exactly when the user's index tracks them. Takes out of the private index what came to be
 * ignored, and returns what the user tracks although it is ignored and is not yet in.
 */
export async function syncIgnored(git: RepoGit, user: UserIndex): Promise<{ add: string[]; dropped: string[] }> {
  const index = privateIndex(git.private_dir);
  const copy = userIndexCopy(git.private_dir);
  const tracked = user.present && (await copyUserIndex(git, copy)) ? await ignoredIn(git, copy) : new Set<string>();
  const ours = (await exists(index)) ? await ignoredIn(git, index) : new Set<string>();
  const dropped = [...ours].filter((path) => !tracked.has(path));
  if (dropped.length > 0) {
    await dropState(git.private_dir, STATE_FILES.tree);
    await git.run(["update-index", "--force-remove", "-z", "--stdin"], { index, input: joinNul(dropped) });
  }
  return { add: [...tracked].filter((path) => !ours.has(path)), dropped };
}

async function ignoredIn(git: RepoGit, index: string): Promise<Set<string>> {
  const listed = await git.run(["ls-files", "-z", "-c", "-i", "--exclude-standard"], { index });
  return new Set(splitNul(listed.bytes).map(textOfPath));
}

/** Paths of submodules in the user's index. */
export function submodulesOf(user: UserIndex): ReadonlySet<string> {
  return new Set(user.special.filter((entry) => entry.mode === GITLINK && entry.stage === 0).map((entry) => entry.path));
}
