import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Bundled, BundledCheckpoint } from "./bundles.ts";
import type { Checkpoints } from "./checkpoint.ts";
import { commitsOf, fullBranch } from "./head.ts";
import { withPrivateLock } from "./lock.ts";
import { type Meta, readMetas } from "./meta.ts";
import { joinNul } from "./path-text.ts";
import { commitMeta } from "./record.ts";
import { outgoingRef } from "./refs.ts";
import type { RepoGit } from "./repo-git.ts";
import { secretsIn } from "./secrets.ts";

type Input = Parameters<Checkpoints["bundle"]>[1];

/** Pairs of a commit and a tree in which that tree adds no secret: neither ever changes, so none is searched twice. */
export interface Harmless {
  has(pair: string): boolean;
  add(pair: string): void;
}

const MAX_REMEMBERED = 10_000;

export function rememberHarmless(): Harmless {
  const known = new Set<string>();
  return {
    has: (pair) => known.has(pair),
    add: (pair) => {
      if (known.size >= MAX_REMEMBERED) known.clear();
      known.add(pair);
    },
  };
}

/** Writes checkpoints with all that the run's remote lacks of them into a file that git can fetch from. */
export function bundleCheckpoints(git: RepoGit, input: Input, harmless: Harmless): Promise<Bundled> {
  return withPrivateLock(git.private_dir, async () => {
    const seen = new Map<string, boolean>();
    const checkpoints: BundledCheckpoint[] = [];
    const metas = await readMetas(
      git,
      input.checkpoints.map(({ commit }) => commit),
    );
    // When nothing had changed, several checkpoints are one commit.
    const clean = new Map<string, BundledCheckpoint>();
    for (const { id, commit } of input.checkpoints) {
      const meta = metas.get(commit);
      if (meta === undefined) continue;
      const made = clean.get(commit) ?? (await withoutSecrets(git, { id, commit }, meta, { seen, harmless }));
      clean.set(commit, made);
      checkpoints.push({ ...made, id });
    }
    const [branch = null, base = null] = await tipsOf(git, input);
    const refs = [
      ...checkpoints.map(({ id, commit }) => ({ ref: outgoingRef(input.run_id, id), commit })),
      ...(branch === null ? [] : [{ ref: outgoingRef(input.run_id, "branch"), commit: branch }]),
    ];
    if (checkpoints.length === 0) return { checkpoints, branch, bytes: 0, too_big: false, needs: null };
    await git.run(["update-ref", "--stdin"], { input: refs.map(({ ref, commit }) => `update ${ref} ${commit}\n`).join("") });
    try {
      return {
        checkpoints,
        branch,
        ...(await write(
          git,
          input,
          base,
          refs.map(({ ref }) => ref),
        )),
      };
    } finally {
      await git.run(["update-ref", "--stdin"], { input: refs.map(({ ref }) => `delete ${ref}\n`).join("") });
    }
  });
}

/** Commits of the branch and of the base; null for what is not there or was not asked for. */
async function tipsOf(git: RepoGit, { branch, base }: Input): Promise<(string | null)[]> {
  const wanted = [branch === null ? null : fullBranch(branch), base];
  const found = await commitsOf(
    git,
    wanted.filter((one) => one !== null),
  );
  return wanted.map((one) => (one === null ? null : (found.shift() ?? null)));
}

/**
 * What the remote has is left out. Without a remote the whole history goes along if it fits; if not, the other clone must have
 * the commit that the run began on.
 */
async function write(
  git: RepoGit,
  input: Input,
  base: string | null,
  refs: readonly string[],
): Promise<Pick<Bundled, "bytes" | "too_big" | "needs">> {
  const { remote_name } = git.repo;
  const known = remote_name !== null && /^[\w.-]+$/.test(remote_name) ? [`--remotes=${remote_name}`] : [];
  const ways = [
    ...(known.length > 0 || !input.thin ? [{ without: known, needs: null }] : []),
    ...(base === null ? [] : [{ without: [...known, base], needs: base }]),
  ];
  for (const { without, needs } of ways) {
    await rm(input.file, { force: true });
    const since = without.length === 0 ? [] : ["--not", ...without];
    await git.run(["bundle", "create", "--quiet", input.file, ...refs, ...since]);
    const { size } = await stat(input.file);
    if (size <= input.max_bytes) return { bytes: size, too_big: false, needs };
  }
  const size = (await stat(input.file).catch(() => null))?.size ?? 0;
  await rm(input.file, { force: true });
  return { bytes: size, too_big: true, needs: null };
}

/** The checkpoint as it is, or a copy of it that lacks what looks like a secret and is in no commit. */
async function withoutSecrets(
  git: RepoGit,
  { id, commit }: { readonly id: string; readonly commit: string },
  meta: Meta,
  known: { readonly seen: Map<string, boolean>; readonly harmless: Harmless },
): Promise<BundledCheckpoint> {
  const trees = [meta.tree, meta.index_tree].map((tree) => ({ tree, pair: `${meta.head ?? "none"} ${tree}` }));
  const open = trees.filter(({ pair }) => !known.harmless.has(pair));
  const wanted = open.map(({ tree }) => tree);
  const paths = wanted.length === 0 ? [] : await secretsIn(git, wanted, meta.head, known.seen);
  if (paths.length === 0) for (const { pair } of open) known.harmless.add(pair);
  if (paths.length === 0) return { id, commit, tree: meta.tree, index_tree: meta.index_tree, left_out: [] };
  const gone = new Set(paths);
  const tree = await treeWithout(git, meta.tree, paths);
  const index_tree = await treeWithout(git, meta.index_tree, paths);
  const stripped: Meta = {
    ...meta,
    tree,
    index_tree,
    flags: meta.flags.filter((flag) => !gone.has(flag.path)),
    unmerged: meta.unmerged.filter((entry) => !gone.has(entry.path)),
    raw: meta.raw.filter(([path]) => !gone.has(path)),
    modes: meta.modes.filter(([path]) => !gone.has(path)),
    skipped: [...meta.skipped, ...paths.map((path) => ({ path, bytes: 0, why: "secret" as const }))],
  };
  const [date = "0", pins = ""] = [
    (await git.run(["log", "-1", "--format=%ct", commit])).text,
    (await git.run(["rev-parse", `${commit}${meta.head === null ? "^1^1" : "^2^2"}^@`], { ok: [0, 128] })).text,
  ];
  const pinned = pins.split("\n").filter((oid) => /^[0-9a-f]{40,64}$/.test(oid));
  return { id, commit: await commitMeta(git, stripped, pinned, `${date} +0000`), tree, index_tree, left_out: paths };
}

async function treeWithout(git: RepoGit, tree: string, paths: readonly string[]): Promise<string> {
  await mkdir(git.private_dir, { recursive: true });
  const index = join(git.private_dir, "index.out");
  await rm(index, { force: true });
  try {
    await git.run(["read-tree", tree], { index });
    await git.run(["update-index", "--force-remove", "-z", "--stdin"], { index, input: joinNul(paths) });
    return (await git.run(["write-tree"], { index })).text;
  } finally {
    await rm(index, { force: true });
  }
}
