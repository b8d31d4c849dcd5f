import { createHash } from "node:crypto";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { z } from "zod";
import { JOURNAL_KINDS, type NewJournalEntry } from "../run/event.ts";
import type { NewChunk } from "./backend.ts";
import { splitEntry } from "./journal-parts.ts";
import type { Codec, JournalChunksTable } from "./schema.ts";

/** Entries are cut into chunks of about this many bytes, so that reading one never takes much memory. */
const CHUNK_BYTES = 1024 * 1024;

const entrySchema = z.object({
  who: z.enum(["loop", "agent", "tool", "owner"]),
  kind: z.enum(JOURNAL_KINDS),
  text: z.string(),
  iteration: z.number(),
  at: z.string(),
  data: z.record(z.string(), z.unknown()).optional(),
});

/** Compressed chunks of JSON lines, in order; usually one. One at a time: all of a huge entry's are never held together. */
export function* encodeChunks(entries: readonly NewJournalEntry[], at: string): Generator<NewChunk> {
  let lines: string[] = [];
  let group: NewJournalEntry[] = [];
  let bytes = 0;
  for (const whole of entries) {
    for (const entry of splitEntry(whole)) {
      const line = JSON.stringify(entry);
      if (bytes > 0 && bytes + line.length > CHUNK_BYTES) {
        yield encodeChunk(lines, group, at);
        lines = [];
        group = [];
        bytes = 0;
      }
      lines.push(line);
      group.push(entry);
      bytes += line.length;
    }
  }
  if (lines.length > 0) yield encodeChunk(lines, group, at);
}

function encodeChunk(lines: readonly string[], entries: readonly NewJournalEntry[], at: string): NewChunk {
  const raw = Buffer.from(lines.join("\n"), "utf8");
  const { codec, body } = compress(raw);
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { iteration } of entries) {
    first = Math.min(first, iteration);
    last = Math.max(last, iteration);
  }
  return {
    count: lines.length,
    first_iteration: first,
    last_iteration: last,
    raw_bytes: raw.byteLength,
    at,
    codec,
    checksum: checksumOf(body),
    body,
  };
}

/** zstd where this Node has it (22.15 and later), else deflate; what was written says which. */
export function compress(raw: Uint8Array): { readonly codec: Codec; readonly body: Buffer } {
  if (typeof zlib.zstdCompressSync === "function") return { codec: "zstd", body: zlib.zstdCompressSync(raw) };
  return { codec: "deflate", body: zlib.deflateSync(raw) };
}

const inflate = promisify(zlib.inflate);

/** Throws when the bytes are damaged, or when this Node cannot read the codec. */
export async function decompress(codec: Codec, body: Uint8Array): Promise<Buffer> {
  if (codec === "deflate") return inflate(body);
  if (typeof zlib.zstdDecompress !== "function") throw new Error("this Node has no zstd");
  return promisify(zlib.zstdDecompress)(body);
}

/** True when the stored bytes are those that were written. */
export function isWhole(chunk: Pick<JournalChunksTable, "checksum" | "body">): boolean {
  return checksumOf(chunk.body) === chunk.checksum;
}

/**
 * Up to this size a body is opened at once: a search opens tens of thousands, and each asynchronous opening holds its working
 * memory until the next garbage collection.
 */
const SMALL_BODY = 256 * 1024;

function decompressNow(codec: Codec, body: Uint8Array): Buffer {
  if (codec === "deflate") return zlib.inflateSync(body);
  if (typeof zlib.zstdDecompressSync !== "function") throw new Error("this Node has no zstd");
  return zlib.zstdDecompressSync(body);
}

/**
 * The entries of a stored chunk, or null when any part of it is not what was written. With a needle (in lower case) a chunk that
 * cannot hold it is answered as an empty list: most of a search is over without parsing.
 */
export async function decodeChunk(
  chunk: Pick<JournalChunksTable, "first_n" | "last_n" | "codec" | "checksum" | "body">,
  needle: string | null = null,
): Promise<NewJournalEntry[] | null> {
  if (!isWhole(chunk)) return null;
  try {
    const { codec, body } = chunk;
    const raw = body.length <= SMALL_BODY ? decompressNow(codec, body) : await decompress(codec, body);
    const text = raw.toString("utf8");
    if (needle !== null && !text.toLowerCase().includes(escaped(needle))) return [];
    const lines = text.split("\n");
    if (lines.length !== chunk.last_n - chunk.first_n + 1) return null;
    return lines.map((line) => toEntry(line));
  } catch {
    return null;
  }
}

/** A text as it stands within a JSON string. */
function escaped(needle: string): string {
  return JSON.stringify(needle).slice(1, -1).toLowerCase();
}

function toEntry(line: string): NewJournalEntry {
  const { data, ...entry } = entrySchema.parse(JSON.parse(line));
  return data === undefined ? entry : { ...entry, data };
}

function checksumOf(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}
