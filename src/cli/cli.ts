import { LoopkeeperError } from "../run/errors.ts";
import { type Command, commandsOf } from "./commands.ts";
import { complete } from "./completion.ts";
import { completionScript } from "./completion-scripts.ts";
import { confirmed, reclaimed } from "./confirm.ts";
import { type CliDoor, callerOf } from "./door.ts";
import { EXIT_CODES } from "./exit-code.ts";
import { findRunId } from "./find-run.ts";
import { parseCommandLine } from "./flags.ts";
import { readDiff, readTranscript } from "./reading.ts";
import { renderCommand, renderOverview } from "./render.ts";
import { type Session, show, showError } from "./show.ts";
import { nearest } from "./suggest.ts";
import { waited } from "./waiting.ts";

/** Runs one command, `words` without program and script. Resolves to the exit code. */
export async function runCli(words: readonly string[], terminal: CliDoor): Promise<number> {
  const [name = "help", ...rest] = words;
  const json = rest.includes("--json");
  const door: CliDoor = { ...terminal, audience: json ? "agent" : "shell" };
  const commands = commandsOf(door.tools);
  try {
    if (isHelp(name)) {
      const [about] = rest.filter((word) => !word.startsWith("-"));
      door.out(about === undefined ? renderOverview(commands, door.others) : renderCommand(commandNamed(about, commands, door)));
      return EXIT_CODES.ok.code;
    }
    if (name === "complete") return await complete(rest, door);
    if (name === "completion") {
      door.out(completionScript(rest[0]));
      return EXIT_CODES.ok.code;
    }
    return await runCommand(commandNamed(name, commands, door), rest, door);
  } catch (error) {
    if (!(error instanceof LoopkeeperError)) throw error;
    showError(door, { code: error.code, text: error.said[json ? "agent" : "shell"] }, json);
    return EXIT_CODES.error.code;
  }
}

async function runCommand(command: Command, words: readonly string[], door: CliDoor): Promise<number> {
  const line = parseCommandLine(command, words);
  if (line.help) {
    door.out(renderCommand(command));
    return EXIT_CODES.ok.code;
  }
  const args = await filledIn(command, line.args, door);
  return carryOut({ door, command, line, args });
}

async function carryOut(session: Session): Promise<number> {
  const { door, command, line, args } = session;
  switch (command.name) {
    case "reset":
    case "redo":
      return confirmed(session);
    case "wait":
      return waited(session);
    case "diff":
      return readDiff(session);
    case "transcript":
      return readTranscript(session);
    case "archive":
      if (args["reclaim"] === true && args["archived"] !== false && !line.json && door.canAsk) return reclaimed(session);
      break;
  }
  return show(session, await door.call(command.tool, args, callerOf(door)));
}

/** What a person at a terminal may leave out or shorten: the repository they stand in, and most of a run's id. */
async function filledIn(command: Command, args: Record<string, unknown>, door: CliDoor): Promise<Record<string, unknown>> {
  const given = args["run_id"] ?? (command.run === "newest" ? "@last" : undefined);
  if (typeof given === "string") {
    const list = door.tools.find((tool) => tool.name === "run_list");
    const run_id = await findRunId(given, { list, call: door.call, caller: callerOf(door), cwd: door.cwd });
    return { ...args, run_id };
  }
  return command.name === "start" ? { repo: door.cwd, ...args } : args;
}

function commandNamed(name: string, commands: readonly Command[], door: CliDoor): Command {
  const command = commands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const known = [...Object.keys(door.others), ...commands.map((candidate) => candidate.name)];
  const near = nearest(name, known);
  const meant = near === null ? "" : ` Did you mean ${near}?`;
  throw new LoopkeeperError(
    "bad_input",
    `there is no command "${name}".${meant} Commands: ${known.join(", ")}; loopkeeper --help explains them.`,
  );
}

function isHelp(word: string): boolean {
  return word === "help" || word === "--help" || word === "-h";
}
