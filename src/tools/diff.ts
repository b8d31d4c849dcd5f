import { isAbsolute, normalize, relative } from "node:path";
import type { DiffSummary, Repository } from "../checkpoint/checkpoint.ts";
import { redactPart } from "../redact/redact.ts";
import { emptyTree } from "../resume/owners.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { tool } from "../run/names.ts";
import { isLive, type RunRecord } from "../run/run.ts";
import { said } from "../run/said.ts";
import type { ToolContext } from "./context.ts";

/** What lies between two states of a run's files, for the tool and for the resources. Works from saved checkpoints alone, except `now`. */

/** One side of a comparison. */
export interface DiffEnd {
  /** `base`, `stop`, `now`, or `checkpoint`. */
  readonly what: "base" | "stop" | "now" | "checkpoint";
  readonly checkpoint: string | null;
  /** Commit or tree. */
  readonly object: string;
}

export interface DiffQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly path?: string | undefined;
  readonly from_path?: string | undefined;
  readonly cursor?: string | undefined;
}

export interface Comparison {
  readonly repo: Repository;
  readonly from: DiffEnd;
  /** Null while the run has no checkpoint yet: nothing was changed. */
  readonly to: DiffEnd | null;
  readonly path: string | null;
  /** What a renamed `path` was called on the older side. */
  readonly from_path: string | null;
  /** Files and bytes of the patch that earlier pages held. */
  readonly skip: { readonly files: number; readonly bytes: number };
}

/** Resolves both sides. A later page compares the very objects of the first one, whatever moved since. */
export async function comparison(ctx: ToolContext, run: RunRecord, query: DiffQuery): Promise<Comparison> {
  const page = query.cursor === undefined ? null : parseCursor(query.cursor);
  const repo = await openRepository(ctx, run);
  const path = pathOf(run, query.path);
  const from_path = pathOf(run, query.from_path);
  if (page !== null) {
    const pinned = (name: string | undefined, fallback: DiffEnd["what"], object: string): DiffEnd => {
      const what = name === "base" || name === "stop" || name === "now" ? name : name === undefined ? fallback : "checkpoint";
      return { what, checkpoint: what === "checkpoint" ? (name ?? null) : null, object };
    };
    return {
      repo,
      from: pinned(query.from, "base", page.from),
      to: pinned(query.to, "checkpoint", page.to),
      path,
      from_path,
      skip: page,
    };
  }
  const from = await endOf(ctx, run, repo, query.from ?? "base");
  const to = query.to === undefined ? await latest(ctx, run, repo) : await endOf(ctx, run, repo, query.to);
  return { repo, from, to, path, from_path, skip: { files: 0, bytes: 0 } };
}

/** A place behind every patch: the list of files goes on alone. */
export const PATCH_END = 999_999_999_999_999;

export async function changedFiles(ctx: ToolContext, compared: Comparison, limit: number): Promise<DiffSummary> {
  const { repo, from, to, path, skip } = compared;
  if (to === null) return { total_files: 0, added: 0, removed: 0, truncated: false, files: [] };
  return ctx.checkpoints.diffSummary(repo, from.object, to.object, limit, { skip: skip.files, path });
}

/** A part of the patch that fits `room` as `cost` counts it, and where the next one begins; null when it is the last. */
export async function patchPart(
  ctx: ToolContext,
  compared: Comparison,
  room: number,
  cost: (text: string) => number,
): Promise<{ readonly text: string; readonly next_byte: number | null }> {
  const { repo, from, to, path, from_path, skip } = compared;
  if (to === null || skip.bytes >= PATCH_END) return { text: "", next_byte: null };
  const options = { path, from_path, from_byte: skip.bytes, max_bytes: room };
  const page = await ctx.checkpoints.patchPage(repo, from.object, to.object, options);
  const texts: string[] = [];
  let left = room;
  let bytes = 0;
  for (const piece of page.pieces) {
    left -= cost(piece.text);
    if (left < 0 && texts.length > 0) {
      const rest = page.pieces.slice(texts.length).map((one) => one.text);
      const text = await redactedPage(ctx, compared, texts.join(""), rest.join(""));
      return { text, next_byte: skip.bytes + bytes };
    }
    texts.push(piece.text);
    bytes += piece.bytes;
  }
  const text = await redactedPage(ctx, compared, texts.join(""), "");
  return { text, next_byte: page.more ? skip.bytes + bytes : null };
}

