import type { DiffSummary, FileChange } from "./checkpoint.ts";
import { type DiffRange, runDiff } from "./diff-options.ts";
import { textOfPath } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";

/** Counts of a difference and some of its files, renames found. Only the files asked for are held, however many there are. */
export async function diffSummary(
  git: RepoGit,
  range: DiffRange,
  page: { readonly skip: number; readonly limit: number },
): Promise<DiffSummary> {
  const reader = summaryReader(page);
  await runDiff(git, range, ["-z", "--raw", "--numstat"], { on_output: itemsOf(reader.item) });
  return reader.summary();
}

/** Calls `take` with each NUL-terminated item of what comes in pieces. */
function itemsOf(take: (item: Buffer) => void): (chunk: Buffer) => void {
  let held: Buffer[] = [];
  return (chunk) => {
    let from = 0;
    for (let end = chunk.indexOf(0, from); end >= 0; end = chunk.indexOf(0, from)) {
      const piece = chunk.subarray(from, end);
      take(held.length === 0 ? piece : Buffer.concat([...held, piece]));
      held = [];
      from = end + 1;
    }
    if (from < chunk.length) held.push(Buffer.from(chunk.subarray(from)));
  };
}

const STATUSES: Readonly<Record<string, FileChange["status"]>> = {
  A: "added",
  M: "modified",
  D: "deleted",
  R: "renamed",
  T: "type_changed",
};

interface RawFact {
  readonly status: FileChange["status"];
  readonly modes: readonly [string, string];
}

/**
 * Reads git's two lists, which come in the same order. Raw part: `:mode mode oid oid S`, path, and a second path for a rename.
 * Number part: `added TAB removed TAB path`; for a rename the path is empty and old and new path follow.
 */
function summaryReader({ skip, limit }: { readonly skip: number; readonly limit: number }) {
  const facts: RawFact[] = [];
  const files: FileChange[] = [];
  let rawSeen = 0;
  let seen = 0;
  let added = 0;
  let removed = 0;
  /** Paths of the raw part that are still to come, and of a renamed file's numbers. */
  let rawPaths = 0;
  let open: { readonly numbers: Numbers; readonly from: string | null } | null = null;

  const isWanted = (index: number): boolean => index >= skip && index < skip + limit;

  function item(bytes: Buffer): void {
    if (rawPaths > 0) rawPaths -= 1;
    else if (open !== null) renamed(open, textOfPath(bytes));
    else if (bytes[0] === COLON) rawHeader(bytes.toString("latin1"));
    else numbers(bytes);
  }

  function rawHeader(header: string): void {
    const [from = "", to = "", , , letter = "M"] = header.slice(1).split(" ");
    const status = STATUSES[letter.slice(0, 1)] ?? "modified";
    rawPaths = status === "renamed" ? 2 : 1;
    if (isWanted(rawSeen)) facts.push({ status, modes: [from, to] });
    rawSeen += 1;
  }

  function numbers(bytes: Buffer): void {
    const counts = numbersOf(bytes);
    if (counts.path.length === 0) open = { numbers: counts, from: null };
    else finish(counts, null, textOfPath(counts.path));
  }

  function renamed(file: NonNullable<typeof open>, path: string): void {
    if (file.from === null) {
      open = { numbers: file.numbers, from: path };
      return;
    }
    open = null;
    finish(file.numbers, file.from, path);
  }

  function finish(counts: Numbers, from_path: string | null, path: string): void {
    added += counts.added ?? 0;
    removed += counts.removed ?? 0;
    if (isWanted(seen)) {
      const fact = facts[seen - skip];
      const modes = fact?.modes ?? ["", ""];
      files.push({
        path,
        from_path,
        status: fact?.status ?? "modified",
        added: counts.added,
        removed: counts.removed,
        binary: counts.added === null,
        mode: modes[0] === modes[1] ? null : `${modes[0]} -> ${modes[1]}`,
      });
    }
    seen += 1;
  }

  return {
    item,
    summary: (): DiffSummary => ({ total_files: seen, added, removed, truncated: seen > skip + files.length, files }),
  };
}

const COLON = 0x3a;

interface Numbers {
  readonly added: number | null;
  readonly removed: number | null;
  readonly path: Buffer;
}

function numbersOf(item: Buffer): Numbers {
  const first = item.indexOf(9);
  const second = item.indexOf(9, first + 1);
  const binary = item.toString("latin1", 0, first) === "-";
  return {
    added: binary ? null : Number(item.toString("latin1", 0, first)),
    removed: binary ? null : Number(item.toString("latin1", first + 1, second)),
    path: item.subarray(second + 1),
  };
}
