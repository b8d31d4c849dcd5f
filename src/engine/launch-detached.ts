import { inQuotes } from "../run/shell-quoted.ts";
import type { Environment } from "./environment.ts";
import { spawnLoose } from "./process.ts";

/**
 * Starts a program that is nobody's child: a shell starts it in the background and exits at once, so that its parent is
 * init. Clients that end kill the descendants of their MCP servers, detached ones too; this one they do not find.
 */
export function launchDetached(input: {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  readonly log_file: string;
}): void {
  const words = [input.command, ...input.args].map(inQuotes).join(" ");
  spawnLoose({ command: `${words} </dev/null >>${inQuotes(input.log_file)} 2>&1 &`, cwd: input.cwd, env: input.env });
}
