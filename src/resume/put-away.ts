import { now } from "../run/clock.ts";
import type { ChangeEvents, NewRunEvent } from "../run/event.ts";
import type { RunRecord } from "../run/run.ts";
import type { RequestRecord, RunChange } from "../store/store.ts";
import { type HoldContext, holding } from "./hold-run.ts";
import { type Reclaimed, reclaimRun } from "./reclaim.ts";
import type { ReasonDeps } from "./reclaim-reasons.ts";
import type { Sessions } from "./run-size.ts";

/** Archiving and freeing a run, for its owner and for a retention policy alike: the same rule, the same record of it. */

export interface PutAwayContext extends HoldContext, ReasonDeps {
  readonly store: HoldContext["store"];
  readonly engines: HoldContext["engines"] & ReasonDeps["engines"];
  readonly sessions: Sessions;
}

export interface PutAway {
  readonly archived: boolean;
  readonly reclaim: boolean;
  /** Who does it, and in the policy's case by which of its rules. */
  readonly by: "owner" | "policy";
  readonly why: string | null;
  /** Stored with the effect: what the call answers with. */
  request?(own: Readonly<Record<string, unknown>>): RequestRecord;
}

/** What `run_archive` answers beside the run. */
export interface PutAwayAnswer {
  readonly kept: string[];
  readonly freed: string[];
  readonly freed_bytes?: number;
  readonly kept_bytes?: number;
}

export interface PutAwayResult {
  readonly run: RunRecord;
  /** Null when freeing was not asked for, or had been done before. */
  readonly reclaimed: Reclaimed | null;
  readonly answer: PutAwayAnswer;
}

/** `revision_conflict` or `already_running` when somebody else is at the run; then nothing was changed. */
export async function putAway(ctx: PutAwayContext, run: RunRecord, wish: PutAway): Promise<PutAwayResult> {
  if (!wish.reclaim) return store(ctx, run, wish, null, null);
  return holding(ctx, run, async (lease) => {
    const reclaimed = run.reclaimed_at === null ? await reclaimRun(ctx, run, lease) : null;
    return store(ctx, run, wish, reclaimed, lease);
  });
}

/**
 * Frees a run for a policy, which also archives it: but only with that, so that what exists nowhere else stays in the lists.
 * `news`: told why it was kept; when it answers true, that becomes an event of the run.
 */
export async function freeByPolicy(
  ctx: PutAwayContext,
  run: RunRecord,
  why: string,
  news: (kept: Reclaimed) => Promise<boolean>,
): Promise<Reclaimed> {
  return holding(ctx, run, async (lease) => {
    const reclaimed = await reclaimRun(ctx, run, lease);
    if (reclaimed.done) {
      await store(ctx, run, { archived: true, reclaim: true, by: "policy", why }, reclaimed, lease);
      return reclaimed;
    }
    const at = now();
    const events: ChangeEvents = (await news(reclaimed))
      ? [{ type: "reclaim_kept", at, data: { by: "policy", why, kept: reclaimed.kept } }]
      : [{ type: "run_let_go", at, data: { fence: lease.fence } }];
    await ctx.store.apply({ run_id: run.run_id, at, fence: lease.fence, bump_revision: false, tree_hold: null, events });
    return reclaimed;
  });
}

async function store(
  ctx: PutAwayContext,
  run: RunRecord,
  wish: PutAway,
  reclaimed: Reclaimed | null,
  lease: { readonly fence: number } | null,
): Promise<PutAwayResult> {
  const at = now();
  const answer = answerOf(reclaimed);
  const change: RunChange = {
    run_id: run.run_id,
    at,
    ...(lease === null ? {} : { fence: lease.fence, tree_hold: null }),
    expected_revision: run.revision,
    bump_revision: true,
    run: {
      archived_at: wish.archived ? (run.archived_at ?? at) : null,
      // A run that was put away does not wake up by itself.
      ...(wish.archived ? { waiting_until: null } : {}),
      ...(reclaimed?.done ? { reclaimed_at: at } : {}),
    },
    checkpoints: (reclaimed?.gone ?? []).map((record) => ({ ...record, state: "lost" as const })),
    events: eventsOf(run, at, wish, reclaimed),
    ...(wish.request === undefined ? {} : { request: wish.request({ ...answer }) }),
  };
  return { run: await ctx.store.apply(change), reclaimed, answer };
}

function answerOf(reclaimed: Reclaimed | null): PutAwayAnswer {
  if (reclaimed === null) return { kept: [], freed: [] };
  const { kept, freed, freed_bytes, kept_bytes } = reclaimed;
  return { kept: [...kept], freed: [...freed], freed_bytes, kept_bytes };
}

function eventsOf(run: RunRecord, at: string, wish: PutAway, reclaimed: Reclaimed | null): ChangeEvents {
  const { by, why } = wish;
  const events: NewRunEvent[] = [];
  if (wish.archived && run.archived_at === null) events.push({ type: "run_archived", at, data: { by, why } });
  if (!wish.archived && run.archived_at !== null) events.push({ type: "run_unarchived", at, data: { by } });
  if (reclaimed !== null) {
    const { freed, kept, freed_bytes, kept_bytes } = reclaimed;
    const data = { by, why, freed_bytes, kept_bytes, freed, kept };
    events.push(reclaimed.done ? { type: "run_reclaimed", at, data } : { type: "reclaim_kept", at, data });
  }
  const [first, ...rest] = events;
  return first === undefined ? [{ type: "archive_confirmed", at, data: { by, archived: wish.archived } }] : [first, ...rest];
}
