import { splitNul, textOfPath } from "./path-text.ts";
import { privateIndex } from "./private-state.ts";
import type { RepoGit } from "./repo-git.ts";

/** How a path of the working tree differs from the private index. */
export type Listed = "untracked" | "changed" | "removed" | "submodule" | "forced" | "dropped";

/**
 * What changed since the private index was last written. The quick lister uses git's untracked cache; the thorough one
 * uses no cache at all and is the belt and braces of a stop.
 */
export function listChanges(git: RepoGit, thorough: boolean): Promise<Map<string, Listed>> {
  return thorough ? listWithoutCaches(git) : listQuick(git);
}

async function listQuick(git: RepoGit): Promise<Map<string, Listed>> {
  const args = ["status", "--porcelain=v2", "-z", "-uall", "--no-renames", "--no-ahead-behind", "--ignore-submodules=dirty"];
  const output = await git.run(args, {
    index: privateIndex(git.private_dir),
    config: ["core.untrackedCache=true", "status.showUntrackedFiles=all"],
    // The index is ours: git may write its refreshed stat data and untracked cache back.
    env: { GIT_OPTIONAL_LOCKS: "1" },
  });
  const found = new Map<string, Listed>();
  for (const entry of splitNul(output.bytes)) {
    const kind = entry.toString("latin1", 0, 1);
    if (kind === "?") found.set(textOfPath(entry.subarray(2)), "untracked");
    else if (kind === "1") addTracked(found, entry);
  }
  return found;
}

/** `1 XY sub mH mI mW hH hI path`: Y tells how the file differs from our index. */
function addTracked(found: Map<string, Listed>, entry: Buffer): void {
  const how = entry.toString("latin1", 3, 4);
  if (how === ".") return;
  let at = 0;
  for (let field = 0; field < 8; field += 1) at = entry.indexOf(32, at) + 1;
  const modeInIndex = entry.toString("latin1", 0, at).split(" ")[4];
  found.set(textOfPath(entry.subarray(at)), how === "D" ? "removed" : modeInIndex === "160000" ? "submodule" : "changed");
}

async function listWithoutCaches(git: RepoGit): Promise<Map<string, Listed>> {
  const output = await git.run(["ls-files", "-z", "-t", "-m", "-d", "-o", "--exclude-standard"], {
    index: privateIndex(git.private_dir),
  });
  const found = new Map<string, Listed>();
  for (const entry of splitNul(output.bytes)) {
    const tag = entry.toString("latin1", 0, 1);
    found.set(textOfPath(entry.subarray(2)), tag === "?" ? "untracked" : "changed");
  }
  return found;
}
