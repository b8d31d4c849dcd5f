/** One simple command of a shell text: its words, and the folder changes (`cd`) that came before it in the same text. */
export interface ShellCommand {
  readonly words: readonly string[];
  readonly cwd: readonly string[];
}

const MAX_DEPTH = 4;
const PREFIXES: ReadonlySet<string> = new Set([
  "sudo",
  "env",
  "command",
  "exec",
  "time",
  "nohup",
  "nice",
  "builtin",
  "then",
  "do",
  "else",
  "if",
  "while",
  "!",
  "{",
  "(",
]);
const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "zsh", "dash", "ksh"]);

/**
 * Splits shell text into simple commands. It reads quotes, escapes, comments, here-documents and `sh -c`, not the whole
 * language: it only has to find the commands an agent plainly typed.
 */
export function shellCommands(text: string, depth = 0, cwd: readonly string[] = []): ShellCommand[] {
  const found: ShellCommand[] = [];
  const folders = [...cwd];
  for (const raw of splitCommands(text)) {
    const words = withoutPrefixes(raw);
    const name = (words[0] ?? "").split("/").at(-1) ?? "";
    if (name === "cd" && words[1] !== undefined) folders.push(words[1]);
    const inner = SHELLS.has(name) ? innerText(words) : null;
    if (inner !== null && depth < MAX_DEPTH) found.push(...shellCommands(inner, depth + 1, folders));
    else if (words.length > 0) found.push({ words: [name, ...words.slice(1)], cwd: [...folders] });
  }
  return found;
}

/** Drops `A=b`, `env`, `sudo -u x`, `time` and the like from the front. */
function withoutPrefixes(words: readonly string[]): string[] {
  let at = 0;
  for (; at < words.length; at += 1) {
    const word = words[at] ?? "";
    if (/^[A-Za-z_]\w*=/.test(word)) continue;
    if (word === "timeout") {
      at += 1;
      continue;
    }
    if (!PREFIXES.has(word)) break;
    while (words[at + 1]?.startsWith("-")) at += 1;
  }
  return words.slice(at);
}

/** The text after `-c` (also `-lc`) of a shell call. */
function innerText(words: readonly string[]): string | null {
  const at = words.findIndex((word, n) => n > 0 && /^-[a-z]*c$/.test(word));
  return at < 0 ? null : (words[at + 1] ?? null);
}

function splitCommands(text: string): string[][] {
  const commands: string[][] = [];
  let words: string[] = [];
  let word = "";
  let inWord = false;
  const endWord = (): void => {
    if (inWord) words.push(word);
    word = "";
    inWord = false;
  };
  const endCommand = (): void => {
    endWord();
    if (words.length > 0) commands.push(words);
    words = [];
  };
  const ends: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === "'" || char === '"') {
      const quoted = readQuoted(text, at);
      word += quoted.value;
      inWord = true;
      at = quoted.end;
    } else if (char === "\\") {
      at += 1;
      if (text.charAt(at) === "\n") continue;
      word += text.charAt(at);
      inWord = true;
    } else if (char === "#" && !inWord) {
      at = lineEnd(text, at) - 1;
    } else if (char === "<" && text.startsWith("<<", at) && !text.startsWith("<<<", at)) {
      const end = /^<<-?\s*(['"]?)([\w.-]+)\1/.exec(text.slice(at));
      if (end?.[2] !== undefined) {
        ends.push(end[2]);
        at += end[0].length - 1;
      }
    } else if (char === "\n") {
      endCommand();
      for (const end of ends.splice(0)) at = skipHereDocument(text, at, end);
    } else if (char === "&" && (text.charAt(at - 1) === ">" || text.charAt(at + 1) === ">")) {
      word += char;
      inWord = true;
    } else if (";|&(){}`".includes(char) && !(inWord && "{}".includes(char))) {
      endCommand();
    } else if (/\s/.test(char)) {
      endWord();
    } else {
      word += char;
      inWord = true;
    }
  }
  endCommand();
  return commands;
}

function readQuoted(text: string, from: number): { value: string; end: number } {
  const quote = text.charAt(from);
  let value = "";
  for (let at = from + 1; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === quote) return { value, end: at };
    // `$(...)` inside double quotes may hold quotes of its own, as in -m "$(cat <<'EOF' ...)".
    if (quote === '"' && text.startsWith("$(", at)) {
      const end = substitutionEnd(text, at);
      value += text.slice(at, end + 1);
      at = end;
    } else if (quote === '"' && char === "\\") {
      at += 1;
      value += text.charAt(at);
    } else value += char;
  }
  return { value, end: text.length };
}

function substitutionEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from + 1; at < text.length; at += 1) {
    if (text.charAt(at) === "(") depth += 1;
    if (text.charAt(at) === ")") depth -= 1;
    if (depth === 0) return at;
  }
  return text.length;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

/** Position of the last character of the line that ends a here-document. */
function skipHereDocument(text: string, from: number, word: string): number {
  for (let start = from + 1; start < text.length; ) {
    const end = lineEnd(text, start);
    if (text.slice(start, end).trim() === word) return end;
    start = end + 1;
  }
  return text.length;
}
