import type { SkippedPath } from "../run/run.ts";
import { oneLine } from "./shown.ts";

const WHY = {
  too_big: "it is too big for a checkpoint",
  quota: "what checkpoints may take of large files was used up",
  unreadable: "it could not be read",
  special: "it is no ordinary file",
  nested_repository: "it is a repository of its own",
  secret: "it looks like a secret and stayed on the machine where it was made",
} as const satisfies Record<SkippedPath["why"], string>;

/** Why a path is in no checkpoint, with its size, or where a nested repository stands: `it is too big for a checkpoint (300 MB)`. */
export function whyNotCovered(item: SkippedPath): string {
  const size = item.bytes > 0 ? ` (${Math.ceil(item.bytes / 2 ** 20)} MB)` : "";
  const at = item.nested?.commit == null ? "" : ` at ${item.nested.commit.slice(0, 12)}`;
  const dirty = item.nested === undefined ? "" : DIRTY[String(item.nested.dirty)];
  return `${WHY[item.why]}${size}${at}${dirty ?? ""}`;
}

const DIRTY: Readonly<Record<string, string>> = {
  true: ", dirty: it has uncommitted changes",
  false: ", clean",
  null: ", whether it is dirty could not be looked at",
};

/** One line for explanations: named, never dropped in silence. */
export function notCoveredLine(item: SkippedPath): string {
  return `not covered: ${oneLine(item.path, 100)}: ${whyNotCovered(item)}`;
}
