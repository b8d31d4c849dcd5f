import { z } from "zod";
import type { PathChange, PathContent } from "../checkpoint/checkpoint.ts";
import { redactCommand } from "../redact/redact.ts";
import type { Store } from "../store/store.ts";

/**
 * Which paths a run changed, judged by content: a path is the run's when checkpoints at an iteration's start and end differ
 * in it. What changed between iterations is never the run's. The same holds for the entries of the index.
 *
 * Instants are ids of checkpoints: their order in the store tells what came first, whatever the clocks did.
 */
export interface OwnedEntry {
  /** Content as the run last left it. */
  readonly last: PathContent;
  /** The last checkpoint before the run's last change of it; a later target needs nothing. Null when it is not known. */
  readonly changed_after: string | null;
  /** Somebody else changed the path before this checkpoint: going back further would take their work too. Null: nobody did. */
  readonly foreign_before: string | null;
  /** In place: a change after this checkpoint that no tool call of the run names and no commit of it holds. Null: none. */
  readonly unattributed_after: string | null;
  /** What a restore of ours was about to put there when it was broken off; absent when none was. */
  readonly pending?: PathContent;
}

export type Owned = ReadonlyMap<string, OwnedEntry>;

/** Files of the working tree, and entries of the index. */
export interface OwnedState {
  readonly files: Owned;
  readonly entries: Owned;
}

/** A mark that no checkpoint is past. */
export const ALWAYS = "always";

const contentSchema = z.union([z.null(), z.strictObject({ mode: z.string(), oid: z.string() })]);
const entrySchema = z.strictObject({
  last: contentSchema,
  changed_after: z.string().nullable(),
  foreign_before: z.string().nullable(),
  unattributed_after: z.string().nullable(),
  pending: contentSchema.exactOptional(),
});
/** As it was stored before the marks knew when. */
const earlierSchema = z
  .strictObject({ last: contentSchema, foreign: z.boolean(), attributed: z.boolean() })
  .transform((entry) => ({
    last: entry.last,
    changed_after: null,
    foreign_before: entry.foreign ? ALWAYS : null,
    unattributed_after: entry.attributed ? null : ALWAYS,
  }));
const ownedSchema = z.record(z.string(), z.union([entrySchema, earlierSchema]));

const ARTIFACTS = { files: "owned_paths", entries: "owned_entries" } as const;

export async function loadOwned(store: Pick<Store, "runArtifacts">, runId: string): Promise<OwnedState> {
  return { files: await load(store, runId, ARTIFACTS.files), entries: await load(store, runId, ARTIFACTS.entries) };
}

async function load(store: Pick<Store, "runArtifacts">, runId: string, name: string): Promise<Owned> {
  const stored = await store.runArtifacts(runId, name);
  return stored === null ? new Map() : new Map(Object.entries(ownedSchema.parse(JSON.parse(stored.meta))));
}

/**
 * Paths are kept exact, since files are put back by them. One whose name is a credential is not kept: it then counts as
 * nobody's, and a reset leaves it alone.
 */
export async function saveOwned(store: Pick<Store, "setRunArtifacts">, runId: string, owned: OwnedState): Promise<void> {
  const text = (paths: Owned): string =>
    JSON.stringify(Object.fromEntries([...paths].filter(([path]) => redactCommand(path) === path)));
  await store.setRunArtifacts(runId, ARTIFACTS.files, text(owned.files), []);
  await store.setRunArtifacts(runId, ARTIFACTS.entries, text(owned.entries), []);
}

export interface AbsorbFacts {
  /** Checkpoint at the iteration's start. */
  readonly start: string;
  /** A path's content at the run's start, for paths that the run had not touched before. */
  readonly entry: ReadonlyMap<string, PathContent>;
  readonly attributed: (path: string) => boolean;
  /** Paths whose content at the iteration's start no checkpoint can tell. */
  readonly unknown: ReadonlySet<string>;
}

/** The ownership after an iteration whose start and end differ in `changes`. */
export function absorb(owned: Owned, changes: readonly PathChange[], facts: AbsorbFacts): Owned {
  const next = new Map(owned);
  for (const change of changes) {
    const before = owned.get(change.path);
    const expected = before === undefined ? (facts.entry.get(change.path) ?? null) : before.last;
    const foreign = !sameContent(expected, change.from);
    next.set(change.path, {
      last: change.to,
      changed_after: facts.start,
      foreign_before: facts.unknown.has(change.path) ? ALWAYS : foreign ? facts.start : (before?.foreign_before ?? null),
      unattributed_after: facts.attributed(change.path) ? (before?.unattributed_after ?? null) : facts.start,
    });
  }
  return next;
}

export function sameContent(a: PathContent, b: PathContent): boolean {
  if (a === null || b === null) return a === b;
  return a.oid === b.oid && a.mode === b.mode;
}