/** How much of the page before is looked at again: more than the longest token, less than the longest key. */
const CONTEXT_BYTES = 8_192;

/** A page as it is shown: a credential can begin on the page before it and end on the next one. */
async function redactedPage(ctx: ToolContext, compared: Comparison, text: string, after: string): Promise<string> {
  const { repo, from, to, path, from_path, skip } = compared;
  const bytes = Math.min(CONTEXT_BYTES, skip.bytes);
  if (to === null || bytes === 0) return redactPart("", text, after);
  // A page ends on a line's end where it can: more is asked for, and cut where this page begins.
  const context = { path, from_path, from_byte: skip.bytes - bytes, max_bytes: bytes + CONTEXT_BYTES };
  const { pieces } = await ctx.checkpoints.patchPage(repo, from.object, to.object, context);
  const around = pieces.map((piece) => piece.text).join("");
  const begins = around.lastIndexOf(text.slice(0, 400));
  return redactPart(begins < 0 ? around : around.slice(0, begins), text, after);
}

export function cursorOf(compared: Comparison, next: { readonly files: number; readonly bytes: number }): string {
  return `${compared.from.object}.${compared.to?.object ?? ""}.${next.files}.${next.bytes}`;
}

const CURSOR = /^([0-9a-f]{40}|[0-9a-f]{64})\.([0-9a-f]{40}|[0-9a-f]{64})\.(\d{1,9})\.(\d{1,15})$/u;

function parseCursor(text: string): { from: string; to: string; files: number; bytes: number } {
  const [, from, to, files, bytes] = CURSOR.exec(text) ?? [];
  if (from === undefined || to === undefined)
    throw new LoopkeeperError(
      "bad_input",
      said`cursor "${text.slice(0, 40)}" is none that ${tool("run_diff")} gave. Call ${tool("run_diff")} without cursor to begin anew.`,
    );
  return { from, to, files: Number(files), bytes: Number(bytes) };
}

/** The run's repository where it was recorded; its worktree where that is all that is left. */
async function openRepository(ctx: ToolContext, run: RunRecord): Promise<Repository> {
  for (const path of [run.repo_path, run.workspace_path]) {
    try {
      return await ctx.checkpoints.discover(path);
    } catch (error) {
      if (!(error instanceof LoopkeeperError)) throw error;
    }
  }
  throw new LoopkeeperError(
    "repository_problem",
    said`the repository of run ${run.run_id} is not at ${run.repo_path} any more, and its checkpoints are kept in it. Bring it back there, or see ${tool("run_explain_stop")} for what was recorded of the changes.`,
  );
}

async function endOf(ctx: ToolContext, run: RunRecord, repo: Repository, name: string): Promise<DiffEnd> {
  if (name === "base") return base(ctx, run, repo);
  if (name === "now") return { what: "now", checkpoint: null, object: await treeNow(ctx, run) };
  if (name === "stop") {
    const id = run.stop?.uncommitted?.checkpoint;
    if (id != null) return checkpointEnd(ctx, run, repo, id, "stop");
    throw new LoopkeeperError(
      isLive(run.state) ? "bad_input" : "repository_problem",
      isLive(run.state)
        ? `run ${run.run_id} is ${run.state} and has no stop to compare with. Valid: base, now, or a checkpoint id.`
        : said`no checkpoint was saved at the stop of run ${run.run_id}. Valid: base, now, or a checkpoint id of ${tool("run_explain_stop")}.`,
    );
  }
  return checkpointEnd(ctx, run, repo, name, "checkpoint");
}

