/**
 * Keeps an answer small enough for every client: replies stay under 8 KB, as text and as structure. Prose and lists of an
 * oversized answer are shortened step by step; ids, tokens, literal arguments and what there is to choose from never are.
 */
const WANTED_BYTES = 8_000;

interface Limits {
  readonly list: number;
  /** Bytes of one text. */
  readonly text: number;
  /** Also shortens what is left whole as long as it can be: a stop's words, names of files, consequences. */
  readonly all: boolean;
}

const STEPS: readonly Limits[] = [
  { list: 10, text: 240, all: false },
  { list: 8, text: 160, all: false },
  { list: 6, text: 120, all: false },
  { list: 4, text: 100, all: false },
  { list: 3, text: 80, all: false },
  { list: 2, text: 60, all: false },
  { list: 12, text: 160, all: true },
  { list: 6, text: 100, all: true },
  { list: 3, text: 60, all: true },
];

/** Parts that a caller acts on, whole or not at all. */
const UNTOUCHED: ReadonlySet<string> = new Set(["args", "next_actions", "confirm_token", "needs", "uris"]);

/** Pages that were made to fit: cutting them would leave out what their cursor says was shown. */
const PAGES: ReadonlySet<string> = new Set(["entries", "files", "patch", "runs"]);

/** Whole as long as anything else can be shortened. */
const LAST: ReadonlySet<string> = new Set(["choices", "consequences", "cause", "summary", "text", "note", "files"]);

/** Lists of file names: a name has no blank that it could be cut at. */
const NAMES: ReadonlySet<string> = new Set(["files", "files_changed", "restored", "removed", "kept", "conflicts"]);

const LEAST_SUMMARY = 400;

/** Room that an answer of usual size leaves at least, for what a page is about. */
const LEAST_ROOM = 2_000;

/** Bytes left for a page beside the common part of an answer and `own` more. */
export function roomBeside(shared: object, own: number): number {
  return Math.max(LEAST_ROOM, WANTED_BYTES - jsonBytes(shared) - own);
}

/** Bytes of a text or a value as it stands in an answer. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

export function fits(answer: { readonly structured: object; readonly text: string }): boolean {
  return jsonBytes(answer.structured) <= WANTED_BYTES && Buffer.byteLength(answer.text) <= WANTED_BYTES;
}

/** Lists that have an address of their own are shortened first. */
const FEWER = { key: "checkpoints", counts: [10, 5] } as const;

/** The same answer ever smaller: the first one that fits is given. */
export function* everSmaller(answer: Record<string, unknown>): Generator<Record<string, unknown>> {
  for (const count of FEWER.counts) yield fewerOf(answer, count);
  const base = fewerOf(answer, FEWER.counts[1]);
  for (const limits of STEPS) {
    yield Object.fromEntries(
      Object.entries(base).map(([key, item]) => [key, PAGES.has(key) ? item : shrinkMember(key, item, limits)]),
    );
  }
}

function fewerOf(value: object, count: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key === FEWER.key && Array.isArray(item)) return [key, item.slice(0, count)];
      return [key, typeof item === "object" && item !== null && !Array.isArray(item) ? fewerOf(item, count) : item];
    }),
  );
}

function shrinkMember(key: string, value: unknown, limits: Limits): unknown {
  if (UNTOUCHED.has(key) || (LAST.has(key) && !limits.all)) return value;
  // It has the counts of what is cut elsewhere.
  if (key === "summary") return shrink(value, { ...limits, text: LEAST_SUMMARY });
  // What there is to choose from stays, in fewer words.
  if (key === "choices" && Array.isArray(value)) return value.map((item) => shrink(item, limits));
  const named = NAMES.has(key) ? { ...limits, names: true } : limits;
  return shrink(value, named);
}

function shrink(value: unknown, limits: Limits & { readonly names?: boolean }): unknown {
  if (typeof value === "string") return shorten(value, limits.text, limits.names === true);
  if (Array.isArray(value)) return shorter(value, limits.list).map((item) => shrink(item, limits));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, item]) => [
    key,
    limits.names === true ? shrink(item, limits) : shrinkMember(key, item, limits),
  ]);
  return withTruth(value, Object.fromEntries(members));
}

/** A list of texts says how many are left out; other lists have their true total beside them. */
function shorter(list: readonly unknown[], length: number): readonly unknown[] {
  if (list.length <= length || !list.every((item) => typeof item === "string")) return list.slice(0, length);
  const before = Number(/^… and (\d+) more$/u.exec(list.at(-1) ?? "")?.[1] ?? 0);
  const left = list.length - (before > 0 ? 1 : 0) + before - (length - 1);
  return [...list.slice(0, length - 1), `… and ${left} more`];
}

/** A list of files that lost some says so. */
function withTruth(whole: object, shrunk: Record<string, unknown>): Record<string, unknown> {
  const { files: before } = Object.fromEntries(Object.entries(whole));
  const { files } = shrunk;
  const lost = Array.isArray(before) && Array.isArray(files) && files.length < before.length;
  return lost && "truncated" in shrunk ? { ...shrunk, truncated: true } : shrunk;
}

/** Only prose and names of files: any other string without a blank is an id or an address, and half of one is worse than none. */
function shorten(text: string, bytes: number, isName: boolean): string {
  if (Buffer.byteLength(text) <= bytes || (!isName && !/\s/u.test(text))) return text;
  // Cut in the middle of a character, its bytes read as the replacement character.
  return `${Buffer.from(text)
    .subarray(0, bytes - ELLIPSIS_BYTES)
    .toString()
    .replace(/\uFFFD+$/u, "")}…`;
}

const ELLIPSIS_BYTES = 3;
