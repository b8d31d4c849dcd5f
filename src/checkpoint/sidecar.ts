import { lstat, readFile } from "node:fs/promises";
import { absolute, bytesOfPath, joinNul, splitNul, textOfPath } from "./path-text.ts";
import type { Sidecar } from "./private-state.ts";
import type { RepoGit } from "./repo-git.ts";

const CONVERTING = ["text", "eol", "filter", "ident", "working-tree-encoding", "crlf"] as const;

/**
 * What trees cannot hold about the given paths: the exact bytes of files that git converts (line ends, filters,
 * encodings: clean and smudge are not inverse), and modes other than 644 and 755.
 */
export async function sidecarOf(git: RepoGit, paths: readonly string[]): Promise<Sidecar> {
  const sidecar: Sidecar = {};
  const files: string[] = [];
  for (const path of paths) {
    const info = await lstat(absolute(git.repo.top, path)).catch(() => null);
    if (info === null || !info.isFile()) continue;
    files.push(path);
    const mode = info.mode & 0o7777;
    if (mode !== 0o644 && mode !== 0o755) sidecar[path] = { mode };
  }
  const converted = git.autocrlf ? files : await convertedOf(git, files);
  const raws = await storeRaw(git, converted);
  for (const [path, raw] of raws) sidecar[path] = { ...sidecar[path], raw };
  return sidecar;
}

async function convertedOf(git: RepoGit, files: readonly string[]): Promise<string[]> {
  if (files.length === 0) return [];
  const checked = await git.run(["check-attr", "-z", "--stdin", ...CONVERTING], { input: joinNul(files) });
  const items = splitNul(checked.bytes);
  const found = new Set<string>();
  for (let at = 0; at + 2 < items.length; at += 3) {
    const value = items[at + 2]?.toString("utf8");
    const path = items[at];
    if (path !== undefined && value !== "unspecified" && value !== "unset") found.add(textOfPath(path));
  }
  return [...found];
}

async function storeRaw(git: RepoGit, paths: readonly string[]): Promise<[string, string][]> {
  const stored: [string, string][] = [];
  // `--stdin-paths` reads lines and unquotes what begins with a quote: such names go one by one.
  const awkward = (path: string) => path.includes("\n") || path.startsWith('"');
  const plain = paths.filter((path) => !awkward(path));
  if (plain.length > 0) {
    const input = Buffer.concat(plain.flatMap((path) => [bytesOfPath(path), Buffer.from("\n")]));
    const oids = (await git.run(["hash-object", "-w", "--no-filters", "--stdin-paths"], { input })).text.split("\n");
    plain.forEach((path, n) => {
      stored.push([path, oids[n] ?? ""]);
    });
  }
  for (const path of paths.filter(awkward)) {
    const input = await readFile(absolute(git.repo.top, path));
    stored.push([path, (await git.run(["hash-object", "-w", "--no-filters", "--stdin"], { input })).text]);
  }
  return stored;
}

/** `before` with everything about `touched` replaced by what `fresh` says. */
export function mergeSidecar(before: Sidecar, touched: readonly string[], fresh: Sidecar): Sidecar {
  const merged: Sidecar = { ...before };
  for (const path of touched) delete merged[path];
  return { ...merged, ...fresh };
}
