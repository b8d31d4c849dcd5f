import { driftRefusal } from "../resume/drift-gate.ts";
import { driftSinceStop } from "../resume/drift-since.ts";
import { messageOf } from "../run/errors.ts";
import { type Drive, loopStop, StopRun } from "./drive.ts";
import type { Resumed } from "./resumed.ts";

/**
 * Looks at what others changed since the stop, before the workspace is made again or an engine starts: afterwards a rebuilt
 * worktree looks as if nothing had happened. The caller's door looked too, to decide; what lies between the two looks is seen
 * only here. The remote is asked once: the door's answer is used.
 */
export async function lookAtDrift(drive: Drive, resumed: Resumed | null): Promise<void> {
  const { ctx, run } = drive;
  if (run.stop === null) return;
  const remote = resumed?.remote?.answer ?? ctx.settings.fetch_remote;
  try {
    drive.drift = await driftSinceStop(ctx, run, run.stop, remote);
  } catch (error) {
    ctx.log("warn", "drift could not be looked at", { run_id: run.run_id, error: messageOf(error) });
    return;
  }
  refuseUnasked(drive, resumed);
}

/** What needs a person's word is refused when the run goes on by itself; `refuse` holds until the engine starts. */
function refuseUnasked(drive: Drive, resumed: Resumed | null): void {
  if (resumed === null || drive.drift === null) return;
  const alone = resumed.by === "auto_resume";
  if (!alone && resumed.on_drift !== "refuse") return;
  const on_drift = resumed.on_drift ?? undefined;
  const refused = driftRefusal(drive.run, drive.drift, { from: resumed.from, ...(on_drift === undefined ? {} : { on_drift }) });
  if (refused === null) return;
  const text = `${refused.word}: ${refused.message}`;
  throw new StopRun(
    loopStop("escalated", `it was not continued: ${text}`, { question: { kind: "question", text, command: null } }),
  );
}
