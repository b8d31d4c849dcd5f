import type { ForeignCommit } from "./drift-shapes.ts";
import { commitsOf } from "./head.ts";
import type { RepoGit } from "./repo-git.ts";

export interface ForeignCommitsInput {
  /** What was there before; null for everything. */
  readonly since: string | null;
  readonly head: string;
  readonly own: readonly string[];
  readonly limit: number;
}

/** Commits that `head` holds and `since` does not, without the given ones, newest first. Empty when a commit is gone. */
export async function foreignCommits(git: RepoGit, input: ForeignCommitsInput): Promise<readonly ForeignCommit[]> {
  const named = [input.head, input.since].filter((commit) => commit !== null);
  if ((await commitsOf(git, named)).includes(null)) return [];
  const since = input.since === null ? [] : ["--not", input.since];
  const count = String(input.limit + input.own.length);
  const listed = await git.run(["log", "-z", "-n", count, "--format=%H%x09%an%x09%s", input.head, ...since]);
  const own = new Set(input.own);
  return listed.text
    .split("\0")
    .flatMap((line) => {
      const [sha = "", author = "", ...subject] = line.split("\t");
      return sha === "" || own.has(sha) ? [] : [{ sha, author, subject: subject.join("\t") }];
    })
    .slice(0, input.limit);
}
