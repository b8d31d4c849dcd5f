import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gitAtRemote } from "./git.ts";
import type { RepoGit } from "./repo-git.ts";

const LIMIT_MS = 30_000;

/**
 * Fetches commits from a remote through a repository of ours, which borrows the objects of the clone: so nothing that the clone
 * configures (ssh commands, helpers, hooks) runs, and its own remote-tracking refs stay as they are. What came stands under refs
 * that begin with `into`.
 */
export async function fetchThroughScratch(
  env: Readonly<Record<string, string>>,
  git: RepoGit,
  url: string,
  commits: readonly string[],
  into: string,
): Promise<boolean> {
  const scratch = await mkdtemp(join(tmpdir(), "lk-fetch-"));
  const at = (args: readonly string[]) => gitAtRemote(env, scratch, args, LIMIT_MS);
  try {
    if ((await at(["init", "--quiet", "--bare", `--object-format=${git.repo.object_format}`, scratch])) === null) return false;
    await writeFile(join(scratch, "objects/info/alternates"), `${join(git.repo.common_dir, "objects")}\n`);
    const fetch = [
      "-c",
      "gc.auto=0",
      "fetch",
      "--quiet",
      "--no-tags",
      "--no-write-fetch-head",
      "--no-recurse-submodules",
      "--",
      url,
    ];
    // Many servers give any commit by its id; the others give their branches.
    const exact = commits.map((commit, n) => `+${commit}:refs/wanted/${n}`);
    if ((await at([...fetch, ...exact])) === null) {
      if ((await at([...fetch, "+refs/heads/*:refs/fetched/*"])) === null) return false;
      for (const [n, commit] of commits.entries())
        if ((await at(["update-ref", `refs/wanted/${n}`, commit])) === null) return false;
    }
    await git.run(
      ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", scratch, `+refs/wanted/*:${into}-*`],
      { env: { GIT_ALLOW_PROTOCOL: "file" }, config: ["protocol.file.allow=always"] },
    );
    return true;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
