import type { Trx } from "./backend.ts";
import type { RunCountsTable } from "./schema.ts";

type CountKey = Omit<RunCountsTable, "runs">;

/** Moves one run from a list class to another in the totals. */
export async function recount(trx: Trx, from: CountKey | null, to: CountKey): Promise<void> {
  if (from !== null && textOf(from) === textOf(to)) return;
  const changes = [{ key: to, by: 1 }, ...(from === null ? [] : [{ key: from, by: -1 }])];
  // Always in the same order: two transactions that each lock the other's next row would deadlock.
  changes.sort((a, b) => (textOf(a.key) < textOf(b.key) ? -1 : 1));
  for (const { key, by } of changes) {
    await trx
      .insertInto("run_counts")
      .values({ ...key, runs: by })
      .onConflict((conflict) =>
        conflict
          .columns(["owner", "list_class", "repo_common_dir", "repo_remote"])
          .doUpdateSet((row) => ({ runs: row("run_counts.runs", "+", by) })),
      )
      .execute();
  }
}

function textOf(key: CountKey): string {
  return JSON.stringify([key.owner, key.list_class, key.repo_common_dir, key.repo_remote]);
}

export function countKey(run: {
  readonly owner: string;
  readonly repo_common_dir: string;
  readonly repo_remote: string | null;
  readonly list_class: string;
}): CountKey {
  return {
    owner: run.owner,
    list_class: run.list_class,
    repo_common_dir: run.repo_common_dir,
    repo_remote: run.repo_remote ?? "",
  };
}
