/** How the answer to a permission question is kept and worded to the engine; the command follows literally. */
const ONCE = "The owner allows this once: ";

export type PermissionAnswer = "allow_once" | "allow_for_run" | "deny";

export function permissionAnswerText(answer: PermissionAnswer, command: string): string {
  switch (answer) {
    case "allow_once":
      return `${ONCE}${command}`;
    case "allow_for_run":
      return `The owner allows this for the rest of the run: ${command}`;
    case "deny":
      return `The owner does not allow this; find another way: ${command}`;
  }
}

/** The command that an answer allows once, or null. */
export function allowedOnce(text: string): string | null {
  return text.startsWith(ONCE) ? text.slice(ONCE.length) : null;
}
