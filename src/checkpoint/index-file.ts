import { copyFile, stat, utimes } from "node:fs/promises";
import { systemCode } from "../run/errors.ts";
import { textOfPath } from "./path-text.ts";

export interface IndexEntry {
  readonly path: string;
  readonly mode: number;
  readonly oid: string;
  /** Bytes of the file when it was last staged or refreshed. */
  readonly size: number;
  readonly stage: number;
  readonly assume_unchanged: boolean;
  readonly skip_worktree: boolean;
  readonly intent_to_add: boolean;
}

export interface IndexFile {
  readonly version: number;
  /** Entries of the wanted kind, in index order. */
  readonly entries: readonly IndexEntry[];
  /** The index keeps most entries in a shared file that this parser does not read. */
  readonly split: boolean;
}

export const GITLINK = 0o160000;

/** An entry that a tree cannot say everything about. */
export function isSpecial(entry: IndexEntry): boolean {
  return entry.stage > 0 || entry.assume_unchanged || entry.skip_worktree || entry.intent_to_add || entry.mode === GITLINK;
}

/**
 * Reads index versions 2 to 4. `special` keeps only what a tree cannot hold (conflicts, flags, submodules), which is
 * several times quicker on large indexes than decoding each name. Throws RangeError on a damaged file.
 */
export function parseIndex(bytes: Buffer, format: "sha1" | "sha256", want: "special" | "all"): IndexFile {
  const hash = format === "sha256" ? 32 : 20;
  const version = bytes.readUInt32BE(4);
  const count = bytes.readUInt32BE(8);
  if (bytes.toString("latin1", 0, 4) !== "DIRC" || version < 2 || version > 4) throw new RangeError("not a git index");
  const entries: IndexEntry[] = [];
  let at = 12;
  let previous: Buffer = Buffer.alloc(0);
  for (let n = 0; n < count; n += 1) {
    const mode = bytes.readUInt32BE(at + 24);
    const flags = bytes.readUInt16BE(at + 40 + hash);
    let nameAt = at + 42 + hash;
    const extended = flags & 0x4000 ? bytes.readUInt16BE(nameAt) : 0;
    if (flags & 0x4000) nameAt += 2;
    let keep = 0;
    if (version === 4) {
      const strip = readVarint(bytes, nameAt);
      keep = previous.length - strip.value;
      nameAt = strip.next;
    }
    const end = bytes.indexOf(0, nameAt);
    if (end < 0) throw new RangeError("a name of the index has no end");
    const tail = bytes.subarray(nameAt, end);
    const name = version === 4 ? Buffer.concat([previous.subarray(0, keep), tail]) : tail;
    if (version === 4) previous = name;
    const special = (flags & 0xb000) !== 0 || extended !== 0 || mode === GITLINK;
    if (want === "all" || special) {
      entries.push({
        path: textOfPath(name),
        mode,
        oid: bytes.toString("hex", at + 40, at + 40 + hash),
        size: bytes.readUInt32BE(at + 36),
        stage: (flags >> 12) & 3,
        assume_unchanged: (flags & 0x8000) !== 0,
        skip_worktree: (extended & 0x4000) !== 0,
        intent_to_add: (extended & 0x2000) !== 0,
      });
    }
    at = version === 4 ? end + 1 : at + ((end - at + 8) & ~7);
  }
  return { version, entries, split: hasExtension(bytes, at, hash, "link") };
}

/**
 * Copies an index with an older time stamp than the original's. A fresh time stamp would defeat git's check for entries
 * that were written within the index's own second, and later edits of the same size would be missed. False when there is none.
 */
export async function copyIndex(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return false;
    throw error;
  }
  const seconds = Math.floor((await stat(from)).mtimeMs / 1000) - 1;
  await utimes(to, seconds, seconds);
  return true;
}

function readVarint(bytes: Buffer, from: number): { value: number; next: number } {
  let next = from;
  let byte = bytes.readUInt8(next++);
  let value = byte & 0x7f;
  while (byte & 0x80) {
    byte = bytes.readUInt8(next++);
    value = ((value + 1) << 7) | (byte & 0x7f);
  }
  return { value, next };
}

function hasExtension(bytes: Buffer, from: number, hash: number, signature: string): boolean {
  for (let at = from; at + 8 <= bytes.length - hash; at += 8 + bytes.readUInt32BE(at + 4)) {
    if (bytes.toString("latin1", at, at + 4) === signature) return true;
  }
  return false;
}
