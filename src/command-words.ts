import { type ParseArgsConfig, parseArgs } from "node:util";
import { LoopkeeperError, messageOf } from "./run/errors.ts";

/** The words of a command that is no tool, by Node's own parser. What it does not take is `bad_input`, with the command's `help`. */
export function parseWords<const C extends ParseArgsConfig>(config: C, help: string): ReturnType<typeof parseArgs<C>> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new LoopkeeperError("bad_input", `${messageOf(error)}\n${help}`);
  }
}
