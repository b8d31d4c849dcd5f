import { chmod, lstat, mkdir, readlink, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { OwnedPath } from "./checkpoint.ts";
import { absolute, joinNul } from "./path-text.ts";
import type { Sidecar } from "./private-state.ts";
import type { RepoGit } from "./repo-git.ts";

/** A file or link that is finished and only has to be moved into its place. */
export type Staged =
  | {
      readonly kind: "file";
      readonly file: Buffer;
      readonly mode: number;
      /** It can be moved or linked into the working tree. */
      readonly same_disk: boolean;
    }
  | { readonly kind: "link"; readonly target: Buffer };

/**
 * Writes the targets of the given paths into a private folder, as git would check them out, with their exact bytes and
 * modes. `index` holds the composed tree; its own attributes tell how files are converted.
 */
export async function stageFiles(
  git: RepoGit,
  index: string,
  paths: readonly OwnedPath[],
  sides: Sidecar,
): Promise<ReadonlyMap<string, Staged>> {
  const names = paths.filter((owned) => owned.target !== null).map((owned) => owned.path);
  const folder = stageFolder(git);
  await dropStage(git);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (names.length > 0)
    await git.run(["checkout-index", "-f", "-z", "--stdin"], {
      index,
      input: joinNul(names),
      config: ["core.sparseCheckout=false"],
      env: { GIT_WORK_TREE: folder },
    });
  const sameDisk = (await stat(folder)).dev === (await stat(git.repo.top)).dev;
  const staged = new Map<string, Staged>();
  for (const path of names) staged.set(path, await finish(git, absolute(folder, path), sides[path] ?? {}, sameDisk));
  return staged;
}

export async function dropStage(git: RepoGit): Promise<void> {
  await rm(stageFolder(git), { recursive: true, force: true });
}

export const stageFolder = (git: RepoGit): string => join(git.private_dir, "stage");

async function finish(git: RepoGit, file: Buffer, side: Sidecar[string], sameDisk: boolean): Promise<Staged> {
  const info = await lstat(file);
  if (info.isSymbolicLink()) return { kind: "link", target: await readlink(file, { encoding: "buffer" }) };
  if (side.raw !== undefined) {
    const { bytes } = await git.run(["cat-file", "blob", side.raw]);
    await writeFile(file, bytes);
  }
  const mode = side.mode ?? info.mode & 0o7777;
  await chmod(file, mode);
  return { kind: "file", file, mode, same_disk: sameDisk };
}
