/** Numbers as people read them; a null is a dash, never a zero. */

export function duration(ms: number | null): string {
  if (ms === null) return "–";
  if (ms > 0 && ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) return `${minutes} min ${pad(s % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${pad(minutes % 60)} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function money(usd: number | null): string {
  if (usd === null) return "–";
  return usd > 0 && usd < 0.1 ? `$${usd.toFixed(3)}` : `$${usd.toFixed(2)}`;
}

export function tokens(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 99_950) return `${(count / 1_000).toFixed(1)} k`;
  if (count < 999_500) return `${Math.round(count / 1_000)} k`;
  return `${(count / 1_000_000).toFixed(count < 9_950_000 ? 2 : 1)} M`;
}

export const count = (number: number): string => number.toLocaleString("en");

/** `1 file`, `2 files`. */
export const many = (number: number, one: string, more = `${one}s`): string => `${count(number)} ${number === 1 ? one : more}`;

const DAY_AND_TIME = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Of the reader's own zone. */
export const instant = (ms: number): string => DAY_AND_TIME.format(ms);
export const timeOfDay = (ms: number): string => TIME.format(ms);

const pad = (number: number): string => String(number).padStart(2, "0");
