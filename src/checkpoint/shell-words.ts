import { splitCommands } from "./shell-split.ts";

/**
 * One simple command of a shell text: its words (none of a redirection alone), the files that its output is written to, and
 * the folder changes (`cd`) that came before it in the same text.
 */
export interface ShellCommand {
  readonly words: readonly string[];
  readonly targets: readonly string[];
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
  for (const { words: raw, targets } of splitCommands(text)) {
    const words = withoutPrefixes(raw);
    const name = (words[0] ?? "").split("/").at(-1) ?? "";
    if (name === "cd" && words[1] !== undefined) folders.push(words[1]);
    const inner = SHELLS.has(name) ? innerText(words) : null;
    if (inner !== null && depth < MAX_DEPTH) found.push(...shellCommands(inner, depth + 1, folders));
    const own = inner !== null && depth < MAX_DEPTH ? [] : words.length > 0 ? [name, ...words.slice(1)] : [];
    if (own.length > 0 || targets.length > 0) found.push({ words: own, targets, cwd: [...folders] });
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
