import { z } from "zod";
import { checkpointRecord } from "../resume/checkpoint-record.ts";
import { resetConsequences } from "../resume/consequences.ts";
import { resetToStartRefusal, startCheckpoint } from "../resume/gate.ts";
import { uncommittedOf } from "../resume/owners.ts";
import { loadOwned } from "../resume/ownership.ts";
import { refusalOf } from "../resume/refusals.ts";
import { applyRunRestore, planRunRestore, type RunRestore } from "../resume/restore.ts";
import { now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { canonicalJson, newCheckpointId, newRunId, newToken, shortId } from "../run/id.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import { type ConfirmPayload, isExpired, mintToken, readToken } from "./confirm-token.ts";
import type { Call, ToolContext } from "./context.ts";
import { defineTool } from "./define-tool.ts";
import { checkRevision, refuseIf } from "./guards.ts";
import { common, findRun } from "./present.ts";
import { restartRun } from "./restart-run.ts";
import { commonShape, consequencesSchema, expectedRevisionArgument, requestIdArgument, runIdArgument } from "./schemas.ts";
import { renderAnswer, section } from "./text.ts";

const input = z.strictObject({
  run_id: runIdArgument,
  to: z
    .string()
    .min(1)
    .optional()
    .describe("Checkpoint to go back to; default: the run's first entry checkpoint, its very start."),
  restart: z.boolean().optional().describe("After a reset to the start: start a new run with the same settings; default false."),
  overwrite: z
    .array(z.string().min(1))
    .max(500)
    .optional()
    .describe("Exact paths that others changed since and that may be overwritten all the same."),
  confirm_token: z.string().min(1).optional().describe("From the preview, after the owner agreed."),
  request_id: requestIdArgument,
  expected_revision: expectedRevisionArgument,
});
type Args = z.output<typeof input>;

const output = z.object({
  ...commonShape,
  needs_confirmation: z.boolean().optional(),
  preview_again: z.enum(["expired", "changed"]).nullable().optional(),
  consequences: consequencesSchema.optional(),
  confirm_token: z.string().optional(),
  expires_at: z.string().optional(),
  reset: z
    .object({
      restored: z.array(z.string()),
      removed: z.array(z.string()),
      kept: z.array(z.string()),
      safety_checkpoint: z.string(),
    })
    .optional(),
  restarted_run_id: z.string().nullable().optional(),
});
type Answer = z.output<typeof output>;

/** Paths listed in an answer; the whole list is in the run's events. */
const LISTED = 50;
/** Paths outside of the run's that a token may hold as changing all the time. */
const RESTLESS = 50;

export const runReset = defineTool({
  name: "run_reset",
  title: "Reset a run's work",
  description:
    "Undo a run's work: its files and its branch go back to a checkpoint, by default its very first. Only paths that this run changed; others' work is kept. Two calls: without confirm_token it changes nothing and names the run, what happens and what cannot be undone; show this to the owner, then call again with the token. Pushes, pull requests and merges stay. After a reset to the start the run cannot be resumed; restart: true starts it anew. To continue use run_resume.",
  effect: "destructive",
  idempotent: true,
  openWorld: false,
  input,
  output,
  handle: async (args, call) => {
    const run = await findRun(call.ctx, args.run_id);
    refuseIf(refusalOf("reset", run));
    checkRevision(run, args.expected_revision);
    return args.confirm_token === undefined ? preview(args, call.ctx, run, null) : confirm(args, args.confirm_token, call, run);
  },
  render: (answer) =>
    renderAnswer(answer, [
      answer.preview_again == null
        ? null
        : `The token was not used: ${answer.preview_again === "expired" ? "it expired" : "something changed since the preview"}. This is the preview as it is now.`,
      ...(answer.consequences === undefined ? [] : consequenceLines(answer.consequences)),
      answer.confirm_token === undefined
        ? null
        : `Nothing was changed. To do it, after the owner agreed: run_reset ${JSON.stringify({ run_id: answer.run.run_id, confirm_token: answer.confirm_token })} (until ${answer.expires_at ?? ""})`,
      answer.reset === undefined ? null : section("Restored", answer.reset.restored),
      answer.reset === undefined ? null : section("Removed", answer.reset.removed),
      answer.reset === undefined ? null : section("Kept as others left it", answer.reset.kept),
      answer.reset === undefined
        ? null
        : `safety checkpoint: ${answer.reset.safety_checkpoint} (run_reset with to: this brings everything back)`,
      answer.restarted_run_id == null ? null : `restarted as: ${answer.restarted_run_id}`,
    ]),
});

function consequenceLines(consequences: z.output<typeof consequencesSchema>): (string | null)[] {
  return [
    section("What happens", consequences.happens),
    section("What it undoes", consequences.undoes),
    section("What it cannot undo", consequences.cannot_undo),
    section(
      "Conflicts, left alone (for paths, a new preview with overwrite takes them back all the same)",
      consequences.conflicts.map((conflict) => `${conflict.path}: changed by ${conflict.changed_by}`),
    ),
  ];
}

interface Wish {
  readonly to: CheckpointRecord;
  readonly to_start: boolean;
  readonly restart: boolean;
  readonly overwrite: readonly string[];
}

async function wishOf(
  args: Args,
  ctx: ToolContext,
  run: RunRecord,
  previewed: { readonly to: string; readonly restart: boolean; readonly overwrite: readonly string[] } | null,
): Promise<Wish> {
  const attempts = await ctx.store.attempts(run.run_id);
  const start = startCheckpoint(attempts);
  const id = args.to ?? previewed?.to ?? start;
  if (id === null || id === start) refuseIf(resetToStartRefusal({ run, attempts }));
  if (id === null) throw new Error(`run ${run.run_id} has no start to go back to`);
  const to = await ctx.store.checkpoint(run.run_id, id);
  if (to === null)
    throw new LoopkeeperError(
      "bad_input",
      `to: "${id}" is no checkpoint of run ${run.run_id}. run_explain_stop lists them under checkpoints.`,
    );
  const restart = args.restart ?? previewed?.restart ?? false;
  if (restart && id !== start) throw new LoopkeeperError("bad_input", "restart goes with a reset to the start; leave `to` out.");
  return { to, to_start: id === start, restart, overwrite: args.overwrite ?? previewed?.overwrite ?? [] };
}

const wishArgs = (wish: Wish): string =>
  canonicalJson({ to: wish.to.id, restart: wish.restart, overwrite: [...wish.overwrite].sort() });
const wishArgsSchema = z.strictObject({ to: z.string(), restart: z.boolean(), overwrite: z.array(z.string()) });

interface Previewed {
  readonly again: "expired" | "changed";
  readonly args: z.output<typeof wishArgsSchema>;
  /** Paths that others change all the time. */
  readonly restless: readonly string[];
}

async function preview(args: Args, ctx: ToolContext, run: RunRecord, before: Previewed | null): Promise<Answer> {
  const wish = await wishOf(args, ctx, run, before?.args ?? null);
  const restore = await planRunRestore(ctx, run, wish.to, wish.overwrite);
  refuseStrangers(restore, wish);
  const consequences = await resetConsequences(ctx, run, restore, wish);
  const { token, expires_at } = mintToken(await ctx.store.secret(), {
    action: "reset",
    run_id: run.run_id,
    owner: ctx.owner,
    revision: run.revision,
    fingerprint: restore.plan.fingerprint,
    tree: restore.plan.tree,
    index_tree: restore.plan.index_tree,
    restless: [...(before?.restless ?? [])],
    args: wishArgs(wish),
  });
  const conflicts = restore.plan.conflicts.length;
  const summary = `Nothing was changed yet. Resetting run ${run.run_id} would restore ${restore.plan.restore.length} and remove ${restore.plan.remove.length} files${conflicts === 0 ? "" : ` and leave ${conflicts} conflicts alone`}.`;
  return {
    ...(await common(ctx, run, { summary })),
    needs_confirmation: true,
    preview_again: before?.again ?? null,
    consequences,
    confirm_token: token,
    expires_at,
  };
}

/** Only paths that the run changed can be overwritten: anything else is a mistake that must not go by in silence. */
function refuseStrangers(restore: RunRestore, wish: Wish): void {
  const known = new Set(restore.paths.map((owned) => owned.path));
  const strange = wish.overwrite.filter((path) => !known.has(path));
  if (strange.length === 0) return;
  throw new LoopkeeperError(
    "bad_input",
    `overwrite: ${strange.slice(0, 5).join(", ")} is no path that this run changed since that checkpoint. Give exact paths as the preview lists them under conflicts, or leave overwrite out.`,
  );
}

async function confirm(args: Args, token: string, call: Call, run: RunRecord): Promise<Answer> {
  const { ctx } = call;
  const payload = readToken(await ctx.store.secret(), token, { action: "reset", run_id: run.run_id, owner: ctx.owner });
  const previewed = wishArgsSchema.parse(JSON.parse(payload.args));
  const wish = await wishOf(args, ctx, run, previewed);
  if (wishArgs(wish) !== payload.args)
    throw new LoopkeeperError(
      "confirm_token_invalid",
      "to, restart or overwrite differ from the preview. Leave them out to do what was previewed, or call without confirm_token for a new preview.",
    );
  const again = (why: Previewed["again"], restless: readonly string[]) =>
    preview(args, ctx, run, { again: why, args: previewed, restless });
  if (isExpired(payload)) return again("expired", payload.restless);
  if (payload.revision !== run.revision) return again("changed", payload.restless);
  const restore = await planRunRestore(ctx, run, wish.to, wish.overwrite);
  if (restore.plan.fingerprint !== payload.fingerprint) return again("changed", payload.restless);
  const moved = await movedSince(ctx, restore, payload);
  if (moved === null || moved.length > 0) return again("changed", [...payload.restless, ...(moved ?? [])].slice(0, RESTLESS));
  return carryOut(call, run, restore, wish);
}

/** Paths, none of the run's, that differ from the previewed tree and were quiet before; null when that tree is gone. */
async function movedSince(ctx: ToolContext, restore: RunRestore, payload: ConfirmPayload): Promise<readonly string[] | null> {
  const { plan, repo } = restore;
  try {
    const files = await ctx.checkpoints.changedPaths(repo, payload.tree, plan.tree);
    const staged = await ctx.checkpoints.changedPaths(repo, payload.index_tree, plan.index_tree);
    const restless = new Set(payload.restless);
    return [...new Set([...files, ...staged].map((change) => change.path))].filter((path) => !restless.has(path));
  } catch {
    return null;
  }
}

/** Holds the run and its tree while the files are taken back, then records all of it in one transaction. */
async function carryOut(call: Call, run: RunRecord, restore: RunRestore, wish: Wish): Promise<Answer> {
  const { ctx, request } = call;
  const holder = await ctx.store.holderOf(run.workspace_path);
  if (holder !== null && holder.run_id !== run.run_id)
    throw new LoopkeeperError(
      "already_running",
      `run ${holder.run_id} works in ${run.workspace_path} now. Wait for it with run_wait, then reset.`,
    );
  const lease = await ctx.store.leaseIdle(run.run_id, `door-${newToken().slice(0, 8)}`, await ctx.engines.processIdentity());
  if (lease === null)
    throw new LoopkeeperError("already_running", `another call is changing run ${run.run_id} now. Look at run_status.`);
  try {
    const at = now();
    const result = await applyRunRestore(ctx, run, restore, lease);
    const after = await captureAfter(ctx, run, restore);
    const restarted = wish.restart ? newRunId() : null;
    const own = {
      reset: {
        restored: cut(result.restored),
        removed: cut(result.removed),
        kept: cut(result.kept),
        safety_checkpoint: result.safety.id,
      },
      restarted_run_id: restarted,
    };
    const attempts = await ctx.store.attempts(run.run_id);
    const restored = await markAt(ctx, run, wish.to);
    const changed = await ctx.store.apply({
      run_id: run.run_id,
      at,
      fence: lease.fence,
      expected_revision: run.revision,
      bump_revision: true,
      run: {
        was_reset: wasReset(run, wish, result.safety.id, restored),
        waiting_until: null,
        ...(run.stop === null ? {} : { stop: { ...run.stop, uncommitted: after.uncommitted } }),
      },
      // The conversation knows files that are gone now: a rewound run goes on by hand-off.
      attempts: attempts.map((attempt) => ({ step: attempt.step, attempt: attempt.attempt, engine_session: null })),
      checkpoints: [after.record],
      events: [
        {
          type: "run_reset",
          at,
          data: {
            to: wish.to.id,
            to_start: wish.to_start,
            safety_checkpoint: result.safety.id,
            restored: result.restored,
            removed: result.removed,
            kept: result.kept,
            left_behind: result.left_behind,
            restarted_run_id: restarted,
            was_reset: run.was_reset,
          },
        },
      ],
      ...(request === null ? {} : { request: request.record(run.run_id, own) }),
    });
    if (restarted !== null) await restartRun(ctx, changed, restarted, shortId(restarted));
    const meanwhile = result.changed_meanwhile.slice(0, 10).join(", ");
    const summary = `Run ${run.run_id} was reset: ${result.restored.length} files restored, ${result.removed.length} removed, ${result.kept.length} kept as others left them.${result.left_behind === null ? "" : ` Commits left behind are kept under ${result.left_behind.ref}.`}${restarted === null ? "" : ` It was started anew as ${restarted}.`}${meanwhile === "" ? "" : ` While it was done somebody else changed ${meanwhile}.`}`;
    return { ...(await common(ctx, changed, { summary })), ...own };
  } finally {
    await ctx.store.releaseLease(run.run_id, lease.fence);
  }
}

/** At its start a run has nothing to go on with; going back to a checkpoint of a reset brings back what it was then. */
function wasReset(run: RunRecord, wish: Wish, safetyId: string, then: string | null | undefined): string | null {
  if (wish.to_start) return run.was_reset ?? safetyId;
  return then === undefined ? null : then;
}

const markSchema = z.looseObject({ safety_checkpoint: z.string(), was_reset: z.string().nullable().default(null) });

/** The mark that the run had when a safety checkpoint was taken; undefined for any other checkpoint. */
async function markAt(ctx: ToolContext, run: RunRecord, to: CheckpointRecord): Promise<string | null | undefined> {
  if (to.kind !== "reset") return undefined;
  const events = await ctx.store.events(run.run_id, { limit: 10_000 });
  for (const event of events) {
    const mark = event.type === "run_reset" ? markSchema.safeParse(event.data) : null;
    if (mark?.success && mark.data.safety_checkpoint === to.id) return mark.data.was_reset;
  }
  // A checkpoint of how a reset left things, or of one that was broken off: nothing is known to be wrong with the mark.
  return run.was_reset;
}

/** The tree as the reset left it: what later changes are compared with. */
async function captureAfter(ctx: ToolContext, run: RunRecord, restore: RunRestore) {
  const repo = await ctx.checkpoints.discover(restore.repo.top);
  const id = newCheckpointId();
  const captured = await ctx.checkpoints.capture(repo, { run_id: run.run_id, id, kind: "reset" });
  const uncommitted = await uncommittedOf(ctx, {
    run,
    repo,
    checkpoint: captured,
    owned: (await loadOwned(ctx.store, run.run_id)).files,
  });
  const record = checkpointRecord(captured, { kind: "reset", iteration: run.iteration, step: null, attempt: null, at: now() });
  return { uncommitted, record };
}

function cut(paths: readonly string[]): string[] {
  return paths.length <= LISTED ? [...paths] : [...paths.slice(0, LISTED), `… and ${paths.length - LISTED} more`];
}
