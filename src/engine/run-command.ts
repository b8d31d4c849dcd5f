import { redact } from "../redact/redact.ts";
import { newToken } from "../run/id.ts";
import type { CommandResult } from "./engine.ts";
import { type Environment, runEnvironment } from "./environment.ts";
import { ignoredSignals } from "./ignored-signals.ts";
import { killTree } from "./kill-tree.ts";
import { spawnShell, tailOf } from "./process.ts";

const TAIL_CHARACTERS = 4000;

export interface CommandInput {
  readonly command: string;
  readonly cwd: string;
  readonly run_id: string;
  readonly nonce: string;
  readonly timeout_s: number;
  readonly signal?: AbortSignal;
}

/**
 * Runs one shell command of the run to its end, its limit or the abort of `signal`. Exit code 126 or 127 means that it
 * could not be run. What it leaves in the background after a normal end stays, marked, until the run stops.
 */
export async function runCommand(base: Environment, input: CommandInput): Promise<CommandResult> {
  // A marker of its own: at the limit only this command's tree may be killed, not the engine of the same attempt.
  const own = newToken();
  const env = runEnvironment(base, input, { LOOPKEEPER_COMMAND: own });
  // More than is kept: a text is redacted before it is cut, or half a credential would stay.
  const output = tailOf(TAIL_CHARACTERS * 4);
  const ignored = ignoredSignals(input.run_id);
  const child = spawnShell({ command: input.command, cwd: input.cwd, env, ignored, onOutput: output.add });
  const kill = (): Promise<number> => killTree({ root: child.pid, variables: [`LOOPKEEPER_COMMAND=${own}`], ignored: [] });

  const ending = await firstOf(child.exited, input.timeout_s, input.signal);
  if (ending !== "exited") {
    child.kill();
    await kill();
  }
  const exit = await child.exited;
  return {
    exit_code: ending === "exited" ? exit.code : null,
    timed_out: ending === "timeout",
    tail: redact(output.text()).slice(-TAIL_CHARACTERS),
  };
}

function firstOf(
  exited: Promise<unknown>,
  timeoutS: number,
  signal: AbortSignal | undefined,
): Promise<"exited" | "timeout" | "aborted"> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => finish("timeout"), timeoutS * 1000);
    const abort = (): void => finish("aborted");
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
    exited.then(() => finish("exited"));
    function finish(how: "exited" | "timeout" | "aborted"): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      resolve(how);
    }
  });
}
