/**
 * Keeps an answer small enough for every client: replies stay under 8 KB. Prose and lists of an oversized answer are
 * shortened step by step; ids, paths, tokens, literal arguments and what there is to choose from are never touched.
 */
const WANTED_CHARACTERS = 8_000;

interface Limits {
  readonly list: number;
  readonly text: number;
}

const STEPS: readonly Limits[] = [
  { list: 10, text: 240 },
  { list: 8, text: 160 },
  { list: 6, text: 120 },
  { list: 4, text: 100 },
  { list: 3, text: 80 },
  { list: 2, text: 60 },
];

/** Parts that a caller acts on, whole or not at all. */
const UNTOUCHED: ReadonlySet<string> = new Set([
  "args",
  "choices",
  "next_actions",
  "runs",
  "confirm_token",
  "consequences",
  "cause",
  "summary",
  "needs",
  "text",
  "note",
  // Pages that were made to fit: cutting them would leave out what their cursor says was shown.
  "entries",
  "files",
  "patch",
]);

/** Room that an answer of usual size leaves at least, for what a page is about. */
const LEAST_ROOM = 2_000;

/** Characters left for a page beside the common part of an answer and `own` more. */
export function roomBeside(shared: object, own: number): number {
  return Math.max(LEAST_ROOM, WANTED_CHARACTERS - JSON.stringify(shared).length - own);
}

/** Length of a text as it stands in JSON. */
export function jsonLength(text: string): number {
  return JSON.stringify(text).length - 2;
}

/** Lists that have an address of their own are shortened first. */
const FEWER = { key: "checkpoints", counts: [10, 5] } as const;

export function fitAnswer(answer: Record<string, unknown>): Record<string, unknown> {
  let fitted = answer;
  for (const count of FEWER.counts) {
    if (JSON.stringify(fitted).length <= WANTED_CHARACTERS) return fitted;
    fitted = fewerOf(answer, count);
  }
  const base = fitted;
  for (const limits of STEPS) {
    if (JSON.stringify(fitted).length <= WANTED_CHARACTERS) return fitted;
    fitted = shrinkObject(base, limits);
  }
  return fitted;
}

function fewerOf(value: object, count: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key === FEWER.key && Array.isArray(item)) return [key, item.slice(0, count)];
      return [key, typeof item === "object" && item !== null && !Array.isArray(item) ? fewerOf(item, count) : item];
    }),
  );
}

function shrinkObject(value: object, limits: Limits): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, UNTOUCHED.has(key) ? item : shrink(item, limits)]));
}

function shrink(value: unknown, limits: Limits): unknown {
  if (typeof value === "string") return shorten(value, limits.text);
  if (Array.isArray(value)) return value.slice(0, limits.list).map((item) => shrink(item, limits));
  return typeof value === "object" && value !== null ? shrinkObject(value, limits) : value;
}

/** Only prose: a string without a blank is an id, a path or an address, and half of one is worse than none. */
function shorten(text: string, length: number): string {
  return text.length <= length || !/\s/u.test(text) ? text : `${text.slice(0, length - 1)}…`;
}
