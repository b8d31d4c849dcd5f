import type { RepoGit } from "./repo-git.ts";

/** Names of remotes that a push mirrors to: they would get the hidden refs too. */
export async function mirrorRemotes(git: RepoGit): Promise<readonly string[]> {
  const output = await git.run(["config", "--type=bool", "--get-regexp", "^remote\\..*\\.mirror$"], { ok: [0, 1, 128] });
  if (output.code !== 0) return [];
  const lines = output.bytes.toString("utf8").split("\n");
  return lines.flatMap((line) => /^remote\.(.*)\.mirror true$/u.exec(line)?.[1] ?? []);
}
