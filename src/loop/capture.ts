import type { Captured } from "../checkpoint/checkpoint.ts";
import { checkpointRecord } from "../resume/checkpoint-record.ts";
import { now } from "../run/clock.ts";
import { LeaseLostError, LoopkeeperError, messageOf, systemCode } from "../run/errors.ts";
import { newCheckpointId } from "../run/id.ts";
import type { CheckpointKind, CheckpointRecord } from "../run/run.ts";
import { type Drive, loopStop, StopRun } from "./drive.ts";

/** Captures the working tree and stores the checkpoint's record. A tree that cannot be recorded stops the run as `storage`. */
export async function captureCheckpoint(
  drive: Drive,
  input: { readonly kind: CheckpointKind; readonly step: string | null; readonly attempt: number | null },
): Promise<{ readonly id: string; readonly captured: Captured }> {
  const id = newCheckpointId();
  const captured = await captureOrStop(drive, id, input.kind);
  await drive.apply({
    bump_revision: false,
    checkpoints: [recordOf(drive, captured, input)],
    events: [{ type: "checkpoint_taken", at: now(), data: { checkpoint: id, ...input } }],
  });
  return { id, captured };
}

export async function captureOrStop(drive: Drive, id: string, kind: CheckpointKind): Promise<Captured> {
  try {
    return await drive.ctx.checkpoints.capture(drive.repo, { run_id: drive.run.run_id, id, kind, thorough: kind === "stop" });
  } catch (error) {
    if (error instanceof LeaseLostError) throw error;
    throw new StopRun(loopStop("storage", captureFault(error)));
  }
}

/** What a failed capture says to people: our own message, or the system's code. */
export function captureFault(error: unknown): string {
  if (error instanceof LoopkeeperError) return `the checkpoint failed: ${error.message}`;
  return `the checkpoint failed (${systemCode(error) ?? "git refused"}): ${messageOf(error).slice(0, 300)}`;
}

/** The record of a checkpoint taken now, at the run's present iteration. */
export function recordOf(
  drive: Drive,
  captured: Captured,
  about: Pick<CheckpointRecord, "kind" | "step" | "attempt">,
): CheckpointRecord {
  return checkpointRecord(captured, { ...about, iteration: drive.run.iteration, at: now() });
}
