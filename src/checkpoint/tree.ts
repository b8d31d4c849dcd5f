import type { PathChange, PathContent } from "./checkpoint.ts";
import { bytesOfPath, splitNul, textOfPath } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";

/** Id of the tree without entries; git knows it without an object. */
export function emptyTree(format: "sha1" | "sha256"): string {
  return format === "sha1"
    ? "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    : "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
}

/** Every path that differs between two trees; a rename is a removal and an addition. */
export async function changedBetween(git: RepoGit, from: string, to: string): Promise<PathChange[]> {
  if (from === to) return [];
  const listed = await git.run(["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-textconv", from, to]);
  const items = splitNul(listed.bytes);
  // Asked for one commit, git prints its id first; two are given here, so every item pairs a header with a path.
  const changes: PathChange[] = [];
  for (let at = 0; at + 1 < items.length; at += 2) {
    const [oldMode, newMode, oldOid, newOid] = (items[at] ?? Buffer.alloc(0)).toString("latin1").slice(1).split(" ");
    const path = textOfPath(items[at + 1] ?? Buffer.alloc(0));
    changes.push({ path, from: contentOf(oldMode, oldOid), to: contentOf(newMode, newOid) });
  }
  return changes;
}

function contentOf(mode: string | undefined, oid: string | undefined): PathContent {
  return mode === undefined || oid === undefined || mode === "000000" ? null : { mode, oid };
}

export function sameContent(a: PathContent, b: PathContent): boolean {
  return a === null || b === null ? a === b : a.mode === b.mode && a.oid === b.oid;
}

const MAX_ARGUMENTS = 200;

/** Content of each path in a tree, in the order asked. A folder is no content. */
export async function contentsAt(git: RepoGit, tree: string, paths: readonly string[]): Promise<PathContent[]> {
  if (paths.length === 0) return [];
  // Arguments are text: a name that is not UTF-8 can only be found in a full listing.
  const asArguments =
    paths.length <= MAX_ARGUMENTS && paths.every((path) => textOfPath(bytesOfPath(path)) === path && !path.includes("\\x"));
  const args = asArguments ? ["--", ...paths.map((path) => bytesOfPath(path).toString("utf8"))] : ["-r"];
  const listed = asArguments
    ? await git.run(["ls-tree", "-z", "--full-tree", tree, ...args])
    : await git.run(["ls-tree", "-z", "--full-tree", ...args, tree]);
  const found = new Map<string, PathContent>();
  for (const item of splitNul(listed.bytes)) {
    const tab = item.indexOf(9);
    const [mode, kind, oid] = item.toString("latin1", 0, tab).split(" ");
    if (mode !== undefined && oid !== undefined && kind !== "tree") found.set(textOfPath(item.subarray(tab + 1)), { mode, oid });
  }
  return paths.map((path) => found.get(path) ?? null);
}
