import { msOf } from "../run/clock.ts";

/** Lengths of time in the two largest units that say something: `40 s`, `12 min`, `3 h 20 min`, `2 d 4 h`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return hours < 10 && minutes % 60 > 0 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return days < 10 && hours % 24 > 0 ? `${days} d ${hours % 24} h` : `${days} d`;
}

/** The largest unit alone, for a table: `3 h`. */
export function age(at: string, now: string): string {
  return duration((msOf(now) - msOf(at)) / 1000).replace(/^(\d+ \w+) .*$/u, "$1");
}

/** `3 h 20 min ago`, `in 12 min`. */
export function relative(at: string, now: string): string {
  const seconds = (msOf(at) - msOf(now)) / 1000;
  return seconds > 0 ? `in ${duration(seconds)}` : `${duration(-seconds)} ago`;
}

/** An instant to read: `2026-11-29 19:04 UTC`. */
export function instant(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`;
}
