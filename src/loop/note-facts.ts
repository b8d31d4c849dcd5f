import type { Drift } from "../checkpoint/checkpoint.ts";
import { driftSinceStop } from "../resume/drift-since.ts";
import type { NoteFacts } from "../resume/note.ts";
import { messageOf } from "../run/errors.ts";
import type { AttemptRecord, StopRecord } from "../run/run.ts";
import type { Drive } from "./drive.ts";

/** The facts of the note for a continued run, looked at now; null when no stop was ever recorded. */
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
    drift: record.started_from === "entry" ? null : await driftSince(drive, stop),
    unfinished: iterations[0]?.finished === false,
  };
}

async function driftSince(drive: Drive, stop: StopRecord): Promise<Drift | null> {
  try {
    return await driftSinceStop(drive.ctx, drive.run, stop, drive.ctx.settings.fetch_remote);
  } catch (error) {
    drive.ctx.log("warn", "drift could not be looked at", { run_id: drive.run.run_id, error: messageOf(error) });
    return null;
  }
}
