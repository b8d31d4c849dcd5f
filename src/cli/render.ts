import type { Command } from "./commands.ts";
import { EXAMPLES } from "./examples.ts";
import { EXIT_CODES } from "./exit-code.ts";
import { flagsOf, flagText, usageOf } from "./flags.ts";

/** The page that `loopkeeper --help` shows. */
export function renderOverview(commands: readonly Command[], others: Readonly<Record<string, string>>): string {
  const rows = [...commands.map((command): [string, string] => [command.name, command.tool.title]), ...Object.entries(others)];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    "Usage: loopkeeper [command]",
    "",
    ...rows.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`),
    "",
    "A run is named by its id, by any beginning of it that names one run alone, or by its age: @last (or @1) is the newest run",
    "of the repository you stand in, @2 the one before. Reading commands without a run mean @last.",
    "loopkeeper <command> --help explains a command; --json prints the structured answer.",
    `Exit codes: ${Object.values(EXIT_CODES)
      .map(({ code, means }) => `${code} ${means.replaceAll("`", "")}`)
      .join("; ")}.`,
  ].join("\n");
}

/** The page that `loopkeeper <command> --help` shows. */
export function renderCommand(command: Command): string {
  const flags = [
    ...flagsOf(command).map((flag) => ({ text: flagText(flag), about: flag.about })),
    ...command.switches.map(({ name, about }) => ({ text: name === "yes" ? "-y, --yes" : `--${name}`, about })),
    { text: "--json", about: "Print the structured answer alone." },
  ];
  const width = Math.min(34, Math.max(...flags.map(({ text }) => text.length)));
  const examples = EXAMPLES[command.name] ?? [];
  return [
    usageOf(command),
    "",
    command.tool.description,
    "",
    ...flags.map(({ text, about }) => `  ${text.padEnd(width)}  ${about}`),
    ...(examples.length === 0 ? [] : ["", "Examples:"]),
    ...examples.flatMap(({ line, about }) => [`  ${line}`, `      ${about}`]),
  ].join("\n");
}
