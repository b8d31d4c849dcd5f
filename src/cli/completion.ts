import { LoopkeeperError } from "../run/errors.ts";
import { type Command, commandsOf } from "./commands.ts";
import { type CliDoor, callerOf } from "./door.ts";
import { knownRuns } from "./find-run.ts";
import { type Flag, flagsOf } from "./flags.ts";
import { cutTo } from "./layout.ts";
import { spelledOut } from "./spell-out.ts";

/** What may stand where a person pressed Tab. */
interface Candidate {
  readonly value: string;
  readonly about: string;
}

/**
 * `loopkeeper complete -- WORDS...`: candidates for the last word, a line each, `value<Tab>about`. The shells' scripts call it, so
 * that all three know the same: what the tools' schemas and the store say now.
 */
export async function complete(words: readonly string[], door: CliDoor): Promise<number> {
  const typed = words[0] === "--" ? words.slice(1) : words;
  const current = typed.at(-1) ?? "";
  const found = (await candidates(typed, door)).filter((one) => one.value.startsWith(current));
  // A line break or a tab in an objective would be a candidate of its own.
  const lines = found.map(({ value, about }) => `${value}\t${cutTo(String(spelledOut(about)).replaceAll(/\s+/gu, " "), 60)}`);
  if (lines.length > 0) door.out(lines.join("\n"));
  return 0;
}

async function candidates(typed: readonly string[], door: CliDoor): Promise<readonly Candidate[]> {
  const commands = commandsOf(door.tools);
  const [name = ""] = typed;
  if (typed.length <= 1 || (typed.length === 2 && name === "help")) return [...commands.map(ofTool), ...others(door)];
  const command = commands.find((one) => one.name === name);
  if (command === undefined) return (await door.words(name)).map(plain);
  return ofCommand(command, typed.slice(1), door);
}

const ofTool = (command: Command): Candidate => ({ value: command.name, about: command.tool.title });
const plain = (value: string): Candidate => ({ value, about: "" });
const others = (door: CliDoor): readonly Candidate[] => Object.entries(door.others).map(([value, about]) => ({ value, about }));

async function ofCommand(command: Command, typed: readonly string[], door: CliDoor): Promise<readonly Candidate[]> {
  const flags = flagsOf(command);
  const current = typed.at(-1) ?? "";
  const before = typed.slice(0, -1);
  const waiting = flagNamed(flags, before.at(-1) ?? "");
  if (waiting !== null && waiting.kind !== "switch") return valuesOf(waiting, door);
  if (current.startsWith("-")) return flagWords(command, flags);
  const given = before.filter((word, index) => !word.startsWith("-") && !takesNext(flags, before[index - 1] ?? "")).length;
  const argument = command.positional[given];
  const flag = flags.find((one) => one.argument === argument);
  return flag === undefined ? [] : valuesOf(flag, door);
}

const flagNamed = (flags: readonly Flag[], word: string): Flag | null => flags.find((flag) => word === `--${flag.name}`) ?? null;
const takesNext = (flags: readonly Flag[], word: string): boolean => (flagNamed(flags, word)?.kind ?? "switch") !== "switch";

function flagWords(command: Command, flags: readonly Flag[]): readonly Candidate[] {
  return [
    ...flags.flatMap((flag) => [
      { value: `--${flag.name}`, about: flag.about },
      ...(flag.kind === "switch" ? [{ value: `--no-${flag.name}`, about: flag.about }] : []),
    ]),
    ...command.switches.map(({ name, about }) => ({ value: `--${name}`, about })),
    { value: "--json", about: "print the structured answer alone" },
    { value: "--help", about: "explain the command" },
  ];
}

async function valuesOf(flag: Flag, door: CliDoor): Promise<readonly Candidate[]> {
  if (flag.choices !== null) return flag.choices.map(plain);
  if (flag.argument === "agent") return (await door.words("agent")).map(plain);
  if (flag.argument !== "run_id") return [];
  const list = door.tools.find((tool) => tool.name === "run_list");
  const runs = await knownRuns({ list, call: door.call, caller: callerOf(door), cwd: door.cwd }).catch((error: unknown) => {
    if (error instanceof LoopkeeperError) return [];
    throw error;
  });
  return [{ value: "@last", about: "the newest run of this repository" }, ...runs.map(({ id, about }) => ({ value: id, about }))];
}
