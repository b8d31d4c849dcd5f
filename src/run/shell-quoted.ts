/** A word as a shell takes it; plain ones stay as they are. */
export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
