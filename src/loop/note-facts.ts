import type { NoteFacts } from "../resume/note.ts";
import type { AttemptRecord } from "../run/run.ts";
import type { Drive } from "./drive.ts";

/** The facts of the note for a continued run; null when no stop was ever recorded. */
export async function noteFacts(drive: Drive, record: AttemptRecord): Promise<NoteFacts | null> {
  const { store } = drive.ctx;
  const { stop } = drive.run;
  if (stop === null) return null;
  const [acts, iterations] = await Promise.all([store.acts(drive.run.run_id, 50), store.iterations(drive.run.run_id, 1)]);
  return {
    run: drive.run,
    stop,
    steps: drive.steps,
    acts,
    // At an entry the files are as the step began, but branch, remote and locks are as others left them.
    drift: drive.drift,
    told: drive.told,
    entry: record.started_from === "entry",
    unfinished: iterations[0]?.finished === false,
  };
}
