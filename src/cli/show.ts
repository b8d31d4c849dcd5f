import { visible } from "../resume/shown.ts";
import type { CallResult } from "../tools/call.ts";
import { type Command, commandsOf } from "./commands.ts";
import type { CliDoor } from "./door.ts";
import { exitCodeOf } from "./exit-code.ts";
import type { CommandLine } from "./flags.ts";
import { paintFor } from "./layout.ts";
import { safeJson } from "./spell-out.ts";
import type { ViewContext } from "./view.ts";
import { viewOf } from "./views.ts";

/** One command with what was typed behind it, its run's id already found. */
export interface Session {
  readonly door: CliDoor;
  readonly command: Command;
  readonly line: CommandLine;
  readonly args: Readonly<Record<string, unknown>>;
}

export function contextOf(door: CliDoor): ViewContext {
  return { screen: door.screen, paint: paintFor(door.screen.colour), commands: commandsOf(door.tools) };
}

/** Shows an answer or an error. Resolves to the exit code. */
export function show(session: Session, result: CallResult): number {
  const { door, line, command } = session;
  if (!result.ok) showError(door, result, line.json);
  else if (line.json) door.out(safeJson(result.structured));
  else door.out(viewOf(command.tool.name, result.structured, contextOf(door)) ?? visible(result.text));
  return exitCodeOf(result);
}

/** An error on stderr: for a program as JSON with its code, for a person as text. */
export function showError(door: CliDoor, failed: { readonly code: string; readonly text: string }, json: boolean): void {
  const message = failed.text.startsWith(`${failed.code}: `) ? failed.text.slice(failed.code.length + 2) : failed.text;
  if (json) door.err(safeJson({ error: { code: failed.code, message } }));
  else door.err(`${failed.code}: ${visible(message)}`);
}
