import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, link, lstat, open, readlink, rename, rm, rmdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { LoopkeeperError, systemCode } from "../run/errors.ts";
import type { PathContent } from "./checkpoint.ts";
import { type Folder, inFolderOf, removeEmpty } from "./folder.ts";
import { bytesOfPath } from "./path-text.ts";
import type { Sidecar } from "./private-state.ts";
import type { RepoGit } from "./repo-git.ts";
import { type Staged, stageFolder } from "./stage-files.ts";

/** One path of the working tree that gets another content. */
export interface Placement {
  readonly path: string;
  /** What is there, as the safety checkpoint has it; null when nothing is. */
  readonly present: PathContent;
  /** The finished file or link to put there; null to remove. */
  readonly staged: Staged | null;
}

/**
 * Puts finished files in the place of what the safety checkpoint holds. Each file gets a second name, is looked at by
 * content, replaced, and looked at once more, so that an edit made in the last moment is not lost; and each step works in
 * an open folder, so that no swapped link leads it out of the working tree. Before the first write all are looked at.
 */
export async function placeFiles(git: RepoGit, placements: readonly Placement[], safety: Sidecar): Promise<void> {
  const expect = (item: Placement): Expected => expectedOf(git, item, safety[item.path]?.raw);
  for (const item of placements) await lookAt(git, item, expect(item));
  const removals = placements.filter((item) => item.staged === null);
  const writes = placements.filter((item) => item.staged !== null);
  // Removals first: a file may go to where a folder was, and the other way round.
  const aside = Buffer.from(join(stageFolder(git), "aside"));
  for (const item of [...removals, ...writes]) await replace(git, item, expect(item), aside);
}

interface Expected {
  readonly content: PathContent;
  /** Id of the exact bytes: git may have stored a converted form. */
  readonly raw: string | null;
  readonly algorithm: "sha1" | "sha256";
}

function expectedOf(git: RepoGit, item: Placement, raw: string | undefined): Expected {
  return { content: item.present, raw: raw ?? item.present?.oid ?? null, algorithm: git.repo.object_format };
}

async function lookAt(git: RepoGit, item: Placement, expected: Expected): Promise<void> {
  const same = await inFolderOf(git.repo.top, segmentsOf(item.path), false, (folder, name) => matches(folder.at(name), expected));
  // No way to it: then nothing may be expected there.
  if (!(same ?? expected.content === null)) throw moved(item.path, "Nothing was changed. Ask for a new preview.");
}

async function replace(git: RepoGit, item: Placement, expected: Expected, aside: Buffer): Promise<void> {
  const { staged, path } = item;
  const done = await inFolderOf(git.repo.top, segmentsOf(path), staged !== null, async (folder, name) => {
    const place = { at: folder.at(name), path, expected, aside };
    if (staged === null) await remove(place);
    else if (expected.content === null) await putNew(folder, name, staged, path);
    else await putOver(folder, place, staged);
    return true;
  });
  if (done === null && (staged !== null || expected.content !== null)) throw moved(path, HALF_DONE);
  if (staged === null) await dropEmptyParents(git, path);
}

interface Place {
  readonly at: Buffer;
  readonly path: string;
  readonly expected: Expected;
  /** A second name for what is there, outside of the tree: it keeps what is written to it in the last moment. */
  readonly aside: Buffer;
}

/** Never a moment without a file, so that a process which dies in between leaves either the old one or the new one. */
async function putOver(folder: Folder, place: Place, staged: Staged): Promise<void> {
  await withAside(place, async () => {
    const fresh = folder.at(folder.freeName());
    const ready = await bring(staged, fresh);
    try {
      await rename(ready, place.at);
    } finally {
      await rm(fresh, { force: true });
    }
  });
}

async function remove(place: Place): Promise<void> {
  if (place.expected.content === null) return;
  await withAside(place, () => rm(place.at));
}

async function withAside(place: Place, work: () => Promise<void>): Promise<void> {
  const kept = await keepAside(place);
  try {
    if (!(await matches(place.at, place.expected))) throw moved(place.path, HALF_DONE);
    await work();
    // It was written to while it was replaced: what was written goes back, and the restore ends.
    if (kept && !(await matches(place.aside, place.expected))) {
      await rename(place.aside, place.at);
      throw moved(place.path, HALF_DONE);
    }
  } finally {
    await rm(place.aside, { force: true });
  }
}

