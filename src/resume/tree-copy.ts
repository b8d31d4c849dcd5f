import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { Bundled } from "../checkpoint/bundles.ts";
import type { Checkpoints, Repository } from "../checkpoint/checkpoint.ts";
import { LoopkeeperError } from "../run/errors.ts";
import type { CheckpointRecord, RunRecord } from "../run/run.ts";
import type { Store } from "../store/store.ts";

/** The checkpoints of a run as a git bundle in the store, and the way back into a clone that never saw them. */

const contentsSchema = z.strictObject({
  v: z.literal(1),
  branch: z.string().nullable(),
  checkpoints: z.array(
    z.strictObject({
      id: z.string(),
      commit: z.string(),
      tree: z.string(),
      index_tree: z.string(),
      left_out: z.array(z.string()),
    }),
  ),
});

export function describeTree(bundled: Bundled): string {
  const contents: z.input<typeof contentsSchema> = {
    v: 1,
    branch: bundled.branch,
    checkpoints: bundled.checkpoints.map((entry) => ({ ...entry, left_out: [...entry.left_out] })),
  };
  return JSON.stringify(contents);
}

/** A folder that only this user can read, for the time of `work`. */
export async function withTempFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "lk-bundle-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Deps {
  readonly store: Pick<Store, "copies" | "checkpoint">;
  readonly checkpoints: Pick<Checkpoints, "unbundle">;
}

export interface Brought {
  /** Records that are other ones here, since what looks like a secret was left out of what left the first machine. */
  readonly records: readonly CheckpointRecord[];
  /** Why there is no copy to be had; null when there is one. */
  readonly unavailable: string | null;
}

/** Brings a run's checkpoints into a clone. `repository_problem` when the clone lacks what they build on. */
export async function bringCheckpoints(
  deps: Deps,
  run: RunRecord,
  repo: Repository,
  options: { readonly wanted: string; readonly fetch: boolean; readonly only_look: boolean },
): Promise<Brought> {
  const { copies } = deps.store;
  const copy = await copies.get(run.run_id, "tree");
  const not = (why: string): Brought => ({
    records: [],
    unavailable: `its files are on ${run.settings.host ?? "another host"}: ${why}`,
  });
  if (copy === null) return not(copies.refused ?? "no copy of them is in the store");
  if (copy.contents === null) return not(copy.unreadable ?? "their copy is damaged");
  const contents = contentsSchema.parse(JSON.parse(copy.contents));
  if (!contents.checkpoints.some((entry) => entry.id === options.wanted)) return not("the copy in the store is an earlier one");
  if (options.only_look) return { records: [], unavailable: null };
  await withTempFolder(async (folder) => {
    const file = join(folder, "checkpoints.bundle");
    const out = await open(file, "wx", 0o600);
    try {
      for (const id of copy.parts) await out.writeFile(await copies.part(id));
    } finally {
      await out.close();
    }
    const branch = run.workspace_kind === "worktree" ? run.branch : null;
    await deps.checkpoints.unbundle(repo, { run_id: run.run_id, file, branch, fetch: options.fetch });
  });
  const changed: CheckpointRecord[] = [];
  for (const { id, commit, tree, index_tree, left_out } of contents.checkpoints) {
    const record = await deps.store.checkpoint(run.run_id, id);
    if (record === null || record.commit === commit) continue;
    const skipped = left_out.map((path) => ({ path, bytes: 0, why: "secret" }) as const);
    changed.push({ ...record, commit, tree, index_tree, skipped: [...record.skipped, ...skipped] });
  }
  return { records: changed, unavailable: null };
}

/**
 * What a run without its files can still go on from in this clone: the commit that it stood on, if that was pushed, else the one
 * that it began on.
 */
export async function pushedCommit(
  deps: { readonly checkpoints: Pick<Checkpoints, "resolve" | "fetchCommit"> },
  run: RunRecord,
  repo: Repository,
  last: CheckpointRecord | null,
  fetch: boolean,
): Promise<string> {
  const wanted = [...new Set([last?.head ?? null, run.base_commit])].filter((commit) => commit !== null);
  for (const commit of wanted) {
    if ((await deps.checkpoints.resolve(repo, commit)) !== null) return commit;
    if (fetch && (await deps.checkpoints.fetchCommit(repo, commit))) return commit;
  }
  throw new LoopkeeperError(
    "repository_problem",
    `the run stood on commit ${wanted.at(0) ?? "unknown"} and began on ${wanted.at(-1) ?? "unknown"}; ${repo.top} has neither. Run: git -C ${repo.top} fetch ${repo.remote_name ?? "<a clone that has them>"} - and call again.`,
  );
}

/** A store in which these records stand in for those of the same ids. */
export function withRecords<S extends Pick<Store, "checkpoint" | "checkpoints">>(
  store: S,
  records: readonly CheckpointRecord[],
): S {
  if (records.length === 0) return store;
  const byId = new Map(records.map((record) => [record.id, record]));
  return {
    ...store,
    checkpoint: async (runId: string, id: string) => byId.get(id) ?? (await store.checkpoint(runId, id)),
    checkpoints: async (runId: string, limit: number) =>
      (await store.checkpoints(runId, limit)).map((record) => byId.get(record.id) ?? record),
  };
}

/** The checkpoint that a run goes on from: that of its stop, else the newest that is whole. */
export async function lastCheckpoint(
  store: Pick<Store, "checkpoint" | "checkpoints">,
  run: RunRecord,
): Promise<CheckpointRecord | null> {
  const id = run.stop?.uncommitted?.checkpoint ?? null;
  const ofStop = id === null ? null : await store.checkpoint(run.run_id, id);
  if (ofStop?.commit != null) return ofStop;
  const newest = await store.checkpoints(run.run_id, 20);
  return newest.find((entry) => entry.commit !== null && entry.state === "present" && entry.kind !== "reset") ?? null;
}
