/**
 * Words of a simple shell command, quotes removed, or null when it is more than one simple command: operators,
 * redirections, substitutions, variables, escapes, assignments in front or an unclosed quote. Null errs to the safe side:
 * such a command is never matched by a prefix.
 */
export function simpleWords(command: string): readonly string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  for (let at = 0; at < command.length; at += 1) {
    const char = command.charAt(at);
    if (char === "'" || char === '"') {
      const end = command.indexOf(char, at + 1);
      if (end < 0) return null;
      const quoted = command.slice(at + 1, end);
      // Between double quotes the shell still expands these, and a backslash may hide the closing quote.
      if (char === '"' && /[$`\\]/.test(quoted)) return null;
      word = (word ?? "") + quoted;
      at = end;
    } else if (char === " " || char === "\t") {
      if (word !== null) words.push(word);
      word = null;
    } else if (/[;&|<>`$(){}\\\n\r!]/.test(char)) {
      return null;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (word !== null) words.push(word);
  return words[0]?.includes("=") ? null : words;
}

/** Whether `words` begin with all words of `prefix`. */
export function startsWithWords(words: readonly string[], prefix: readonly string[]): boolean {
  return prefix.length > 0 && prefix.every((word, index) => words[index] === word);
}
