import { createReadStream } from "node:fs";
import { join } from "node:path";
import { describeTree, withTempFolder } from "../resume/tree-copy.ts";
import { now } from "../run/clock.ts";
import { LeaseLostError, messageOf } from "../run/errors.ts";
import type { Drive } from "./drive.ts";

const PART_BYTES = 1024 * 1024;
/** Above this a bundle is not stored: it would fill a database that is meant for records. */
const MAX_BUNDLE_BYTES = 64 * 1024 * 1024;
const MAX_CHECKPOINTS = 60;

interface Kept {
  readonly id: string;
  readonly commit: string;
}

/**
 * The run's checkpoints as a bundle in the store, so that another clone can go on from them. In a shared database after every
 * iteration, since a crash announces itself to nobody; in the embedded one at the stop, for a home that is copied. A fault fails
 * nothing: the stop's record names it.
 */
export async function copyTree(drive: Drive, newest: Kept, more: "entries" | "all"): Promise<void> {
  const { copies } = drive.ctx.store;
  if (copies.refused !== null) return;
  try {
    await withTempFolder((folder) => storeBundle(drive, newest, more, join(folder, "checkpoints.bundle")));
  } catch (error) {
    if (error instanceof LeaseLostError) return;
    drive.gaps.set("tree", `no copy of the working tree for another machine: ${messageOf(error).slice(0, 200)}`);
    drive.ctx.log("warn", "the checkpoints could not be bundled", { run_id: drive.run.run_id, error: messageOf(error) });
  }
}

async function storeBundle(drive: Drive, newest: Kept, more: "entries" | "all", file: string): Promise<void> {
  const { checkpoints, identity, store } = drive.ctx;
  const { copies } = store;
  const bundle = (chosen: readonly Kept[]) =>
    checkpoints.bundle(drive.repo, {
      run_id: drive.run.run_id,
      checkpoints: chosen,
      branch: drive.run.workspace_kind === "worktree" ? drive.run.branch : null,
      base: drive.run.base_commit,
      thin: store.kind === "sqlite",
      max_bytes: MAX_BUNDLE_BYTES,
      file,
    });
  let made = await bundle(await chosenCheckpoints(drive, newest, more));
  // The iterations in between are only for looking back.
  if (made.too_big && more === "all") made = await bundle(await chosenCheckpoints(drive, newest, "entries"));
  if (made.too_big) {
    const mib = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MiB`;
    drive.gaps.set(
      "tree",
      `no copy of the working tree for another machine: what the remote lacks is ${mib(made.bytes)}, more than ${mib(MAX_BUNDLE_BYTES)}; push the branch to make it smaller`,
    );
    return;
  }
  const before = await copies.get(drive.run.run_id, "tree");
  const known = new Set(before?.parts);
  const parts: string[] = [];
  for await (const part of createReadStream(file, { highWaterMark: PART_BYTES })) parts.push(await copies.putPart(part, known));
  await copies.set({
    run_id: drive.run.run_id,
    name: "tree",
    fence: drive.fence,
    head: { about: newest.id, host: identity.host, iteration: drive.run.iteration, at: now(), bytes: made.bytes },
    contents: describeTree(made),
    parts,
  });
  drive.gaps.delete("tree");
  nameSecrets(drive, made.checkpoints.find((entry) => entry.id === newest.id)?.left_out ?? []);
}

/** In the embedded store nothing leaves the machine as long as nobody copies it. */
function nameSecrets(drive: Drive, paths: readonly string[]): void {
  drive.gaps.delete("secrets");
  if (paths.length === 0 || drive.ctx.store.kind === "sqlite") return;
  const named = paths.slice(0, 8).join(", ");
  drive.gaps.set(
    "secrets",
    `only in the checkpoints on ${drive.ctx.identity.host}, left out of the copy since they look like secrets: ${named}${paths.length > 8 ? ` and ${paths.length - 8} more` : ""}`,
  );
}

/** The newest one, where each step began, and - for `all` - whatever else there is, the newest first. */
async function chosenCheckpoints(drive: Drive, newest: Kept, more: "entries" | "all"): Promise<readonly Kept[]> {
  const { store } = drive.ctx;
  const [attempts, records] = await Promise.all([
    store.attempts(drive.run.run_id),
    store.checkpoints(drive.run.run_id, MAX_CHECKPOINTS),
  ]);
  const chosen = new Map<string, Kept>([[newest.id, newest]]);
  // The one before is still the newest in the records when the driver dies right now.
  const wanted = records.filter((_record, n) => more === "all" || n === 0);
  for (const id of attempts.map((attempt) => attempt.entry_checkpoint)) {
    const record = id === null ? null : await store.checkpoint(drive.run.run_id, id);
    if (record !== null) wanted.push(record);
  }
  for (const { id, commit, state } of wanted) if (commit !== null && state === "present") chosen.set(id, { id, commit });
  return [...chosen.values()];
}
