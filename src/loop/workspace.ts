import { copyFile, lstat, mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { now } from "../run/clock.ts";
import { LoopkeeperError, messageOf } from "../run/errors.ts";
import { newCheckpointId } from "../run/id.ts";
import type { CheckpointRecord } from "../run/run.ts";
import { type Drive, loopStop, StopRun } from "./drive.ts";

/**
 * Makes sure that the run's working tree is there: a worktree is added at the first start and rebuilt from the last
 * checkpoint when its folder or its registration is gone. Setup commands run once each time it was made.
 */
export async function prepareWorkspace(drive: Drive): Promise<void> {
  try {
    if (drive.run.workspace_kind === "in_place") {
      drive.workspace = await drive.ctx.checkpoints.discover(drive.run.workspace_path);
      return;
    }
    const made = await ensureWorktree(drive);
    drive.workspace = await drive.ctx.checkpoints.discover(drive.run.workspace_path);
    if (made) await furnish(drive);
  } catch (error) {
    if (error instanceof StopRun) throw error;
    if (error instanceof LoopkeeperError)
      throw new StopRun(loopStop("failed", `the workspace could not be prepared: ${error.message}`));
    throw error;
  }
}

/** True when the worktree had to be made. */
async function ensureWorktree(drive: Drive): Promise<boolean> {
  const { checkpoints } = drive.ctx;
  const { run } = drive;
  const state = await checkpoints.worktreeState(run.workspace_path);
  if (state === "present") return false;
  const repo = await checkpoints.discover(run.repo_path);
  const last = (await drive.ctx.store.checkpoints(run.run_id, 20)).find(usable);
  await mkdir(dirname(run.workspace_path), { recursive: true, mode: 0o700 });
  if (last === undefined) {
    if (run.base_commit === null || run.branch === null) throw new Error("a worktree run without base or branch");
    await checkpoints.addWorktree(repo, { path: run.workspace_path, branch: run.branch, base: run.base_commit });
  } else {
    await checkpoints.rebuildWorktree(repo, { path: run.workspace_path, branch: last.branch, head: last.head ?? "" });
    const rebuilt = await checkpoints.discover(run.workspace_path);
    await checkpoints.restoreWhole(rebuilt, { run_id: run.run_id, commit: last.commit });
  }
  await drive.apply({
    bump_revision: false,
    events: [
      {
        type: "workspace_ready",
        at: now(),
        data: { path: run.workspace_path, rebuilt: last !== undefined, from_checkpoint: last?.id ?? null },
      },
    ],
  });
  return true;
}

function usable(checkpoint: CheckpointRecord): checkpoint is CheckpointRecord & { commit: string } {
  return checkpoint.state === "present" && checkpoint.commit !== null && checkpoint.kind !== "reset";
}

/** Copies the ignored files that the owner named, lays a predecessor's edits on top, and runs the setup commands. */
async function furnish(drive: Drive): Promise<void> {
  if (drive.run.iteration === 0) await layBaseRun(drive);
  for (const path of drive.run.settings.copy_ignored) await copyIgnored(drive, path);
  for (const command of drive.run.settings.setup) {
    const result = await drive.runCommand(command);
    drive.journal.add({
      who: "loop",
      kind: "engine",
      text: `setup: ${command} -> ${result.exit_code ?? "killed"}\n${result.tail}`,
      iteration: drive.run.iteration,
      at: now(),
    });
    if (drive.signal.aborted) return;
    if (result.exit_code !== 0) {
      throw new StopRun(
        loopStop(
          "failed",
          `setup command failed (${result.timed_out ? "timed out" : `exit ${result.exit_code ?? "killed"}`}): ${command}\n${result.tail.slice(-500)}`,
        ),
      );
    }
  }
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

/** Only a plain file inside the repository, never through a symlink, never over something that the worktree has. */
async function copyIgnored(drive: Drive, path: string): Promise<void> {
  const from = resolve(drive.run.repo_path, path);
  const to = resolve(drive.repo.top, path);
  if (!from.startsWith(join(drive.run.repo_path, "/")) || !to.startsWith(join(drive.repo.top, "/"))) return;
  try {
    const stat = await lstat(from);
    if (!stat.isFile()) return;
    await mkdir(dirname(to), { recursive: true });
    await copyFile(from, to, 1);
  } catch (error) {
    drive.ctx.log("warn", "a file named in copy_ignored was not copied", {
      run_id: drive.run.run_id,
      path,
      error: messageOf(error),
    });
  }
}
