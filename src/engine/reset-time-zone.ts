import { isoOf, msOf } from "../run/clock.ts";

/** Milliseconds that local time is ahead of UTC at an instant. */
export type OffsetAt = (instantMs: number) => number;

export interface LocalTime {
  readonly year: number;
  /** 1-12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** Abbreviations that mean one zone only. IST, AST and the like mean several and are not here. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  UTC: "UTC",
  GMT: "UTC",
  Z: "UTC",
  PT: "America/Los_Angeles",
  PST: "America/Los_Angeles",
  PDT: "America/Los_Angeles",
  MT: "America/Denver",
  MDT: "America/Denver",
  CT: "America/Chicago",
  CDT: "America/Chicago",
  ET: "America/New_York",
  EST: "America/New_York",
  EDT: "America/New_York",
  BST: "Europe/London",
  CET: "Europe/Berlin",
  CEST: "Europe/Berlin",
  EET: "Europe/Helsinki",
  EEST: "Europe/Helsinki",
  JST: "Asia/Tokyo",
  KST: "Asia/Seoul",
  AEST: "Australia/Sydney",
  AEDT: "Australia/Sydney",
  NZST: "Pacific/Auckland",
  NZDT: "Pacific/Auckland",
};
const SIGNED_OFFSET = /^(?:UTC|GMT)?\s?([+\-−])(\d{1,2}):?(\d{2})?$/;

/** The zone of an IANA name or alias, `GMT-3`, `UTC+05:30`, `+02:00`, or an unambiguous abbreviation; null when unknown. */
export function offsetOfZone(name: string): OffsetAt | null {
  const signed = SIGNED_OFFSET.exec(name);
  if (signed !== null) {
    const minutes = Number(signed[2]) * 60 + Number(signed[3] ?? 0);
    if (minutes > 14 * 60) return null;
    const ahead = (signed[1] === "+" ? minutes : -minutes) * 60_000;
    return () => ahead;
  }
  const iana = ABBREVIATIONS[name.toUpperCase()] ?? (/^[A-Za-z_]+\/[\w+\-/]+$/.test(name) ? name : null);
  return iana === null ? null : offsetOfIana(iana);
}

/** Null when this runtime does not know the zone. */
function offsetOfIana(name: string): OffsetAt | null {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch {
    return null;
  }
  return (instantMs) => {
    const whole = Math.floor(instantMs / 1000) * 1000;
    const part = new Map(format.formatToParts(whole).map(({ type, value }) => [type, Number(value)]));
    const get = (type: Intl.DateTimeFormatPartTypes): number => part.get(type) ?? 0;
    const shown = {
      year: get("year"),
      month: get("month"),
      day: get("day"),
      hour: get("hour"),
      minute: get("minute"),
      second: get("second"),
    };
    return asIfUtc(shown) - whole;
  };
}

/**
 * The instant of a local time; a day past the month's end runs on into the next month. A time that the clock skips
 * becomes the same time after the change, one that it shows twice becomes the second.
 */
export function instantOf(local: LocalTime, offsetAt: OffsetAt): number {
  const asUtc = asIfUtc(local);
  const near = asUtc - offsetAt(asUtc);
  return asUtc - offsetAt(near);
}

function asIfUtc(local: LocalTime): number {
  const month = `${String(local.year).padStart(4, "0")}-${String(local.month).padStart(2, "0")}`;
  const seconds = (((local.day - 1) * 24 + local.hour) * 60 + local.minute) * 60 + local.second;
  return msOf(`${month}-01T00:00:00.000Z`) + seconds * 1000;
}

/** The calendar day that an instant falls on in a zone; `weekday` 0 is Sunday. */
export function dayIn(instantMs: number, offsetAt: OffsetAt): { year: number; month: number; day: number; weekday: number } {
  const local = instantMs + offsetAt(instantMs);
  const iso = isoOf(local);
  return {
    year: Number(iso.slice(0, 4)),
    month: Number(iso.slice(5, 7)),
    day: Number(iso.slice(8, 10)),
    weekday: (((Math.floor(local / 86_400_000) + 4) % 7) + 7) % 7, // 1 January 1970 was a Thursday.
  };
}
