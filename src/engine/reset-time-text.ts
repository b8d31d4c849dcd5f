import { msOf } from "../run/clock.ts";
import { dayIn, instantOf, type LocalTime, type OffsetAt, offsetOfZone } from "./reset-time-zone.ts";

const DAY_MS = 86_400_000;

/** Words after which a message says when it goes on. What follows has to be a time at once: "resets every 5h" is none. */
const ANNOUNCEMENT =
  /\b(?:resets?|try again|retry(?:ing)?|regain access|available(?: again)?|renews?|refresh(?:es)?|resumes?|come back|wait(?:ing)?|until)\b(?:[:·∙\s]+(?:at|in|on|after|by|until|around|about|for|next))*[:·∙\s]*/gi;
/** A header that was printed; it counts seconds. */
const RETRY_AFTER = /\bretry[-_]after["']?\s?[:=]\s?["']?(\d{1,7})(?![\d.:a-z-])/i;
/** Old Claude texts append the instant itself. */
const PIPED_EPOCH = /\|\s?(\d{10}(?:\d{3})?)(?!\d)/;

export interface ResetInText {
  readonly ms: number;
  readonly words: string;
  /** The zone as the text names it, or the host's; null for an instant or a length of time. */
  readonly zone: string | null;
  /** The text names no zone. */
  readonly zone_assumed: boolean;
}

const NO_ZONE = { zone: null, zone_assumed: false } as const;

/** When a message says the limit ends, and the words that say so. Null when it names no instant, or none that is sure. */
export function resetInText(text: string, seenMs: number, hostZone: string): ResetInText | null {
  const line = plain(text);
  const piped = PIPED_EPOCH.exec(line);
  if (piped !== null) return { ms: epochToMs(Number(piped[1])), words: piped[0].slice(1), ...NO_ZONE };
  const header = RETRY_AFTER.exec(line);
  if (header !== null) return { ms: seenMs + Number(header[1]) * 1000, words: header[0], ...NO_ZONE };
  for (const found of line.matchAll(ANNOUNCEMENT)) {
    const start = found.index + found[0].length;
    const rest = line.slice(start, start + 120);
    const when = duration(rest, seenMs) ?? epoch(rest) ?? isoDate(rest, hostZone) ?? clockTime(rest, seenMs, hostZone);
    if (when !== null) {
      const { ms, length, zone = null, zone_assumed = false } = when;
      return { ms, words: `${found[0]}${rest.slice(0, length)}`.trim(), zone, zone_assumed };
    }
  }
  return null;
}

/** Seconds or milliseconds since the epoch, told apart by their size, in milliseconds. */
export function epochToMs(epoch: number): number {
  return epoch > 1e12 ? epoch : epoch * 1000;
}

type When = {
  readonly ms: number;
  readonly length: number;
  readonly zone?: string;
  readonly zone_assumed?: boolean;
} | null;

const UNIT_MS: Readonly<Record<string, number>> = { w: 7 * DAY_MS, d: DAY_MS, h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
const AMOUNT =
  /^(?:,|and|\s)*(\d+(?:\.\d+)?|an?\b|one\b)\s?(ms|milliseconds?|w|weeks?|d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)(?![a-z])/i;

/** "3h 20m", "5 days 22 hours 11 minutes", "2h52m39s", "6.034s", "an hour". */
function duration(rest: string, seenMs: number): When {
  // `15h00` is a time of day in some languages and a length of time in others.
  if (/^\d{1,2}\s?h\s?\d{2}(?!\s?\w)/i.test(rest)) return null;
  const total = durationMs(rest);
  return total === null ? null : { ms: seenMs + total.ms, length: total.length };
}

/** The length of time that a text begins with, in milliseconds, and how many characters say it. */
export function durationMs(text: string): { ms: number; length: number } | null {
  let ms = 0;
  let length = 0;
  for (let found = AMOUNT.exec(text); found !== null; found = AMOUNT.exec(text.slice(length))) {
    const [whole, amount = "", unit = ""] = found;
    const name = unit.toLowerCase();
    const size = UNIT_MS[name.startsWith("ms") || name.startsWith("milli") ? "ms" : name.slice(0, 1)] ?? 0;
    ms += (/\d/.test(amount) ? Number(amount) : 1) * size;
    length += whole.length;
  }
  return length === 0 ? null : { ms, length };
}

function epoch(rest: string): When {
  const found = /^(1\d{9}(?:\d{3})?)(?![\d-])/.exec(rest);
  return found === null ? null : { ms: epochToMs(Number(found[1])), length: found[0].length };
}

const ZONE = String.raw`\s?\(?(?<zone>[A-Z][A-Za-z_]+\/[\w+\-/]+|(?:UTC|GMT)\s?[+\-−]\d{1,2}(?::?\d{2})?|[+\-−]\d{2}:?\d{2}|UTC|[A-Z]{1,4}T|Z)?(?![A-Za-z])\)?`;
/** Capitals where a zone's abbreviation would stand: the host's zone would be a guess against what the text says. */
const UNKNOWN_ZONE = /^\s?\(?[A-Z]{3,5}\b(?!\.?\w)/;
const ISO_DATE = new RegExp(
  String.raw`^(?<year>\d{4})[-/](?<month>\d{2})[-/](?<date>\d{2})(?:T|,? at |,? )(?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:\.\d+)?)?${ZONE}`,
);

/** "2026-04-01 at 00:00 UTC", "2026-04-01T00:00:00Z". */
function isoDate(rest: string, hostZone: string): When {
  const found = ISO_DATE.exec(rest);
  if (found === null) return null;
  const part = found.groups ?? {};
  const offsetAt = offsetOfZone(part["zone"] ?? hostZone);
  if (offsetAt === null) return null;
  const day = { year: Number(part["year"]), month: Number(part["month"]), day: Number(part["date"]) };
  const time = { hour: Number(part["hour"]), minute: Number(part["minute"]), second: Number(part["second"] ?? 0) };
  return {
    ms: instantOf({ ...day, ...time }, offsetAt),
    length: found[0].length,
    zone: part["zone"] ?? hostZone,
    zone_assumed: part["zone"] === undefined,
  };
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"] as const;
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
const MONTH_NAME = String.raw`(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`;
const YEAR = String.raw`(?:,? ?(?<year>20\d{2}))?`;
const DATES = [
  new RegExp(String.raw`^(?:[a-z]{3,9},? )?(?<month>${MONTH_NAME}) (?<date>\d{1,2})(?:st|nd|rd|th)?${YEAR}(?!\d)`, "i"),
  new RegExp(String.raw`^(?:[a-z]{3,9},? )?(?<date>\d{1,2})(?:st|nd|rd|th)? (?<month>${MONTH_NAME})${YEAR}(?!\d)`, "i"),
  /^(?<relative>today|tomorrow)\b/i,
  /^(?<weekday>sun|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:day)?\b/i,
];
const TIME =
  /^(?:(?<hour>\d{1,2})(?::(?<minute>\d{2}))?(?::(?<second>\d{2}))?\s?(?<half>[ap])\.?m\b\.?|(?<hour24>\d{1,2}):(?<minute24>\d{2})(?::(?<second24>\d{2}))?(?![\d:])|(?<word>noon|midnight)\b)/i;
const GLUE = /^[,·\s]*(?:(?:at|on)\s)?\s*/;

/** "3pm (Europe/Berlin)", "Jul 5th, 2026 8:19 PM", "10:00 on Oct 6", "tomorrow at 9am", "Monday 09:00 UTC". */
function clockTime(rest: string, seenMs: number, hostZone: string): When {
  let at = 0;
  const take = (pattern: RegExp): Readonly<Record<string, string | undefined>> | null => {
    const glue = GLUE.exec(rest.slice(at))?.[0].length ?? 0;
    const found = pattern.exec(rest.slice(at + glue));
    if (found === null) return null;
    at += glue + found[0].length;
    return found.groups ?? {};
  };
  const takeDate = (): Readonly<Record<string, string | undefined>> | null => {
    for (const pattern of DATES) {
      const date = take(pattern);
      if (date !== null) return date;
    }
    return null;
  };
  const dateBefore = takeDate();
  const time = timeOfDay(take(TIME));
  if (time === null) return null;
  const zoneBefore = zoneAt();
  const date = dateBefore ?? takeDate() ?? {};
  const named = zoneBefore ?? (dateBefore === null ? zoneAt() : null);
  if (named === null && UNKNOWN_ZONE.test(rest.slice(at))) return null;
  const zone = named ?? hostZone;
  const offsetAt = offsetOfZone(zone);
  if (offsetAt === null) return null;
  const ms = resolve(date, time, seenMs, offsetAt);
  return ms === null ? null : { ms, length: at, zone, zone_assumed: named === null };

  function zoneAt(): string | null {
    const found = new RegExp(`^${ZONE}`).exec(rest.slice(at));
    const zone = found?.groups?.["zone"];
    if (found === null || zone === undefined) return null;
    at += found[0].length;
    return zone;
  }
}

type TimeOfDay = Pick<LocalTime, "hour" | "minute" | "second">;

function timeOfDay(part: Readonly<Record<string, string | undefined>> | null): TimeOfDay | null {
  if (part === null) return null;
  if (part["word"] !== undefined) return { hour: part["word"].toLowerCase() === "noon" ? 12 : 0, minute: 0, second: 0 };
  const half = part["half"]?.toLowerCase();
  const hour = Number(part["hour"] ?? part["hour24"]);
  const minute = Number(part["minute"] ?? part["minute24"] ?? 0);
  const second = Number(part["second"] ?? part["second24"] ?? 0);
  if (minute > 59 || second > 59 || hour > 23) return null;
  if (half === undefined) return { hour, minute, second };
  if (hour < 1 || hour > 12) return null;
  // 12am is midnight, 12pm is noon.
  return { hour: (hour % 12) + (half === "p" ? 12 : 0), minute, second };
}

/** The first such instant after now. Null for a date that no calendar has. */
function resolve(
  date: Readonly<Record<string, string | undefined>>,
  time: TimeOfDay,
  seenMs: number,
  offsetAt: OffsetAt,
): number | null {
  const today = dayIn(seenMs, offsetAt);
  const on = (day: { year: number; month: number; day: number }): number => instantOf({ ...day, ...time }, offsetAt);
  if (date["month"] !== undefined) {
    const month = MONTHS.findIndex((name) => date["month"]?.toLowerCase().startsWith(name)) + 1;
    const day = Number(date["date"]);
    if (day < 1 || day > (DAYS[month - 1] ?? 0)) return null;
    if (date["year"] !== undefined) return on({ year: Number(date["year"]), month, day });
    // A message that is read a little late still means the date that has just passed, not next year's.
    return (
      [today.year - 1, today.year, today.year + 1].map((year) => on({ year, month, day })).find((ms) => ms > seenMs - DAY_MS) ??
      null
    );
  }
  if (date["relative"] !== undefined) {
    const ahead = date["relative"].toLowerCase() === "tomorrow" ? 1 : 0;
    return on({ ...today, day: today.day + ahead });
  }
  const weekday = WEEKDAYS.findIndex((name) => date["weekday"]?.toLowerCase().startsWith(name));
  const first = weekday === -1 ? -1 : (weekday - today.weekday + 7) % 7;
  const step = weekday === -1 ? 1 : 7;
  return [0, 1, 2].map((n) => on({ ...today, day: today.day + first + n * step })).find((ms) => ms > seenMs) ?? null;
}

/** RFC 3339 or HTTP date in a header or field; null when it is neither. */
export function dateToMs(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}|^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} /.test(text)) return null;
  const ms = msOf(text);
  return Number.isNaN(ms) ? null : ms;
}

/** One line with plain spaces and quotes, as terminals re-wrap what they show. */
function plain(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}
