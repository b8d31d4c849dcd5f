import { LoopkeeperError } from "../run/errors.ts";
import type { CallResult } from "../tools/call.ts";
import type { Caller } from "../tools/context.ts";
import type { Tool } from "../tools/define-tool.ts";
import type { CallTool } from "../tools/runtime.ts";
import { type Command, commandsOf } from "./commands.ts";
import { EXIT_CODES, exitCodeOf } from "./exit-code.ts";
import { findRunId } from "./find-run.ts";
import { parseCommandLine } from "./flags.ts";
import { renderCommand, renderOverview } from "./render.ts";

/** What the command line is made of. */
export interface CliDoor {
  readonly tools: readonly Tool[];
  readonly call: CallTool;
  /** Folder that `repo` means when it is left out. */
  readonly cwd: string;
  /** Commands that are no tools (`mcp`, `worker`...) and what they do, for the overview. */
  readonly others: Readonly<Record<string, string>>;
  /** Aborts when the person pressed Ctrl-C: ends the waiting. */
  readonly signal: AbortSignal;
  /** Answers. */
  out(text: string): void;
  /** Errors and progress. */
  err(text: string): void;
}

/** True when `word` is a command made from a tool, or asks for the overview. */
export function isCliCommand(word: string, tools: readonly Tool[]): boolean {
  return isHelp(word) || commandsOf(tools).some((command) => command.name === word);
}

/** Runs one command, `words` without program and script. Resolves to the exit code. */
export async function runCli(words: readonly string[], door: CliDoor): Promise<number> {
  const [name = "help", ...rest] = words;
  const commands = commandsOf(door.tools);
  if (isHelp(name)) {
    door.out(renderOverview(commands, door.others));
    return EXIT_CODES.ok.code;
  }
  try {
    return await runCommand(commandNamed(name, commands, door), rest, door);
  } catch (error) {
    if (!(error instanceof LoopkeeperError)) throw error;
    return finish({ ok: false, code: error.code, text: `${error.code}: ${error.message}` }, false, door);
  }
}

async function runCommand(command: Command, words: readonly string[], door: CliDoor): Promise<number> {
  const { args, json, help } = parseCommandLine(command, words);
  if (help) {
    door.out(renderCommand(command));
    return EXIT_CODES.ok.code;
  }
  const caller = callerOf(door);
  const completed = await complete(command, args, door, caller);
  return finish(await door.call(command.tool, completed, caller), json, door);
}

/** What a person at a terminal may leave out or shorten: the repository they stand in, and most of a run's id. */
async function complete(
  command: Command,
  args: Record<string, unknown>,
  door: CliDoor,
  caller: Caller,
): Promise<Record<string, unknown>> {
  const runId = args["run_id"];
  if (typeof runId === "string") {
    const list = door.tools.find((tool) => tool.name === "run_list");
    return { ...args, run_id: await findRunId(runId, list, door.call, caller) };
  }
  return command.name === "start" ? { repo: door.cwd, ...args } : args;
}

function finish(result: CallResult, json: boolean, door: CliDoor): number {
  if (!result.ok) door.err(result.text);
  else door.out(json ? JSON.stringify(result.structured, null, 2) : result.text);
  return exitCodeOf(result);
}

function callerOf(door: CliDoor): Caller {
  return { signal: door.signal, progress: (update) => door.err(update.message) };
}

function commandNamed(name: string, commands: readonly Command[], door: CliDoor): Command {
  const command = commands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const known = [...Object.keys(door.others), ...commands.map((candidate) => candidate.name)].join(", ");
  throw new LoopkeeperError("bad_input", `there is no command "${name}". Commands: ${known}; loopkeeper --help explains them.`);
}

function isHelp(word: string): boolean {
  return word === "help" || word === "--help" || word === "-h";
}
