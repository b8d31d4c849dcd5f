import { z } from "zod";
import type { RepoGit } from "./repo-git.ts";

/** What a checkpoint keeps beside its two trees, stored as `loopkeeper.json` in the third commit of the checkpoint. */
export const metaSchema = z.object({
  v: z.literal(1),
  kind: z.string(),
  run_id: z.string(),
  id: z.string(),
  at: z.string(),
  head: z.string().nullable(),
  branch: z.string().nullable(),
  tree: z.string(),
  index_tree: z.string(),
  operation: z.string().nullable(),
  /** Where the remote-tracking ref of the branch stood. */
  upstream: z.string().nullable(),
  files: z.number(),
  bytes: z.number(),
  flags: z.array(z.object({ path: z.string(), assume: z.boolean(), skip: z.boolean(), intent: z.boolean() })),
  unmerged: z.array(z.object({ path: z.string(), mode: z.string(), oid: z.string(), stage: z.number() })),
  /** Exact bytes of converted files, by blob id. */
  raw: z.array(z.tuple([z.string(), z.string()])),
  /** Permission bits other than 644 and 755. */
  modes: z.array(z.tuple([z.string(), z.number()])),
  /** State files of an operation under way: name in the git directory and blob id. */
  state: z.array(z.tuple([z.string(), z.string()])),
  skipped: z.array(
    z.object({
      path: z.string(),
      bytes: z.number(),
      why: z.enum(["too_big", "quota", "unreadable", "special", "nested_repository", "secret"]),
      nested: z.object({ commit: z.string().nullable(), dirty: z.boolean().nullable() }).exactOptional(),
    }),
  ),
});
export type Meta = z.infer<typeof metaSchema>;

/** Text of a state file that a checkpoint keeps; null when it has none of that name. */
export async function stateText(git: RepoGit, meta: Meta, name: string): Promise<string | null> {
  const [, blob] = meta.state.find(([kept]) => kept === name) ?? [];
  return blob === undefined ? null : (await git.run(["cat-file", "blob", blob])).text.trim();
}

export const META_NAME = "loopkeeper.json";

/** Where the meta commit hangs: beneath the second parent, or beneath the first for a checkpoint without a HEAD. */
const PLACES = ["^2^2", "^1^1"] as const;

/** Null when the commit is no checkpoint, or its objects are gone. */
export async function readMeta(git: RepoGit, commit: string): Promise<Meta | null> {
  return (await readMetas(git, [commit])).get(commit) ?? null;
}

/** Metas of many checkpoints, by commit, with one git call; what cannot be read is left out. */
export async function readMetas(git: RepoGit, commits: readonly string[]): Promise<Map<string, Meta>> {
  const metas = new Map<string, Meta>();
  const places = [...new Set(commits)].flatMap((commit) =>
    PLACES.map((place) => ({ commit, name: `${commit}${place}:${META_NAME}` })),
  );
  if (places.length === 0) return metas;
  const { bytes } = await git.run(["cat-file", "--batch"], { input: places.map(({ name }) => `${name}\n`).join("") });
  let at = 0;
  // One answer for each question, in their order: a header, and for an object its bytes.
  for (const { commit } of places) {
    const end = bytes.indexOf(10, at);
    const [, kind, size] = /^[0-9a-f]{40,64} (\w+) (\d+)$/.exec(bytes.toString("latin1", at, end)) ?? [];
    at = end + 1;
    if (size === undefined) continue;
    const meta = kind === "blob" ? parseMeta(bytes.subarray(at, at + Number(size))) : null;
    if (meta !== null && !metas.has(commit)) metas.set(commit, meta);
    at += Number(size) + 1;
  }
  return metas;
}

function parseMeta(bytes: Buffer): Meta | null {
  try {
    return metaSchema.parse(JSON.parse(bytes.toString("utf8")));
  } catch {
    return null;
  }
}
