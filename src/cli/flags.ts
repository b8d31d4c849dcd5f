import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { z } from "zod";
import { LoopkeeperError } from "../run/errors.ts";
import { type Command, mayBeLeftOut, type Switch } from "./commands.ts";
import { type FlagKind, toArgument } from "./flag-values.ts";
import { nearest } from "./suggest.ts";

export interface Flag {
  readonly argument: string;
  readonly name: string;
  readonly kind: FlagKind;
  readonly required: boolean;
  readonly about: string;
  readonly choices: readonly string[] | null;
}

export interface CommandLine {
  readonly args: Record<string, unknown>;
  readonly json: boolean;
  readonly help: boolean;
  /** Switches of the command line that were given, true or (with `--no-`) false. */
  readonly switches: Readonly<Partial<Record<Switch["name"], boolean>>>;
}

const propertySchema = z.looseObject({
  type: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
  items: z.looseObject({ type: z.string().optional() }).optional(),
});
const inputSchema = z.looseObject({
  properties: z.record(z.string(), propertySchema).optional(),
  required: z.array(z.string()).optional(),
});

/** Flags of a command, made from its tool's input schema: `max_iterations` is `--max-iterations`. */
export function flagsOf(command: Command): readonly Flag[] {
  const known = flagsByTool.get(command.tool) ?? flagsFrom(command);
  flagsByTool.set(command.tool, known);
  return known;
}

/** A schema is turned into JSON once a process: sentences are put into the words of flags many times. */
const flagsByTool = new WeakMap<Command["tool"], readonly Flag[]>();

function flagsFrom(command: Command): readonly Flag[] {
  const schema = inputSchema.parse(z.toJSONSchema(command.tool.input, { io: "input" }));
  return Object.entries(schema.properties ?? {}).map(([argument, property]) => ({
    argument,
    name: argument.replaceAll("_", "-"),
    kind: kindOf(property),
    required: schema.required?.includes(argument) ?? false,
    about: property.description ?? "",
    choices: property.enum ?? null,
  }));
}

function kindOf(property: z.infer<typeof propertySchema>): FlagKind {
  switch (property.type) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "switch";
    case "array":
      return property.items?.type === "string" ? "list" : "json";
    default:
      return "json";
  }
}

/** The tool's arguments from the words after the command. `bad_input` names the flags there are. */
export function parseCommandLine(command: Command, words: readonly string[]): CommandLine {
  const flags = flagsOf(command);
  const { values, positionals } = readWords(command, flags, words);
  const args: Record<string, unknown> = {};
  for (const flag of flags) {
    const value = values[flag.name];
    if (value !== undefined) args[flag.argument] = toArgument(flag, value);
  }
  for (const [position, word] of positionals.entries()) {
    const flag = flags.find((candidate) => candidate.argument === command.positional[position]);
    if (flag === undefined) throw new LoopkeeperError("bad_input", `"${word}" is one word too many. ${shortUsageOf(command)}`);
    args[flag.argument] = toArgument(flag, word);
  }
  const help = values["help"] === true;
  if (!help) checkMissing(command, flags, args);
  return { args, json: values["json"] === true, help, switches: switchesIn(command, values) };
}

function switchesIn(command: Command, values: Readonly<Record<string, unknown>>): CommandLine["switches"] {
  const given: Partial<Record<Switch["name"], boolean>> = {};
  for (const { name } of command.switches) {
    const value = values[name];
    if (typeof value === "boolean") given[name] = value;
  }
  return given;
}

function checkMissing(command: Command, flags: readonly Flag[], args: Readonly<Record<string, unknown>>): void {
  const missing = flags.filter(
    (flag) => args[flag.argument] === undefined && !mayBeLeftOut(command, flag.argument, flag.required),
  );
  if (missing.length === 0) return;
  const named = missing.map((flag) => (command.positional.includes(flag.argument) ? `<${flag.name}>` : `--${flag.name}`));
  throw new LoopkeeperError("bad_input", `${command.name} needs ${named.join(" and ")}. ${shortUsageOf(command)}`);
}

function readWords(command: Command, flags: readonly Flag[], words: readonly string[]) {
  const options: ParseArgsOptionsConfig = { json: { type: "boolean" }, help: { type: "boolean", short: "h" } };
  for (const flag of flags) {
    options[flag.name] = { type: flag.kind === "switch" ? "boolean" : "string", multiple: flag.kind === "list" };
  }
  for (const { name } of command.switches) options[name] = { type: "boolean" };
  if (options["yes"] !== undefined) options["yes"] = { type: "boolean", short: "y" };
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, allowNegative: true });
  } catch (error) {
    throw new LoopkeeperError("bad_input", `${whatIsWrong(error, Object.keys(options))} ${shortUsageOf(command)}`);
  }
}

/** Node's own words where they help; an unknown flag is told with the one that was meant. */
function whatIsWrong(error: unknown, known: readonly string[]): string {
  const message = error instanceof Error ? error.message : String(error);
  const unknown = /^Unknown option '(?:-[^-], )?--?([^']+)'/u.exec(message)?.[1];
  if (unknown === undefined) return `${message.replace(/\.$/u, "")}.`;
  const near = nearest(unknown.replace(/^no-/u, ""), known);
  return `There is no flag --${unknown}.${near === null ? "" : ` Did you mean --${near}?`}`;
}

/** For an error: what stands where, and where the flags are explained. */
function shortUsageOf(command: Command): string {
  return `Usage: loopkeeper ${[command.name, ...positionsOf(command)].join(" ")} [flags]; loopkeeper ${command.name} --help explains them.`;
}

function positionsOf(command: Command): readonly string[] {
  const flags = flagsOf(command);
  return command.positional.map((argument) => {
    const required = flags.find((flag) => flag.argument === argument)?.required ?? false;
    const name = `<${argument.replaceAll("_", "-")}>`;
    return mayBeLeftOut(command, argument, required) ? `[${name}]` : name;
  });
}

/** One line: `loopkeeper grant <run-id> <iterations> [--flags]` with all flags named. */
export function usageOf(command: Command): string {
  const flags = flagsOf(command);
  const rest = flags
    .filter((flag) => !command.positional.includes(flag.argument))
    .map((flag) => (mayBeLeftOut(command, flag.argument, flag.required) ? `[${flagText(flag)}]` : flagText(flag)));
  const switches = command.switches.map(({ name }) => `[--${name}]`);
  return ["Usage: loopkeeper", command.name, ...positionsOf(command), ...rest, ...switches, "[--json]"].join(" ");
}

export function flagText(flag: Flag): string {
  const names = { text: "<text>", number: "<number>", list: "<text>...", json: "<json>" } as const;
  if (flag.kind === "switch") return `--[no-]${flag.name}`;
  const value = flag.choices === null ? names[flag.kind] : flag.choices.join("|");
  return `--${flag.name} ${value}`;
}
