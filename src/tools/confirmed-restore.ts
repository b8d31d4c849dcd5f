import { z } from "zod";
import type { RestoreResult } from "../checkpoint/checkpoint.ts";
import { checkpointRecord } from "../resume/checkpoint-record.ts";
import type { Consequences } from "../resume/consequences.ts";
import { staleLockAtRestore } from "../resume/drift-gate.ts";
import { uncommittedOf } from "../resume/owners.ts";
import { loadOwned } from "../resume/ownership.ts";
import { planRunRestore, type RunRestore } from "../resume/restore.ts";
import { shownName } from "../resume/shown.ts";
import { msOf, now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { newCheckpointId } from "../run/id.ts";
import { argument } from "../run/names.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import { said, toCallers } from "../run/said.ts";
import { type ConfirmPayload, isExpired, mintToken, readToken } from "./confirm-token.ts";
import type { ToolContext } from "./context.ts";
import { refuseIf } from "./guards.ts";
import { consequencesSchema } from "./schemas.ts";
import { section } from "./text.ts";

/** Plan -> show -> token -> look again -> apply: the way of every tool that takes files back. */

/** Paths listed in an answer; the whole list is in the run's events. */
const LISTED = 50;
/** Paths outside of the run's that a token may hold as changing all the time. */
const RESTLESS = 50;

export const overwriteArgument = z
  .array(z.string().min(1))
  .max(500)
  .optional()
  .describe("Exact paths that others changed since and that may be overwritten all the same.");
export const confirmTokenArgument = z.string().min(1).optional().describe("From the preview, after the owner agreed.");

/** What a preview answers, beside the common part. */
export const previewShape = {
  needs_confirmation: z.boolean().optional(),
  preview_again: z.enum(["expired", "changed"]).nullable().optional(),
  consequences: consequencesSchema.optional(),
  confirm_token: z.string().optional(),
  expires_at: z.string().optional(),
};

/** What was done to the files. */
export const restoredSchema = z.object({
  restored: z.array(z.string()),
  removed: z.array(z.string()),
  kept: z.array(z.string()),
  safety_checkpoint: z.string(),
});

/** A wish as its tool reads it: where the files go, and its arguments as canonical JSON for the token. */
export interface RestoreWish {
  readonly action: ConfirmPayload["action"];
  readonly to: CheckpointRecord;
  readonly overwrite: readonly string[];
  readonly args: string;
}

export interface Previewed {
  readonly again: "expired" | "changed";
  /** Paths that others change all the time. */
  readonly restless: readonly string[];
}

/** Looks what the wish would do and mints its token; nothing is changed. */
export async function previewRestore(
  ctx: ToolContext,
  run: RunRecord,
  wish: RestoreWish,
  before: Previewed | null,
  tellConsequences: (restore: RunRestore) => Promise<Consequences>,
) {
  const restore = await planRunRestore(ctx, run, wish.to, wish.overwrite);
  await refuseStaleLock(ctx, run, restore);
  refuseStrangers(restore, wish);
  const consequences = await tellConsequences(restore);
  const { token, expires_at } = mintToken(await ctx.store.secret(), {
    action: wish.action,
    run_id: run.run_id,
    owner: ctx.owner,
    revision: run.revision,
    fingerprint: restore.plan.fingerprint,
    tree: restore.plan.tree,
    index_tree: restore.plan.index_tree,
    restless: [...(before?.restless ?? [])],
    args: wish.args,
  });
  const answer = {
    needs_confirmation: true,
    preview_again: before?.again ?? null,
    consequences,
    confirm_token: token,
    expires_at,
  };
  return { plan: restore.plan, answer };
}

/** Told before the owner agrees to what could not be done. A lock in use may be gone by then. */
async function refuseStaleLock(ctx: ToolContext, run: RunRecord, { repo }: RunRestore): Promise<void> {
  const locks = await ctx.checkpoints.locks(repo, msOf(run.stop?.at ?? now()));
  const stale = locks.find((lock) => lock.state === "stale");
  if (stale !== undefined) refuseIf(staleLockAtRestore(stale));
}

/** Only paths that the run changed can be overwritten: anything else is a mistake that must not go by in silence. */
function refuseStrangers(restore: RunRestore, wish: RestoreWish): void {
  const known = new Set(restore.paths.map((owned) => owned.path));
  const strange = wish.overwrite.filter((path) => !known.has(path));
  if (strange.length === 0) return;
  throw new LoopkeeperError(
    "bad_input",
    `overwrite: ${strange.slice(0, 5).join(", ")} is no path that this run changed since that checkpoint. Give exact paths as the preview lists them under conflicts, or leave overwrite out.`,
  );
}

/** The two calls of a tool that takes files back: a preview, and the same once more with its token. */
export async function inTwoCalls<W extends RestoreWish, P, A>(
  ctx: ToolContext,
  run: RunRecord,
  tool: {
    readonly action: ConfirmPayload["action"];
    readonly token: string | undefined;
    /** The arguments as the token holds them. */
    readonly previewed: z.ZodType<P>;
    wishOf(previewed: P | null): Promise<W>;
    preview(wish: W, before: Previewed | null): Promise<A>;
    carryOut(restore: RunRestore, wish: W): Promise<A>;
  },
): Promise<A> {
  if (tool.token === undefined) return tool.preview(await tool.wishOf(null), null);
  const payload = await readConfirmation(ctx, run, tool.action, tool.token);
  const wish = await tool.wishOf(tool.previewed.parse(JSON.parse(payload.args)));
  const confirmed = await confirmRestore(ctx, run, payload, wish);
  return "again" in confirmed ? tool.preview(wish, confirmed) : tool.carryOut(confirmed, wish);
}

/** The token's payload, when it is for this action, run and owner. */
async function readConfirmation(
  ctx: ToolContext,
  run: RunRecord,
  action: ConfirmPayload["action"],
  token: string,
): Promise<ConfirmPayload> {
  return readToken(await ctx.store.secret(), token, { action, run_id: run.run_id, owner: ctx.owner });
}

/** The plan as it was previewed, or why a fresh preview is the answer: the token expired, or something moved since. */
async function confirmRestore(
  ctx: ToolContext,
  run: RunRecord,
  payload: ConfirmPayload,
  wish: RestoreWish,
): Promise<RunRestore | Previewed> {
  if (wish.args !== payload.args)
    throw new LoopkeeperError(
      "confirm_token_invalid",
      said`the arguments differ from the preview. Leave them out to do what was previewed, or ${toCallers(said`call without ${argument("confirm_token", "")}`, "look again")} for a new preview.`,
    );
  if (isExpired(payload)) return { again: "expired", restless: payload.restless };
  if (payload.revision !== run.revision) return { again: "changed", restless: payload.restless };
  const restore = await planRunRestore(ctx, run, wish.to, wish.overwrite);
  if (restore.plan.fingerprint !== payload.fingerprint) return { again: "changed", restless: payload.restless };
  const moved = await movedSince(ctx, restore, payload);
  if (moved !== null && moved.length === 0) return restore;
  return { again: "changed", restless: [...payload.restless, ...(moved ?? [])].slice(0, RESTLESS) };
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

/** The tree as the restore left it: what later changes are compared with. */
export async function captureAfter(ctx: ToolContext, run: RunRecord, restore: RunRestore, kind: "reset" | "redo") {
  const repo = await ctx.checkpoints.discover(restore.repo.top);
  const id = newCheckpointId();
  const captured = await ctx.checkpoints.capture(repo, { run_id: run.run_id, id, kind });
  const uncommitted = await uncommittedOf(ctx, {
    run,
    repo,
    checkpoint: captured,
    owned: (await loadOwned(ctx.store, run.run_id)).files,
  });
  const record = checkpointRecord(captured, { kind, iteration: run.iteration, step: null, attempt: null, at: now() });
  return { uncommitted, record };
}

/** The lists of an answer. */
export function restoredView(result: RestoreResult): z.output<typeof restoredSchema> {
  return {
    restored: cut(result.restored),
    removed: cut(result.removed),
    kept: cut(result.kept),
    safety_checkpoint: result.safety.id,
  };
}

function cut(paths: readonly string[]): string[] {
  return paths.length <= LISTED ? [...paths] : [...paths.slice(0, LISTED), `… and ${paths.length - LISTED} more`];
}

/** What happened beside what was asked for, as sentences for a summary. */
export function asides(result: RestoreResult): string {
  const left = result.left_behind === null ? "" : ` Commits left behind are kept under ${result.left_behind.ref}.`;
  const meanwhile = result.changed_meanwhile.slice(0, 10).join(", ");
  return `${left}${meanwhile === "" ? "" : ` While it was done somebody else changed ${meanwhile}.`}`;
}

interface PreviewPart {
  readonly run: { readonly run_id: string };
  readonly preview_again?: "expired" | "changed" | null | undefined;
  readonly consequences?: z.output<typeof consequencesSchema> | undefined;
  readonly confirm_token?: string | undefined;
  readonly expires_at?: string | undefined;
}

/** A preview as text; nothing for an answer that is none. */
export function previewLines(answer: PreviewPart, call: string): (string | null)[] {
  if (answer.consequences === undefined) return [];
  const { consequences } = answer;
  return [
    answer.preview_again == null
      ? null
      : `The token was not used: ${answer.preview_again === "expired" ? "it expired" : "something changed since the preview"}. This is the preview as it is now.`,
    section("What happens", consequences.happens),
    section("What it undoes", consequences.undoes),
    section("What it cannot undo", consequences.cannot_undo),
    section(
      "Conflicts, left alone (for paths, a new preview with overwrite takes them back all the same)",
      consequences.conflicts.map((conflict) => `${shownName(conflict.path)}: changed by ${conflict.changed_by}`),
    ),
    `Nothing was changed. To do it, after the owner agreed: ${call} ${JSON.stringify({ run_id: answer.run.run_id, confirm_token: answer.confirm_token })} (until ${answer.expires_at ?? ""})`,
  ];
}

/** What was done to the files, as text. */
export function restoredLines(restored: z.output<typeof restoredSchema>): (string | null)[] {
  return [
    section("Restored", restored.restored.map(shownName)),
    section("Removed", restored.removed.map(shownName)),
    section("Kept as others left it", restored.kept),
    `safety checkpoint: ${restored.safety_checkpoint} (run_reset with to: this brings everything back)`,
  ];
}
