import type { PatchPage } from "./checkpoint.ts";
import { type DiffRange, runDiff } from "./diff-options.ts";
import { readableText } from "./path-text.ts";
import type { RepoGit } from "./repo-git.ts";

/** A longer line is given in pieces: files without line ends exist. */
const LONGEST_PIECE = 500;

/** One page of a unified diff: lines from a place in it on, about `max_bytes` of them. git is ended as soon as it gave them. */
export async function patchPage(
  git: RepoGit,
  range: DiffRange,
  page: { readonly from_byte: number; readonly max_bytes: number },
): Promise<PatchPage> {
  const bytes = await runDiff(git, range, ["-p", "-U3"], { skip_bytes: page.from_byte, max_bytes: page.max_bytes });
  const more = bytes.length > page.max_bytes;
  const pieces = piecesOf(more ? wholeLines(bytes.subarray(0, page.max_bytes)) : bytes);
  return { pieces: pieces.map((piece) => ({ text: readableText(piece), bytes: piece.length })), more };
}

/** Up to the last line end; all of it when there is none. */
function wholeLines(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf(LINE_END);
  return end < 0 ? bytes : bytes.subarray(0, end + 1);
}

const LINE_END = 10;

function piecesOf(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let from = 0; from < bytes.length; ) {
    const line = bytes.indexOf(LINE_END, from);
    const end = line < 0 ? bytes.length : line + 1;
    const cut = end - from <= LONGEST_PIECE ? end : characterStart(bytes, from + LONGEST_PIECE);
    pieces.push(bytes.subarray(from, cut));
    from = cut;
  }
  return pieces;
}

/** The place, or the beginning of the UTF-8 character that it is within. */
function characterStart(bytes: Buffer, place: number): number {
  for (let back = 0; back < 4; back += 1) if (((bytes[place - back] ?? 0) & 0xc0) !== 0x80) return place - back;
  return place;
}
