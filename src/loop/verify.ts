import { now } from "../run/clock.ts";
import type { StepRecord, VerifyRecord } from "../run/run.ts";
import type { Attempt } from "./attempt.ts";
import type { Drive } from "./drive.ts";

/** Runs the step's checks one after another in the workspace. A break-off leaves the remaining ones out. */
export async function runVerify(
  drive: Drive,
  step: StepRecord,
  iteration: number,
  attempt: Pick<Attempt, "sink">,
): Promise<readonly VerifyRecord[]> {
  const results: VerifyRecord[] = [];
  for (const command of step.verify) {
    if (drive.signal.aborted) break;
    const result = await drive.runCommand(command);
    const tail = result.timed_out ? `${result.tail}\n(killed after ${drive.run.settings.command_timeout_s} s)` : result.tail;
    const at = now();
    results.push({ step: step.step, command, exit_code: result.exit_code, iteration, at, tail: tail.slice(-2_000) });
    drive.journal.add({
      who: "loop",
      kind: "verify",
      text: `$ ${command}\nexit ${result.exit_code ?? "none"}\n${tail}`,
      iteration: attempt.sink.iteration,
      at,
    });
  }
  return results;
}
