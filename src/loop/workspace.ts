import { mkdir, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import type { Captured, Repository } from "../checkpoint/checkpoint.ts";
import { checkpointRecord } from "../resume/checkpoint-record.ts";
import { driftSinceStop } from "../resume/drift-since.ts";
import { whyNotCovered } from "../resume/not-covered.ts";
import { applyRunRestore, planRunRestore } from "../resume/restore.ts";
import { shownName } from "../resume/shown.ts";
import { bringCheckpoints, lastCheckpoint, pushedCommit } from "../resume/tree-copy.ts";
import { now } from "../run/clock.ts";
import { LoopkeeperError, messageOf } from "../run/errors.ts";
import { newCheckpointId } from "../run/id.ts";
import type { CheckpointRecord } from "../run/run.ts";
import { copyIgnored } from "./copy-ignored.ts";
import { type Drive, loopStop, StopRun } from "./drive.ts";
import type { Resumed } from "./resumed.ts";

const MAX_NAMED = 8;

/**
 * Makes sure that the run's working tree is there: a worktree is added at the first start and rebuilt from the last
 * checkpoint when its folder or its registration is gone. Setup commands run once each time it was made. A process that dies
 * on the way leaves the making begun in the record, and the next one finishes it.
 */
export async function prepareWorkspace(drive: Drive, resumed: Resumed | null): Promise<void> {
  const { run } = drive;
  try {
    const made = run.workspace_kind === "worktree" ? await ensureWorktree(drive, resumed) : null;
    drive.workspace = await drive.ctx.checkpoints.discover(run.workspace_path);
    // Looked for from a folder that is none any more, git finds whatever repository lies around it.
    if (drive.workspace.top !== (await realpath(run.workspace_path)))
      throw new LoopkeeperError("repository_problem", `${run.workspace_path} is no working tree any more.`);
    await reviveBranch(drive);
    if (made !== null && (!made.bare || (await furnish(drive)))) await record(drive, "workspace_ready", made.from);
  } catch (error) {
    if (error instanceof StopRun) throw error;
    if (!(error instanceof LoopkeeperError)) throw error;
    const evidence = `the workspace could not be prepared: ${error.message}`;
    // After work was done, `failed` would offer to take the step back to its start; here only a person's hand is missing.
    const question = { kind: "question", text: error.message, command: null } as const;
    throw new StopRun(run.stop === null ? loopStop("failed", evidence) : loopStop("escalated", evidence, { question }));
  }
}

/** A worktree that had to be made. `bare`: it lacks what setup commands put there. */
interface Made {
  readonly bare: boolean;
  readonly from: string | null;
}

/** Null when it was there, whole. */
async function ensureWorktree(drive: Drive, resumed: Resumed | null): Promise<Made | null> {
  const { checkpoints } = drive.ctx;
  const { run } = drive;
  const state = await checkpoints.worktreeState(run.workspace_path, run.repo_common_dir);
  const begun = await begunBefore(drive);
  // Without an index and without a making that was begun, somebody removed the index alone: git makes a new one.
  if (state === "unfinished" && !begun) return null;
  if (state === "present") return begun ? { bare: true, from: null } : null;
  const repo = await checkpoints.discover(run.repo_path);
  const last = await leftIn(drive);
  await mkdir(dirname(run.workspace_path), { recursive: true, mode: 0o700 });
  await record(drive, "workspace_begun", last?.id ?? null);
  if (last === null) {
    if (run.base_commit === null || run.branch === null) throw new Error("a worktree run without base or branch");
    const again = begun && state !== "occupied";
    await checkpoints.addWorktree(repo, { path: run.workspace_path, branch: run.branch, base: run.base_commit, again });
    return { bare: true, from: null };
  }
  const source = await bring(drive, repo, last);
  const head = source === null ? await pushedCommit(drive.ctx, run, repo, last, drive.ctx.settings.fetch_remote) : source.head;
  const rebuilt = await checkpoints.rebuildWorktree(repo, { path: run.workspace_path, branch: last.branch, head: head ?? "" });
  drive.told.push(...rebuilt.told, ...(rebuilt.how === "made" ? notBroughtBack(last) : []));
  const filled = rebuilt.how === "linked" || source === null;
  const safeties = filled ? [] : await fill(drive, resumed, source, rebuilt.how === "registered");
  if (safeties.length > 0) await keep(drive, "checkpoint_taken", safeties);
  return { bare: rebuilt.how === "made", from: last.id };
}

/** What was in the worktree that is gone and in no checkpoint: nobody shall look for it, or believe that it never was. */
function notBroughtBack(last: CheckpointRecord): string[] {
  const lines = last.skipped
    .slice(0, MAX_NAMED)
    .map((item) => `Not in the worktree that was made again: ${shownName(item.path)}: ${whyNotCovered(item)}.`);
  const more = last.skipped.length - lines.length;
  return more > 0 ? [...lines, `Nor are ${more} more paths that no checkpoint covers.`] : lines;
}

/** True when the record says that the worktree's making was begun, and not that it was finished. */
async function begunBefore(drive: Drive): Promise<boolean> {
  const types = ["workspace_begun", "workspace_ready"] as const;
  const [last] = await drive.ctx.store.events(drive.run.run_id, { types, limit: 1 });
  return last?.type === "workspace_begun";
}

/** Puts the checkpoint's state in place; files of a folder that was only unregistered stay, unless the caller wants them restored. */
async function fill(
  drive: Drive,
  resumed: Resumed | null,
  last: CheckpointRecord & { readonly commit: string },
  filesAreThere: boolean,
): Promise<readonly CheckpointRecord[]> {
  const { checkpoints } = drive.ctx;
  const { run } = drive;
  const keep_files = filesAreThere && resumed?.on_drift !== "restore";
  const worktree = await checkpoints.discover(run.workspace_path);
  const whole = await checkpoints.restoreWhole(worktree, { run_id: run.run_id, commit: last.commit, keep_files });
  if (keep_files && run.stop !== null && drive.drift !== null) {
    const { workspace, workspace_missing } = drive.drift;
    const seen = await driftSinceStop(drive.ctx, run, run.stop, drive.drift.remote_answer ?? false);
    if (seen !== null) drive.drift = { ...seen, workspace, workspace_missing };
  }
  const entry = resumed?.from === "entry" ? await restoreEntry(drive) : null;
  const about = { kind: "reset", iteration: run.iteration, step: null, attempt: null, at: now() } as const;
  return [whole, entry].flatMap((safety) => (safety === null ? [] : [checkpointRecord(safety, about)]));
}

/** A step that is to start at its entry gets there only now: there was no tree to take back when the caller asked for it. */
async function restoreEntry(drive: Drive): Promise<Captured | null> {
  const attempts = await drive.ctx.store.attempts(drive.run.run_id);
  // Only the step that was taken back has its entry already; those that come after it get one when they begin.
  const waiting = attempts.find(
    (attempt) => attempt.ended_at === null && attempt.started_from === "entry" && attempt.entry_checkpoint !== null,
  );
  if (waiting?.entry_checkpoint == null) return null;
  const entry = await drive.ctx.store.checkpoint(drive.run.run_id, waiting.entry_checkpoint);
  if (entry === null) return null;
  const restore = await planRunRestore(drive.ctx, drive.run, entry, []);
  return (await applyRunRestore(drive.ctx, drive.run, restore, { fence: drive.fence })).safety;
}

async function record(drive: Drive, type: "workspace_begun" | "workspace_ready", from: string | null): Promise<void> {
  const data = { path: drive.run.workspace_path, rebuilt: from !== null, from_checkpoint: from };
  await drive.apply({ bump_revision: false, events: [{ type, at: now(), data }] });
}

async function keep(
  drive: Drive,
  type: "checkpoint_taken" | "checkpoints_brought",
  checkpoints: readonly CheckpointRecord[],
): Promise<void> {
  const data = { checkpoints: checkpoints.map((checkpoint) => checkpoint.id) };
  await drive.apply({ bump_revision: false, checkpoints, events: [{ type, at: now(), data }] });
}

/** HEAD of the working tree may name a branch that somebody deleted: it is made again where the run left it. */
async function reviveBranch(drive: Drive): Promise<void> {
  const last = drive.run.stop === null ? null : await leftIn(drive);
  if (last === null || !(await drive.ctx.checkpoints.reviveBranch(drive.repo, last))) return;
  const short = last.branch?.replace("refs/heads/", "") ?? "";
  drive.told.push(`Branch ${short} had been deleted; it was made again at ${last.head?.slice(0, 12) ?? ""}.`);
  drive.workspace = await drive.ctx.checkpoints.discover(drive.run.workspace_path);
}

/** The state that the run was left in; null when it has none yet. */
async function leftIn(drive: Drive): Promise<(CheckpointRecord & { commit: string }) | null> {
  const last = await lastCheckpoint(drive.ctx.store, drive.run);
  return last?.commit == null ? null : { ...last, commit: last.commit };
}

/** The checkpoint as it is in this clone, brought from the store when the clone has not got it; null when it cannot be had. */
async function bring(
  drive: Drive,
  repo: Repository,
  last: CheckpointRecord & { readonly commit: string },
): Promise<(CheckpointRecord & { commit: string }) | null> {
  const { checkpoints, settings } = drive.ctx;
  if (await checkpoints.isPresent(repo, last.commit)) return last;
  const options = { wanted: last.id, fetch: settings.fetch_remote, only_look: false };
  const { records, unavailable } = await bringCheckpoints(drive.ctx, drive.run, repo, options);
  if (unavailable === null) {
    if (records.length > 0) await keep(drive, "checkpoints_brought", records);
    const here = records.find((record) => record.id === last.id);
    return here?.commit == null ? last : { ...here, commit: here.commit };
  }
  // Whoever sent the run here was told that its files are missing, and wants it to go on all the same.
  const attempts = await drive.ctx.store.attempts(drive.run.run_id);
  if (attempts.some((attempt) => attempt.ended_at === null && attempt.why_handoff !== null)) {
    drive.files_missing = unavailable;
    return null;
  }
  throw new LoopkeeperError(
    "repository_problem",
    `the worktree ${drive.run.workspace_path} is gone and checkpoint ${last.id}, which it would be rebuilt from, is lost: its objects are not in ${repo.top}, and ${unavailable}. Start a new run with base: "${drive.run.branch ?? "HEAD"}".`,
  );
}

/** Copies the ignored files that the owner named, lays a base run's edits on top, runs the setup commands. False: broken off. */
async function furnish(drive: Drive): Promise<boolean> {
  if (drive.run.iteration === 0) await layBaseRun(drive);
  for (const path of drive.run.settings.copy_ignored) await copyNamed(drive, path);
  for (const command of drive.run.settings.setup) {
    const result = await drive.runCommand(command);
    drive.journal.add({
      who: "loop",
      kind: "engine",
      text: `setup: ${command} -> ${result.exit_code ?? "killed"}\n${result.tail}`,
      iteration: drive.run.iteration,
      at: now(),
    });
    if (drive.signal.aborted) return false;
    if (result.exit_code !== 0) {
      throw new StopRun(
        loopStop(
          "failed",
          `setup command failed (${result.timed_out ? "timed out" : `exit ${result.exit_code ?? "killed"}`}): ${command}\n${result.tail.slice(-500)}`,
        ),
      );
    }
  }
  return true;
}

/** `base: "run:<id>"`: the uncommitted edits of that run's stop checkpoint, on top of the commit they were made on. */
async function layBaseRun(drive: Drive): Promise<void> {
  const { checkpoints, store } = drive.ctx;
  const from = drive.run.settings.base_run;
  const base = from === null ? null : await store.run(from, drive.run.owner);
  const id = base?.stop?.uncommitted?.checkpoint ?? null;
  const checkpoint = base === null || id === null ? null : await store.checkpoint(base.run_id, id);
  if (checkpoint?.tree == null || checkpoint.head === null) return;
  const changes = await checkpoints.changedPaths(drive.repo, checkpoint.head, checkpoint.tree);
  const paths = changes.map((change) => ({ path: change.path, target: change.to, last: change.from }));
  const plan = await checkpoints.planRestore(drive.repo, { run_id: drive.run.run_id, paths, overwrite: [], head: null });
  await checkpoints.applyRestore(drive.repo, { run_id: drive.run.run_id, plan, paths, safety_id: newCheckpointId() });
}

/** A file that cannot be copied is told, and the run goes on: setup commands and the engine see soon enough what is missing. */
async function copyNamed(drive: Drive, path: string): Promise<void> {
  const why = await copyIgnored(drive.run.repo_path, drive.repo.top, path).catch(messageOf);
  if (why === null) return;
  drive.ctx.log("warn", "a file named in copy_ignored was not copied", { run_id: drive.run.run_id, path, why });
  const text = `copy_ignored: ${path} was not copied: ${why}`;
  drive.journal.add({ who: "loop", kind: "engine", text, iteration: drive.run.iteration, at: now() });
}
