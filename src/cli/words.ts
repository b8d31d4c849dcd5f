import { shortId } from "../run/id.ts";
import { USUAL } from "../run/names.ts";
import { shellQuoted } from "../run/shell-quoted.ts";
import type { Command } from "./commands.ts";
import { type Flag, flagsOf } from "./flags.ts";

/** What a person is to type, made of a tool and its arguments. */

/** Arguments that only a program needs: a person looks before typing. */
const FOR_PROGRAMS: ReadonlySet<string> = new Set(["expected_revision", "since_revision", "request_id"]);

/** A command line that can be copied; `needs` become flags with a usual value or words to fill in. Null: no such command. */
export function commandLineFor(
  commands: readonly Command[],
  tool: string,
  args: Readonly<Record<string, unknown>>,
  needs: readonly string[] = [],
): string | null {
  const command = commands.find((candidate) => candidate.tool.name === tool);
  if (command === undefined) return null;
  const flags = flagsOf(command);
  const values = new Map<string, readonly string[]>();
  for (const flag of flags) {
    const value = args[flag.argument];
    if (value !== undefined && !FOR_PROGRAMS.has(flag.argument)) values.set(flag.argument, wordsOf(flag, value, command));
    else if (needs.includes(flag.argument)) values.set(flag.argument, placed(flag, command));
  }
  const first = command.positional.flatMap((argument) => values.get(argument) ?? []);
  const rest = flags.flatMap((flag) => (command.positional.includes(flag.argument) ? [] : (values.get(flag.argument) ?? [])));
  return ["loopkeeper", command.name, ...first, ...rest].join(" ");
}

function placed(flag: Flag, command: Command): readonly string[] {
  const value = USUAL[flag.argument] ?? "'...'";
  return command.positional.includes(flag.argument) ? [value] : [`--${flag.name}`, value];
}

function wordsOf(flag: Flag, value: unknown, command: Command): readonly string[] {
  if (typeof value === "boolean") return [value ? `--${flag.name}` : `--no-${flag.name}`];
  if (flag.argument === "run_id" && typeof value === "string") return [shortId(value)];
  const texts = Array.isArray(value) && flag.kind === "list" ? value.map(String) : [textOf(value)];
  if (command.positional.includes(flag.argument)) return texts.map(shellQuoted);
  return texts.flatMap((text) => [`--${flag.name}`, shellQuoted(text)]);
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : JSON.stringify(value);
}
