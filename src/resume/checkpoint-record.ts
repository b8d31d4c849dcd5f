import type { Captured } from "../checkpoint/checkpoint.ts";
import type { CheckpointRecord } from "../run/run.ts";

/** The store's record of a captured checkpoint. */
export function checkpointRecord(
  captured: Captured,
  about: Pick<CheckpointRecord, "kind" | "iteration" | "step" | "attempt" | "at">,
): CheckpointRecord {
  return {
    id: captured.id,
    ...about,
    commit: captured.commit,
    tree: captured.tree,
    index_tree: captured.index_tree,
    head: captured.head,
    branch: captured.branch,
    files: captured.files,
    bytes: captured.bytes,
    skipped: captured.skipped,
    state: "present",
    failure: null,
  };
}
