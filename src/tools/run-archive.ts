import { z } from "zod";
import { putAway } from "../resume/put-away.ts";
import type { Reclaimed } from "../resume/reclaim.ts";
import { refusalOf, refusedWhen } from "../resume/refusals.ts";
import { bytesText } from "../run/bytes.ts";
import { LoopkeeperError } from "../run/errors.ts";
import type { RunRecord } from "../run/run.ts";
import { defineTool } from "./define-tool.ts";
import { checkRevision, refuseIf } from "./guards.ts";
import { sessionsHere } from "./host-view.ts";
import { common, findRun } from "./present.ts";
import { commonShape, expectedRevisionArgument, requestIdArgument, runIdArgument } from "./schemas.ts";
import { renderAnswer, section } from "./text.ts";

export const archiveOutput = z.object({
  ...commonShape,
  /** What was asked to be freed and was not, and why. */
  kept: z.array(z.string()),
  freed: z.array(z.string()),
  /** Bytes on this disk, when freeing was asked for. */
  freed_bytes: z.number().int().optional(),
  kept_bytes: z.number().int().optional(),
});

export const runArchive = defineTool({
  name: "run_archive",
  title: "Put a run away",
  description: `Put a run that is not live away: it leaves run_list, briefs no new run and cannot be resumed until archived: false. Record, transcript and checkpoints stay readable. reclaim: true also frees its worktree and the agent's files, never by force: as long as anything is uncommitted, unpushed or exists nowhere else, all of it stays and is named in kept. Use when its work was taken over or is no longer wanted. Not for stopping (run_stop) or undoing (run_reset). ${refusedWhen("archive")}`,
  effect: "write",
  idempotent: true,
  openWorld: false,
  input: z.strictObject({
    run_id: runIdArgument,
    archived: z.boolean().optional().describe("false brings an archived run back; default true."),
    reclaim: z
      .boolean()
      .optional()
      .describe("Also free its worktree and the agent's files, when all of it exists elsewhere; default false. Not undone."),
    request_id: requestIdArgument,
    expected_revision: expectedRevisionArgument,
  }),
  output: archiveOutput,
  handle: async (args, call) => {
    const run = await findRun(call.ctx, args.run_id);
    refuseIf(refusalOf("archive", run));
    checkRevision(run, args.expected_revision);
    const archived = args.archived ?? true;
    const reclaim = args.reclaim ?? false;
    if (!archived && reclaim)
      throw new LoopkeeperError(
        "bad_input",
        "reclaim goes with archiving: what is to be freed cannot be brought back. Leave one of the two out.",
      );
    const { ctx, request } = call;
    const done = await putAway({ ...ctx, sessions: sessionsHere(ctx) }, run, {
      archived,
      reclaim,
      by: "owner",
      why: null,
      ...(request === null ? {} : { request: (own) => request.record(run.run_id, own) }),
    });
    return { ...(await common(ctx, done.run, { summary: summaryOf(done.run, archived, done.reclaimed) })), ...done.answer };
  },
  render: (answer) =>
    renderAnswer(answer, [
      section("Freed", answer.freed),
      section("Kept, because it is needed or exists nowhere else", answer.kept),
    ]),
});

function summaryOf(run: RunRecord, archived: boolean, reclaimed: Reclaimed | null): string {
  if (!archived)
    return `Run ${run.run_id} was brought back.${run.reclaimed_at === null ? "" : ` Its workspace was freed at ${run.reclaimed_at}, so it can be read but not resumed.`}`;
  if (reclaimed === null)
    return `Run ${run.run_id} is archived.${run.reclaimed_at === null ? "" : ` Its workspace was freed at ${run.reclaimed_at}.`}`;
  return reclaimed.done
    ? `Run ${run.run_id} is archived and its workspace was freed (${bytesText(reclaimed.freed_bytes)}${reclaimed.kept_bytes === 0 ? "" : `; ${bytesText(reclaimed.kept_bytes)} stay`}).`
    : `Run ${run.run_id} is archived. Nothing was freed (${bytesText(reclaimed.kept_bytes)} stay): ${reclaimed.kept.length} things exist nowhere else, see kept.`;
}
