/** A unified diff as lines to show. */

export type Line =
  | { readonly kind: "hunk"; readonly text: string }
  | {
      readonly kind: "same" | "added" | "removed";
      readonly text: string;
      readonly old: number | null;
      readonly new: number | null;
    }
  | { readonly kind: "note"; readonly text: string };
export type CodeLine = Extract<Line, { old: number | null }>;

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/u;

/** What git says of a file before its lines is left out: the list of files tells it. */
export function parsePatch(patch: string): { readonly lines: readonly Line[]; readonly binary: boolean } {
  const lines: Line[] = [];
  let oldAt = 0;
  let newAt = 0;
  let within = false;
  let binary = false;
  const texts = patch.endsWith("\n") ? patch.slice(0, -1).split("\n") : patch.split("\n");
  for (const text of texts) {
    const [hunk, from, to, about = ""] = HUNK.exec(text) ?? [];
    if (hunk !== undefined) {
      oldAt = Number(from);
      newAt = Number(to);
      within = true;
      // A file that is gone has no new lines to count.
      const place = `line ${newAt === 0 ? oldAt : newAt}`;
      lines.push({ kind: "hunk", text: about.trim() === "" ? place : `${place} · ${about.trim()}` });
    } else if (text.startsWith("diff --git ")) {
      within = false;
    } else if (!within) {
      if (text.startsWith("Binary files") || text.startsWith("GIT binary patch")) binary = true;
    } else if (text.startsWith("+")) {
      lines.push({ kind: "added", text: text.slice(1), old: null, new: newAt });
      newAt += 1;
    } else if (text.startsWith("-")) {
      lines.push({ kind: "removed", text: text.slice(1), old: oldAt, new: null });
      oldAt += 1;
    } else if (text.startsWith("\\")) {
      lines.push({ kind: "note", text: text.slice(2) });
    } else {
      lines.push({ kind: "same", text: text.slice(1), old: oldAt, new: newAt });
      oldAt += 1;
      newAt += 1;
    }
  }
  return { lines, binary };
}

export interface Pair {
  readonly left: CodeLine | null;
  readonly right: CodeLine | null;
}
export type SideRow = Exclude<Line, CodeLine> | ({ readonly kind: "pair" } & Pair);

/** Removed lines beside those that took their place. */
export function sideBySide(lines: readonly Line[]): readonly SideRow[] {
  const rows: SideRow[] = [];
  let removed: CodeLine[] = [];
  let added: CodeLine[] = [];
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1)
      rows.push({ kind: "pair", left: removed[at] ?? null, right: added[at] ?? null });
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === "removed") removed.push(line);
    else if (line.kind === "added") added.push(line);
    else {
      flush();
      rows.push("old" in line ? { kind: "pair", left: line, right: line } : line);
    }
  }
  flush();
  return rows;
}

/** The counterpart of each changed line, where a removed one was replaced by an added one. */
export function counterparts(lines: readonly Line[]): ReadonlyMap<Line, string> {
  const found = new Map<Line, string>();
  for (const row of sideBySide(lines)) {
    if (row.kind !== "pair" || row.left === null || row.right === null || row.left === row.right) continue;
    found.set(row.left, row.right.text);
    found.set(row.right, row.left.text);
  }
  return found;
}

/** What of a line differs from its counterpart, between what both begin and end with. Null where hardly anything is the same. */
export function changedPart(text: string, other: string): { readonly from: number; readonly to: number } | null {
  const most = Math.min(text.length, other.length);
  let from = 0;
  while (from < most && text[from] === other[from]) from += 1;
  let end = 0;
  while (end < most - from && text.at(-1 - end) === other.at(-1 - end)) end += 1;
  const same = text.slice(0, from).trim().length + end;
  return same * 3 < text.trim().length ? null : { from, to: text.length - end };
}
