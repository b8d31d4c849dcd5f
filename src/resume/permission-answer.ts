/** How the answer to a permission question is kept and worded to the engine; the command follows literally. */
const WORDS = {
  allow_once: "The owner allows this once: ",
  allow_for_run: "The owner allows this for the rest of the run: ",
  deny: "The owner does not allow this; find another way: ",
} as const;

export type PermissionAnswer = keyof typeof WORDS;

export function permissionAnswerText(answer: PermissionAnswer, command: string): string {
  return `${WORDS[answer]}${command}`;
}

/** The owner's words and the command, apart. */
export function permissionAnswerParts(text: string): { readonly answer: string; readonly command: string | null } {
  const words = Object.values(WORDS).find((start) => text.startsWith(start));
  return words === undefined ? { answer: text, command: null } : { answer: words.trim(), command: text.slice(words.length) };
}

/** The command that an answer allows once, or null. */
export function allowedOnce(text: string): string | null {
  return text.startsWith(WORDS.allow_once) ? text.slice(WORDS.allow_once.length) : null;
}
