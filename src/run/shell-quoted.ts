/** A word as a shell takes it; plain ones stay as they are. */
export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/u.test(text) ? text : inQuotes(text);
}

/** A word in quotes, also a plain one. */
export function inQuotes(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