/** False on another file system, or on one without hard links: then the look before has to do. */
async function keepAside({ at, aside, path }: Place): Promise<boolean> {
  await rm(aside, { force: true });
  try {
    await link(at, aside);
    return true;
  } catch (error) {
    if (systemCode(error) === "ENOENT") throw moved(path, HALF_DONE);
    return false;
  }
}

/** Where nothing is expected to be: fails where something has appeared meanwhile, which a move would overwrite. */
async function putNew(folder: Folder, name: Buffer, staged: Staged, path: string): Promise<void> {
  const info = await lstat(folder.at(name)).catch(() => null);
  if (info?.isDirectory()) await removeEmpty(folder, name);
  if (staged.kind === "link") {
    await symlink(staged.target, folder.at(name)).catch(taken(path));
    return;
  }
  const fresh = folder.at(folder.freeName());
  const ready = await bring(staged, fresh);
  try {
    await link(ready, folder.at(name)).catch(async (error: unknown) => {
      if (systemCode(error) === "EEXIST") throw moved(path, HALF_DONE);
      // A file system without hard links.
      await rename(ready, folder.at(name));
    });
  } finally {
    await rm(fresh, { force: true });
  }
}

/** The finished file or link as a path on the file system of its place: where it was made, or else beside its place. */
async function bring(staged: Staged, beside: Buffer): Promise<Buffer> {
  if (staged.kind === "link") {
    await symlink(staged.target, beside);
    return beside;
  }
  if (staged.same_disk) return staged.file;
  await copyFile(staged.file, beside, constants.COPYFILE_EXCL);
  const handle = await open(beside, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    await handle.chmod(staged.mode);
  } finally {
    await handle.close();
  }
  return beside;
}

async function matches(path: Buffer, expected: Expected): Promise<boolean> {
  const info = await lstat(path).catch(() => null);
  const { content } = expected;
  if (info === null || content === null) return content === null && (info === null || info.isDirectory());
  if (info.isSymbolicLink() !== (content.mode === "120000")) return false;
  if (info.isSymbolicLink()) return blobId(expected.algorithm, await readlink(path, { encoding: "buffer" })) === expected.raw;
  if (!info.isFile() || ((info.mode & 0o100) !== 0) !== (content.mode === "100755")) return false;
  return (await fileId(expected.algorithm, path, info.size)) === expected.raw;
}

function blobId(algorithm: "sha1" | "sha256", bytes: Buffer): string {
  return createHash(algorithm).update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

async function fileId(algorithm: "sha1" | "sha256", path: Buffer, size: number): Promise<string> {
  const hash = createHash(algorithm).update(`blob ${size}\0`);
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    for await (const chunk of handle.createReadStream({ autoClose: false })) hash.update(chunk);
  } finally {
    await handle.close();
  }
  return hash.digest("hex");
}

/** As git does, a folder that held nothing but what is removed goes too. */
async function dropEmptyParents(git: RepoGit, path: string): Promise<void> {
  const segments = segmentsOf(path).slice(0, -1);
  for (let length = segments.length; length > 0; length -= 1) {
    const removed = await inFolderOf(git.repo.top, segments.slice(0, length), false, (folder, name) =>
      rmdir(folder.at(name)).then(
        () => true,
        () => false,
      ),
    );
    if (removed !== true) return;
  }
}

function segmentsOf(path: string): Buffer[] {
  const bytes = bytesOfPath(path);
  const segments: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf(47, at);
    segments.push(bytes.subarray(at, end < 0 ? bytes.length : end));
    if (end < 0) return segments;
    at = end + 1;
  }
}

const HALF_DONE =
  "What others wrote was kept; the files before it in the list are restored already. Call it again to finish, or go back with the safety checkpoint.";

function taken(path: string): (error: unknown) => never {
  return (error) => {
    throw systemCode(error) === "EEXIST" ? moved(path, HALF_DONE) : error;
  };
}

function moved(path: string, what: string): LoopkeeperError {
  return new LoopkeeperError("repository_problem", `${path} changed while the restore was about to write it. ${what}`);
}
