import { shortId } from "../run/id.ts";
import type { Command } from "./commands.ts";
import { type Flag, flagsOf } from "./flags.ts";

/** What a person is to type, made of a tool and its arguments. */

/** Arguments that only a program needs: a person looks before typing. */
const FOR_PROGRAMS: ReadonlySet<string> = new Set(["expected_revision", "since_revision", "request_id"]);

/** What stands where the person's own word goes. Where one value is the usual one, that is given: the line works as it stands. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  instructions: "'what it should do'",
  objective: "'what it is to reach'",
  add_iterations: "10",
  iterations: "10",
  permission: "allow_once",
  budget: "minutes=60",
};

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
  const value = PLACEHOLDERS[flag.argument] ?? "'...'";
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

export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * A sentence of ours with the names of tools and arguments as a person at a terminal types them. Only for our own sentences: a
 * transcript that speaks of run_resume means run_resume.
 */
export function inCommandWords(text: string, commands: readonly Command[]): string {
  const names = new Map(commands.map((command) => [command.tool.name, `loopkeeper ${command.name}`]));
  const flags = Map.groupBy(commands.flatMap(flagsOf), (flag) => flag.argument);
  const tools = [...names.keys()].toSorted((a, b) => b.length - a.length).join("|");
  return text
    .replaceAll(new RegExp(`\`?\\b(${tools})\\b\`?`, "gu"), (_, name: string) => `\`${names.get(name) ?? name}\``)
    .replaceAll(
      /(`?)\b([a-z_]+): "?(\w+)"?\1/gu,
      (whole: string, _tick: string, name: string, value: string) => setting(flags, name, value) ?? whole,
    )
    .replaceAll(/`([a-z_]+)`/gu, (whole: string, name: string) =>
      flags.has(name) ? `\`--${name.replaceAll("_", "-")}\`` : whole,
    )
    .replaceAll(/\b[a-z]+(?:_[a-z]+)+\b/gu, (name) => (SPOKEN.has(name) ? `--${name.replaceAll("_", "-")}` : name));
}

/** Arguments whose names stand in sentences without marks, and are no words of anything else there. */
const SPOKEN: ReadonlySet<string> = new Set([
  "on_drift",
  "confirm_token",
  "add_iterations",
  "expected_revision",
  "request_id",
  "auto_resume",
]);

/** `on_drift: "keep"` as `--on-drift keep`; null for anything that is no setting, such as the first word of a refusal. */
function setting(flags: ReadonlyMap<string, readonly Flag[]>, name: string, value: string): string | null {
  const known = flags.get(name) ?? [];
  const dashed = name.replaceAll("_", "-");
  if (known.some((flag) => flag.kind === "switch") && (value === "true" || value === "false"))
    return `\`--${value === "true" ? "" : "no-"}${dashed}\``;
  return known.some((flag) => flag.choices?.includes(value)) ? `\`--${dashed} ${value}\`` : null;
}
