import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/**
 * What one working tree's private folder remembers between captures. All of it is a cache: a missing, torn or foreign
 * file reads as absent, and the next capture starts from the user's index again.
 */
const flaggedSchema = z.object({
  path: z.string(),
  mode: z.number(),
  oid: z.string(),
  size: z.number(),
  stage: z.number(),
  assume_unchanged: z.boolean(),
  skip_worktree: z.boolean(),
  intent_to_add: z.boolean(),
});

export const userIndexSchema = z.object({
  key: z.string(),
  ignore_key: z.string(),
  index_tree: z.string(),
  special: z.array(flaggedSchema),
});
export type UserIndexCache = z.infer<typeof userIndexSchema>;

/** Per path what a tree cannot hold: the raw bytes of a converted file, and a mode other than 644 and 755. */
export const sidecarSchema = z.record(z.string(), z.object({ raw: z.string().optional(), mode: z.number().optional() }));
export type Sidecar = z.infer<typeof sidecarSchema>;

export const lastSchema = z.object({ key: z.string(), commit: z.string(), files: z.number(), bytes: z.number() });

/** Oid of the tree that the private index stands for. Removed before the index is written, so that a crash shows. */
export const treeSchema = z.object({ tree: z.string() });

export const STATE_FILES = { user: "user-index.json", sidecar: "sidecar.json", last: "last.json", tree: "tree.json" } as const;

export function privateIndex(dir: string): string {
  return join(dir, "index");
}

export function userIndexCopy(dir: string): string {
  return join(dir, "index.user");
}

export async function readState<T>(dir: string, file: string, schema: z.ZodType<T>): Promise<T | null> {
  try {
    return schema.parse(JSON.parse(await readFile(join(dir, file), "utf8")));
  } catch {
    return null;
  }
}

export async function writeState(dir: string, file: string, value: unknown): Promise<void> {
  await mkdir(dir, { recursive: true });
  const fresh = join(dir, `${file}.new`);
  await writeFile(fresh, JSON.stringify(value));
  await rename(fresh, join(dir, file));
}

export async function dropState(dir: string, ...files: readonly string[]): Promise<void> {
  for (const file of files) await rm(join(dir, file), { force: true });
}

/** Forgets everything: the next snapshot starts from the user's index. */
export async function resetPrivateState(dir: string): Promise<void> {
  await dropState(dir, "index", "index.user", "index.forced", "index.compose", ...Object.values(STATE_FILES));
}
