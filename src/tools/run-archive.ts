import { z } from "zod";
import { type Reclaimed, reclaimRun } from "../resume/reclaim.ts";
import { refusalOf, refusedWhen } from "../resume/refusals.ts";
import { now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import type { NewRunEvent } from "../run/event.ts";
import type { RunRecord } from "../run/run.ts";
import type { Call } from "./context.ts";
import { defineTool } from "./define-tool.ts";
import { checkRevision, refuseIf } from "./guards.ts";
import { holding } from "./hold-run.ts";
import { common, findRun } from "./present.ts";
import { commonShape, expectedRevisionArgument, requestIdArgument, runIdArgument } from "./schemas.ts";
import { renderAnswer, section } from "./text.ts";

const output = z.object({
  ...commonShape,
  /** What was asked to be freed and was not, and why. */
  kept: z.array(z.string()),
  freed: z.array(z.string()),
});
type Answer = z.output<typeof output>;

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
  output,
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
    if (!reclaim) return store(call, run, { archived, lease: null, reclaimed: null });
    return holding(call.ctx, run, async (lease) => {
      const already = run.reclaimed_at !== null;
      const reclaimed = already ? null : await reclaimRun(call.ctx, run, lease);
      return store(call, run, { archived, lease, reclaimed });
    });
  },
  render: (answer) =>
    renderAnswer(answer, [
      section("Freed", answer.freed),
      section("Kept, because it is needed or exists nowhere else", answer.kept),
    ]),
});

interface Done {
  readonly archived: boolean;
  readonly lease: { readonly fence: number } | null;
  readonly reclaimed: Reclaimed | null;
}

async function store({ ctx, request }: Call, run: RunRecord, { archived, lease, reclaimed }: Done): Promise<Answer> {
  const at = now();
  const own = { kept: [...(reclaimed?.kept ?? [])], freed: [...(reclaimed?.freed ?? [])] };
  const gone = new Set(reclaimed?.checkpoints ?? []);
  const records = gone.size === 0 ? [] : await ctx.store.checkpoints(run.run_id, 100_000);
  const changed = await ctx.store.apply({
    run_id: run.run_id,
    at,
    ...(lease === null ? {} : { fence: lease.fence, tree_hold: null }),
    expected_revision: run.revision,
    bump_revision: true,
    run: {
      archived_at: archived ? (run.archived_at ?? at) : null,
      // A run that was put away does not wake up by itself.
      ...(archived ? { waiting_until: null } : {}),
      ...(reclaimed?.done ? { reclaimed_at: at } : {}),
    },
    checkpoints: records.filter((record) => gone.has(record.id)).map((record) => ({ ...record, state: "lost" as const })),
    events: eventsOf(run, at, archived, reclaimed),
    ...(request === null ? {} : { request: request.record(run.run_id, own) }),
  });
  return { ...(await common(ctx, changed, { summary: summaryOf(changed, archived, reclaimed) })), ...own };
}

function eventsOf(run: RunRecord, at: string, archived: boolean, reclaimed: Reclaimed | null): NewRunEvent[] {
  const events: NewRunEvent[] = [];
  if (archived && run.archived_at === null) events.push({ type: "run_archived", at, data: {} });
  if (!archived && run.archived_at !== null) events.push({ type: "run_unarchived", at, data: {} });
  if (reclaimed?.done) events.push({ type: "run_reclaimed", at, data: { freed: reclaimed.freed, kept: reclaimed.kept } });
  return events;
}

function summaryOf(run: RunRecord, archived: boolean, reclaimed: Reclaimed | null): string {
  if (!archived)
    return `Run ${run.run_id} was brought back.${run.reclaimed_at === null ? "" : ` Its workspace was freed at ${run.reclaimed_at}, so it can be read but not resumed.`}`;
  if (reclaimed === null)
    return `Run ${run.run_id} is archived.${run.reclaimed_at === null ? "" : ` Its workspace was freed at ${run.reclaimed_at}.`}`;
  return reclaimed.done
    ? `Run ${run.run_id} is archived and its workspace was freed.`
    : `Run ${run.run_id} is archived. Nothing was freed: ${reclaimed.kept.length} things exist nowhere else, see kept.`;
}