async function checkpointEnd(
  ctx: ToolContext,
  run: RunRecord,
  repo: Repository,
  id: string,
  what: "stop" | "checkpoint",
): Promise<DiffEnd> {
  const checkpoint = await ctx.store.checkpoint(run.run_id, id);
  if (checkpoint === null)
    throw new LoopkeeperError(
      "bad_input",
      said`"${id.slice(0, 60)}" is no checkpoint of run ${run.run_id}. Valid: base, stop, now, or an id that ${tool("run_explain_stop")} or loopkeeper://runs/${run.run_id}/checkpoints lists.`,
    );
  if (checkpoint.commit === null)
    throw new LoopkeeperError(
      "repository_problem",
      `checkpoint ${id} could not be taken at its time (${checkpoint.failure ?? "unknown"}); compare with another one of loopkeeper://runs/${run.run_id}/checkpoints.`,
    );
  if (!(await ctx.checkpoints.isPresent(repo, checkpoint.commit)))
    throw new LoopkeeperError(
      "repository_problem",
      said`the objects of checkpoint ${id} are gone from ${repo.top} (its hidden ref was deleted and git cleaned up). Compare with a checkpoint that ${tool("run_explain_stop")} shows as present.`,
    );
  return { what, checkpoint: id, object: checkpoint.commit };
}

/** Where the run began: its first entry checkpoint, which has what was uncommitted then and what the setup commands made. */
async function base(ctx: ToolContext, run: RunRecord, repo: Repository): Promise<DiffEnd> {
  const [first] = await ctx.store.attempts(run.run_id);
  const entry = first?.entry_checkpoint == null ? null : await ctx.store.checkpoint(run.run_id, first.entry_checkpoint);
  if (entry?.commit != null && (await ctx.checkpoints.isPresent(repo, entry.commit)))
    return { what: "base", checkpoint: entry.id, object: entry.commit };
  return { what: "base", checkpoint: null, object: run.base_commit ?? emptyTree(repo) };
}

async function latest(ctx: ToolContext, run: RunRecord, repo: Repository): Promise<DiffEnd | null> {
  const recent = await ctx.store.checkpoints(run.run_id, 20);
  const newest = recent.find(
    (checkpoint) => checkpoint.commit !== null && checkpoint.kind !== "reset" && checkpoint.kind !== "redo",
  );
  return newest === undefined ? null : checkpointEnd(ctx, run, repo, newest.id, "checkpoint");
}

const WHY_NOT_THERE = {
  missing: (path: string) => `${path} is gone`,
  unregistered: (path: string) => `git no longer knows ${path} as a worktree`,
  unfinished: (path: string) => `the worktree at ${path} was being made anew and that was broken off`,
  occupied: (path: string) => `something else than the run's worktree stands at ${path}`,
} as const;

async function treeNow(ctx: ToolContext, run: RunRecord): Promise<string> {
  const problem = (what: string): LoopkeeperError =>
    new LoopkeeperError(
      "repository_problem",
      said`there is no present state to compare with: ${what}. Compare with stop or with a checkpoint instead; ${tool("run_resume")} makes a missing worktree anew.`,
    );
  if (run.reclaimed_at !== null) throw problem(`the run's workspace was freed at ${run.reclaimed_at}`);
  const state = await ctx.checkpoints.worktreeState(run.workspace_path, run.repo_common_dir);
  if (state !== "present") throw problem(WHY_NOT_THERE[state](run.workspace_path));
  return ctx.checkpoints.treeNow(await ctx.checkpoints.discover(run.workspace_path));
}

/** A path as git has it: relative to the top folder, with no end slash. Null when everything is meant. */
function pathOf(run: RunRecord, path: string | undefined): string | null {
  if (path === undefined) return null;
  const inside = isAbsolute(path) ? [run.workspace_path, run.repo_path].map((top) => relative(top, path)) : [path];
  const found = inside.map((one) => normalize(one).replace(/\/+$/u, "")).find((one) => one !== ".." && !one.startsWith("../"));
  if (found === undefined || isAbsolute(found))
    throw new LoopkeeperError(
      "bad_input",
      `path "${path.slice(0, 200)}" is outside of the run's files. Give a file or a folder relative to the repository's top folder.`,
    );
  return found === "." || found === "" ? null : found;
}
