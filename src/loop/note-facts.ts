import type { ForeignCommit } from "../checkpoint/drift-shapes.ts";
import { ownCommits } from "../resume/drift-since.ts";
import type { NoteFacts } from "../resume/note.ts";
import { recordGaps } from "../resume/record-gaps.ts";
import { restoresOf } from "../resume/taken-back.ts";
import { messageOf } from "../run/errors.ts";
import type { AttemptRecord, StopRecord } from "../run/run.ts";
import type { Drive } from "./drive.ts";

/** The facts of the note for a continued run; null when no stop was ever recorded. */
export async function noteFacts(drive: Drive, record: AttemptRecord): Promise<NoteFacts | null> {
  const { store } = drive.ctx;
  const { stop } = drive.run;
  if (stop === null) return null;
  const [acts, iterations, others, missing, restores] = await Promise.all([
    store.acts(drive.run.run_id, 50),
    store.iterations(drive.run.run_id, 1),
    othersDuring(drive, stop),
    recordGaps(store, drive.run.run_id),
    restoresOf(store, drive.run.run_id),
  ]);
  return {
    run: drive.run,
    stop,
    steps: drive.steps,
    acts,
    others,
    restores,
    gaps: missing.gaps,
    // At an entry the files are as the step began, but branch, remote and locks are as others left them.
    drift: drive.drift,
    told: drive.told,
    entry: record.started_from === "entry",
    unfinished: iterations[0]?.finished === false,
  };
}

/** What others committed between the run's beginning and its stop, on the history that it worked on. */
async function othersDuring(drive: Drive, stop: StopRecord): Promise<readonly ForeignCommit[]> {
  const { run, ctx } = drive;
  const id = stop.uncommitted?.checkpoint;
  const checkpoint = id == null ? null : await ctx.store.checkpoint(run.run_id, id);
  if (checkpoint?.head == null || drive.workspace === null) return [];
  const own = await ownCommits(ctx, run);
  try {
    return await ctx.checkpoints.foreignCommits(drive.workspace, {
      since: run.base_commit,
      head: checkpoint.head,
      own,
      limit: 20,
    });
  } catch (error) {
    ctx.log("warn", "commits of others could not be looked at", { run_id: run.run_id, error: messageOf(error) });
    return [];
  }
}
