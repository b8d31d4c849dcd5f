import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { z } from "zod";
import { LoopkeeperError, messageOf } from "../run/errors.ts";
import type { Command } from "./commands.ts";

/** How the text of a flag becomes the value of an argument. */
type FlagKind = "text" | "number" | "switch" | "list" | "json";

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
    if (flag === undefined) throw new LoopkeeperError("bad_input", `"${word}" is one word too many. ${usageOf(command)}`);
    args[flag.argument] = toArgument(flag, word);
  }
  return { args, json: values["json"] === true, help: values["help"] === true };
}

type FlagValue = string | boolean | (string | boolean)[];

function readWords(command: Command, flags: readonly Flag[], words: readonly string[]) {
  const options: ParseArgsOptionsConfig = { json: { type: "boolean" }, help: { type: "boolean", short: "h" } };
  for (const flag of flags) {
    options[flag.name] = { type: flag.kind === "switch" ? "boolean" : "string", multiple: flag.kind === "list" };
  }
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, allowNegative: true });
  } catch (error) {
    throw new LoopkeeperError("bad_input", `${messageOf(error)}. ${usageOf(command)}`);
  }
}

function toArgument(flag: Flag, value: FlagValue): unknown {
  if (typeof value !== "string") return value;
  if (flag.kind === "list") return [value];
  if (flag.kind === "number") return numberOf(flag, value);
  if (flag.kind === "json") return jsonOf(flag, value);
  return value;
}

function numberOf(flag: Flag, text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new LoopkeeperError("bad_input", `--${flag.name} takes a number, not "${text}".`);
}

function jsonOf(flag: Flag, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new LoopkeeperError("bad_input", `--${flag.name} takes JSON, and this is none: ${text}`);
  }
}

/** One line: `loopkeeper grant <run-id> <iterations> [--flags]` with all flags named. */
export function usageOf(command: Command): string {
  const byPosition = command.positional.map((argument) => `<${argument.replaceAll("_", "-")}>`);
  const rest = flagsOf(command).filter((flag) => !command.positional.includes(flag.argument));
  const flags = rest.map((flag) => (flag.required ? flagText(flag) : `[${flagText(flag)}]`));
  return ["loopkeeper", command.name, ...byPosition, ...flags, "[--json]"].join(" ");
}

export function flagText(flag: Flag): string {
  const names = { text: "<text>", number: "<number>", list: "<text>...", json: "<json>" } as const;
  if (flag.kind === "switch") return `--[no-]${flag.name}`;
  const value = flag.choices === null ? names[flag.kind] : flag.choices.join("|");
  return `--${flag.name} ${value}`;
}
