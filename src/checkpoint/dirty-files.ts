import { splitNul } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";

/** Number of files that differ from HEAD or are untracked; 0 when git could not look. */
export async function dirtyFiles(git: RepoGit): Promise<number> {
  const args = ["status", "--porcelain=v1", "-z", "-uall", "--no-renames", "--ignore-submodules=dirty"];
  const output = await git.run(args, { ok: [0, 1, 128] });
  return output.code === 0 ? splitNul(output.bytes).length : 0;
}
