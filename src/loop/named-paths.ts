import { realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { bytesOfPath } from "../checkpoint/path-text.ts";
import { type ShellCommand, shellCommands } from "../checkpoint/shell-words.ts";
import type { ToolCallSeen } from "../engine/engine.ts";

/** Commands that only look: a folder that they name is not what they changed. */
const LOOKING: ReadonlySet<string> = new Set(
  "cat cd cmp df diff du echo file find grep head less ls more pwd rg stat tail test tree wc which [".split(" "),
);
const LOOKING_GIT: ReadonlySet<string> = new Set("blame diff grep log ls-files show status".split(" "));

/**
 * Whether a tool call names a path: in its locations, as a word of its command or the target of a redirection, by a pattern
 * that fits it, or by a folder that holds it when the command is one that changes things.
 */
export async function namedPaths(
  calls: readonly Pick<ToolCallSeen, "command" | "paths">[],
  top: string,
): Promise<(path: string) => boolean> {
  const exact = new Set<string>();
  const folders = new Set<string>();
  const patterns: RegExp[] = [];
  for (const call of calls) {
    for (const path of call.paths) keep(exact, await within(top, top, path));
    for (const command of call.command === null ? [] : shellCommands(call.command)) {
      const folder = resolve(top, ...command.cwd);
      for (const word of wordsOf(command)) {
        const path = await within(top, folder, word);
        keep(exact, path);
        if (path === null || onlyLooks(command)) continue;
        keep(folders, path);
        if (/[*?[]/u.test(path)) patterns.push(patternOf(path));
      }
      for (const target of command.targets) keep(exact, await within(top, folder, target));
    }
  }
  return (path) => {
    // An engine speaks JSON: of a name that is not UTF-8 it can only give this form.
    const plain = bytesOfPath(path).toString("utf8");
    if (exact.has(plain) || patterns.some((pattern) => pattern.test(plain))) return true;
    for (let at = plain; at.includes("/"); ) {
      at = at.slice(0, at.lastIndexOf("/"));
      if (folders.has(at)) return true;
    }
    return false;
  };
}

function keep(set: Set<string>, path: string | null): void {
  if (path !== null) set.add(path);
}

/** The words of a command, and what follows the `=` of an option. */
function wordsOf(command: ShellCommand): readonly string[] {
  return command.words.slice(1).flatMap((word) => {
    const value = /^-[^=]*=(.+)$/u.exec(word)?.[1];
    return value === undefined ? [word] : [word, value];
  });
}

function onlyLooks({ words }: ShellCommand): boolean {
  const [name = "", ...rest] = words;
  if (name === "git") return LOOKING_GIT.has(rest.find((word) => !word.startsWith("-")) ?? "");
  if (name === "find") return !rest.some((word) => word === "-delete" || word.startsWith("-exec"));
  return LOOKING.has(name);
}

/** The repository path of a word, or null when it leads out of the working tree. */
async function within(top: string, folder: string, word: string): Promise<string | null> {
  const path = resolve(folder, word);
  const plain = beneath(top, path);
  if (plain !== null || !isAbsolute(word)) return plain;
  // The same place by another name: a folder on the way may be a link.
  const real = await realpath(dirname(path)).catch(() => null);
  return real === null ? null : beneath(top, join(real, basename(path)));
}

function beneath(top: string, path: string): string | null {
  const found = relative(top, path);
  return found === "" || found === ".." || found.startsWith("../") ? null : found;
}

/** A shell pattern: `*` and `?` stay within a folder, `**` does not. */
function patternOf(glob: string): RegExp {
  const source = glob.replace(/\*\*\/?|\*|\?|\[[^\]]+\]|[\\^$.|+(){}[\]]/gu, (token) => {
    if (token.startsWith("**")) return token.endsWith("/") ? "(?:.*/)?" : ".*";
    if (token === "*") return "[^/]*";
    if (token === "?") return "[^/]";
    return token.length > 1 ? token.replace(/^\[!/u, "[^") : `\\${token}`;
  });
  try {
    return new RegExp(`^${source}$`, "u");
  } catch {
    // No pattern after all.
    return /(?!)/u;
  }
}
