import { createHash, randomBytes } from "node:crypto";

// Crockford's base32 without i, l, o, u: ids survive being read aloud and never spell a word.
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** `length` characters of 5 random bits each. */
function randomBase32(length: number): string {
  let out = "";
  for (const byte of randomBytes(length)) out += ALPHABET[byte & 31];
  return out;
}

/** `run_` + 100 random bits. A run id is a handle, not a proof of identity: every look-up is filtered by owner too. */
export function newRunId(): string {
  return `run_${randomBase32(20)}`;
}

/** The first 8 characters after `run_`: what a branch and a table cell show. */
export function shortId(runId: string): string {
  return runId.slice(4, 12);
}

/** Checkpoint id, unique within the product: `cp_` + 60 random bits. */
export function newCheckpointId(): string {
  return `cp_${randomBase32(12)}`;
}

/** 160 random bits, for attempt nonces and report tokens. */
export function newToken(): string {
  return randomBase32(32);
}

/** Lower-case hex SHA-256 of text or bytes. */
export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** JSON with object keys sorted at every level: the same value always gives the same text, so hashes of arguments compare. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (item === null || typeof item !== "object" || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
