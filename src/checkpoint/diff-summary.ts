import type { DiffSummary, FileChange } from "./checkpoint.ts";
import { bytesOfPath, splitNul, textOfPath } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";

const SAFE = ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none"] as const;

/** Counts and per-file lines of a difference, renames found. */
export async function diffSummary(git: RepoGit, from: string, to: string, limit: number): Promise<DiffSummary> {
  const output = await git.run(["diff-tree", "-r", "-z", "-M", "--raw", "--numstat", ...SAFE, from, to]);
  const items = splitNul(output.bytes);
  const { statuses, next } = readRaw(items);
  const files = readNumbers(items, next, statuses);
  return {
    total_files: files.length,
    added: files.reduce((sum, file) => sum + (file.added ?? 0), 0),
    removed: files.reduce((sum, file) => sum + (file.removed ?? 0), 0),
    truncated: files.length > limit,
    files: files.slice(0, limit),
  };
}

/** Unified diff, cut at the last line end within `maxBytes`. */
export async function patchOf(
  git: RepoGit,
  from: string,
  to: string,
  options: { readonly path?: string; readonly maxBytes: number },
): Promise<{ text: string; truncated: boolean }> {
  const only = options.path === undefined ? [] : ["--", bytesOfPath(options.path).toString("utf8")];
  const args = ["diff-tree", "-r", "-p", "-M", "-U3", ...SAFE, from, to, ...only];
  const { bytes } = await git.run(args, { max_bytes: options.maxBytes });
  if (bytes.length <= options.maxBytes) return { text: bytes.toString("utf8"), truncated: false };
  const end = bytes.lastIndexOf(10, options.maxBytes - 1);
  return { text: bytes.toString("utf8", 0, end + 1), truncated: true };
}

interface RawFact {
  readonly status: FileChange["status"];
  readonly from_path: string | null;
}

const STATUSES: Readonly<Record<string, FileChange["status"]>> = {
  A: "added",
  M: "modified",
  D: "deleted",
  R: "renamed",
  T: "type_changed",
};

/** The raw part: `:mode mode oid oid S`, path, and a second path for a rename. */
function readRaw(items: readonly Buffer[]): { statuses: Map<string, RawFact>; next: number } {
  const statuses = new Map<string, RawFact>();
  let at = 0;
  for (;;) {
    const header = items[at]?.toString("latin1") ?? "";
    if (!header.startsWith(":")) return { statuses, next: at };
    const letter = header.split(" ")[4]?.slice(0, 1) ?? "M";
    const path = textOfPath(items[at + 1] ?? Buffer.alloc(0));
    const status = STATUSES[letter] ?? "modified";
    if (status === "renamed") {
      statuses.set(textOfPath(items[at + 2] ?? Buffer.alloc(0)), { status, from_path: path });
      at += 3;
    } else {
      statuses.set(path, { status, from_path: null });
      at += 2;
    }
  }
}

/** The number part: `added TAB removed TAB path`; for a rename the path is empty and old and new path follow. */
function readNumbers(items: readonly Buffer[], from: number, statuses: ReadonlyMap<string, RawFact>): FileChange[] {
  const files: FileChange[] = [];
  for (let at = from; at < items.length; at += 1) {
    const item = items[at] ?? Buffer.alloc(0);
    const first = item.indexOf(9);
    const second = item.indexOf(9, first + 1);
    const binary = item.toString("latin1", 0, first) === "-";
    let name = item.subarray(second + 1);
    if (name.length === 0) {
      name = items[at + 2] ?? Buffer.alloc(0);
      at += 2;
    }
    const path = textOfPath(name);
    const fact = statuses.get(path);
    files.push({
      path,
      from_path: fact?.from_path ?? null,
      status: fact?.status ?? "modified",
      added: binary ? null : Number(item.toString("latin1", 0, first)),
      removed: binary ? null : Number(item.toString("latin1", first + 1, second)),
      binary,
    });
  }
  return files;
}
