import { expect, it } from "vitest";
import { commandsOf } from "../../src/cli/commands.ts";
import { EXAMPLES } from "../../src/cli/examples.ts";
import { parseCommandLine } from "../../src/cli/flags.ts";
import { renderCommand } from "../../src/cli/render.ts";
import { TOOLS } from "../../src/tools/index.ts";

const commands = commandsOf(TOOLS);

it("is there for every tool, with examples", () => {
  expect(commands.map((command) => command.tool.name).toSorted()).toEqual(TOOLS.map((tool) => tool.name).toSorted());
  for (const command of commands) expect(renderCommand(command)).toContain("Examples:");
});

const lines = commands.flatMap((command) => (EXAMPLES[command.name] ?? []).map(({ line }) => ({ command, line })));

it.each(lines)("has an example that its tool takes: $line", ({ command, line }) => {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/gu)].map((match) => match[1] ?? match[2] ?? "");
  expect(words.slice(0, 2)).toEqual(["loopkeeper", command.name]);
  const { args } = parseCommandLine(
    command,
    words.slice(2).filter((word) => word !== "--steps" && !word.startsWith("@steps")),
  );
  const completed = {
    ...(command.positional[0] === "run_id" ? { run_id: "x" } : {}),
    ...(command.name === "start" ? { repo: "." } : {}),
    ...args,
  };
  expect(command.tool.parse(completed)).toMatchObject({ success: true });
});
