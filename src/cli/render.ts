import type { Command } from "./commands.ts";
import { EXIT_CODES } from "./exit-code.ts";
import { flagsOf, flagText, usageOf } from "./flags.ts";

/** The page that `loopkeeper --help` shows. */
export function renderOverview(commands: readonly Command[], others: Readonly<Record<string, string>>): string {
  const rows = [...Object.entries(others), ...commands.map((command): [string, string] => [command.name, command.tool.title])];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    "Usage: loopkeeper [command]",
    "",
    ...rows.map(([name, about]) => `  ${name.padEnd(width)}  ${about}`),
    "",
    "A run is named by its id or by any beginning of it that names one run alone.",
    "loopkeeper <command> --help explains a command; --json prints the structured answer.",
    `Exit codes: ${Object.values(EXIT_CODES)
      .map(({ code, means }) => `${code} ${means.replaceAll("`", "")}`)
      .join("; ")}.`,
  ].join("\n");
}

/** The page that `loopkeeper <command> --help` shows. */
export function renderCommand(command: Command): string {
  const flags = flagsOf(command);
  const texts = flags.map(flagText);
  const width = Math.min(34, Math.max(...texts.map((text) => text.length)));
  return [
    `Usage: ${usageOf(command)}`,
    "",
    command.tool.description,
    "",
    ...flags.map((flag, index) => `  ${(texts[index] ?? "").padEnd(width)}  ${flag.about}`),
  ].join("\n");
}
