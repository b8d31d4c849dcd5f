import { z } from "zod";
import type { PathContent } from "../checkpoint/checkpoint.ts";
import type { Store } from "../store/store.ts";

/**
 * Which paths a run changed, judged by content: a path is the run's when checkpoints at an iteration's start and end differ
 * in it. What changed between iterations is never the run's.
 */
export interface OwnedEntry {
  /** Content as the run last left it. */
  readonly last: PathContent;
  /** Somebody else changed the path before or between the run's own changes: taking it back would take their work too. */
  readonly foreign: boolean;
  /** In place, false until a tool call of the iteration names the path or a commit of the run holds it. */
  readonly attributed: boolean;
}

export type Owned = ReadonlyMap<string, OwnedEntry>;

const contentSchema = z.union([z.null(), z.strictObject({ mode: z.string(), oid: z.string() })]);
const ownedSchema = z.record(z.string(), z.strictObject({ last: contentSchema, foreign: z.boolean(), attributed: z.boolean() }));

const ARTIFACT = "owned_paths";

export async function loadOwned(store: Pick<Store, "runArtifacts">, runId: string): Promise<Owned> {
  const stored = await store.runArtifacts(runId, ARTIFACT);
  if (stored === null) return new Map();
  return new Map(Object.entries(ownedSchema.parse(JSON.parse(stored.meta))));
}

export async function saveOwned(store: Pick<Store, "setRunArtifacts">, runId: string, owned: Owned): Promise<void> {
  await store.setRunArtifacts(runId, ARTIFACT, JSON.stringify(Object.fromEntries(owned)), []);
}

export interface PathChange {
  readonly path: string;
  readonly from: PathContent;
  readonly to: PathContent;
}

/** The ownership after an iteration whose start and end differ in `changes`. `entry` tells a path's content at the run's start. */
export function absorb(
  owned: Owned,
  changes: readonly PathChange[],
  facts: { readonly entry: ReadonlyMap<string, PathContent>; readonly attributed: (path: string) => boolean },
): Owned {
  const next = new Map(owned);
  for (const change of changes) {
    const before = owned.get(change.path);
    const expected = before === undefined ? (facts.entry.get(change.path) ?? null) : before.last;
    next.set(change.path, {
      last: change.to,
      foreign: (before?.foreign ?? false) || !sameContent(expected, change.from),
      attributed: (before?.attributed ?? true) && facts.attributed(change.path),
    });
  }
  return next;
}

export function sameContent(a: PathContent, b: PathContent): boolean {
  if (a === null || b === null) return a === b;
  return a.oid === b.oid && a.mode === b.mode;
}
