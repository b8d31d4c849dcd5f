import { isUtf8 } from "node:buffer";

/**
 * Git paths are bytes; JSON and callers need text. The text form keeps valid UTF-8 as it is, writes each bad byte as
 * `\xNN` and a backslash as `\\`, so that both directions are exact and text paths can serve as keys.
 */
export function textOfPath(bytes: Uint8Array): string {
  return toText(bytes, "\\\\");
}

/** Any bytes as text to read: valid UTF-8 as it is, each bad byte as `\xNN`. */
export function readableText(bytes: Uint8Array): string {
  return toText(bytes, "\\");
}

function toText(bytes: Uint8Array, backslash: string): string {
  const plain = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(plain)) return plain.toString("utf8").replaceAll("\\", backslash);
  let text = "";
  for (let at = 0; at < plain.length; ) {
    const length = sequenceLength(plain, at);
    if (length === 0) {
      text += `\\x${plain.subarray(at, at + 1).toString("hex")}`;
      at += 1;
      continue;
    }
    const piece = plain.subarray(at, at + length).toString("utf8");
    text += piece === "\\" ? backslash : piece;
    at += length;
  }
  return text;
}

export function bytesOfPath(text: string): Buffer {
  if (!text.includes("\\")) return Buffer.from(text, "utf8");
  const pieces: Buffer[] = [];
  for (const match of text.matchAll(/\\x([0-9a-f]{2})|\\\\|[^\\]+|\\/g)) {
    const [whole, hex] = match;
    if (hex !== undefined) pieces.push(Buffer.from(hex, "hex"));
    else pieces.push(Buffer.from(whole === "\\\\" ? "\\" : whole, "utf8"));
  }
  return Buffer.concat(pieces);
}

/** Items of a NUL-terminated list. */
export function splitNul(bytes: Buffer): Buffer[] {
  const items: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf(0, at);
    if (end < 0) return items;
    items.push(bytes.subarray(at, end));
    at = end + 1;
  }
}

/** Text paths as a NUL-terminated list of byte paths; `prefix` stands before each (for `update-index --index-info`). */
export function joinNul(paths: Iterable<string>, prefix: (path: string) => string = () => ""): Buffer {
  const nul = Buffer.from([0]);
  const pieces: Buffer[] = [];
  for (const path of paths) pieces.push(Buffer.from(prefix(path), "latin1"), bytesOfPath(path), nul);
  return Buffer.concat(pieces);
}

/** Absolute byte path of a repository path, for `fs` calls (a string would break names that are not UTF-8). */
export function absolute(top: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${top}/`, "utf8"), bytesOfPath(path)]);
}

/** Every proper parent of a path, outermost first: `a`, `a/b` for `a/b/c`. */
export function parentsOf(path: string): string[] {
  const parents: string[] = [];
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) parents.push(path.slice(0, at));
  return parents;
}

/** Length of the valid UTF-8 sequence at `at`, or 0. */
function sequenceLength(bytes: Buffer, at: number): number {
  for (let length = 1; length <= 4 && at + length <= bytes.length; length += 1) {
    if (isUtf8(bytes.subarray(at, at + length))) return length;
  }
  return 0;
}
