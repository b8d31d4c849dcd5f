import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { copyFile, link, lstat, open, readlink, rename, rm, rmdir, symlink } from "node:fs/promises";
import { LoopkeeperError, systemCode } from "../run/errors.ts";
import type { PathContent } from "./checkpoint.ts";
import { type Folder, inFolderOf, removeEmpty } from "./folder.ts";
import { bytesOfPath } from "./path-text.ts";
import type { Sidecar } from "./private-state.ts";
import type { RepoGit } from "./repo-git.ts";
import type { Staged } from "./stage-files.ts";

/** One path of the working tree that gets another content. */
export interface Placement {
  readonly path: string;
  /** What is there, as the safety checkpoint has it; null when nothing is. */
  readonly present: PathContent;
  /** The finished file or link to put there; null to remove. */
  readonly staged: Staged | null;
}

/**
 * Puts finished files in the place of what the safety checkpoint holds. Each file is first moved aside, looked at by
 * content, and only then replaced, so that an edit made in the last moment is not lost; and each step works in an open
 * folder, so that no swapped link leads it out of the working tree. Before the first write all of them are looked at.
 */
export async function placeFiles(git: RepoGit, placements: readonly Placement[], safety: Sidecar): Promise<void> {
  const expect = (item: Placement): Expected => expectedOf(git, item, safety[item.path]?.raw);
  for (const item of placements) await lookAt(git, item, expect(item));
  const removals = placements.filter((item) => item.staged === null);
  const writes = placements.filter((item) => item.staged !== null);
  // Removals first: a file may go to where a folder was, and the other way round.
  for (const item of [...removals, ...writes]) await replace(git, item, expect(item));
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

async function replace(git: RepoGit, item: Placement, expected: Expected): Promise<void> {
  const { staged } = item;
  const done = await inFolderOf(git.repo.top, segmentsOf(item.path), staged !== null, async (folder, name) => {
    const aside = expected.content === null ? null : await takeAside(folder, name, expected, item.path);
    if (staged !== null) await put(folder, name, staged, item.path);
    if (aside !== null) await rm(folder.at(aside), { force: true });
    return true;
  });
  if (done === null && (staged !== null || expected.content !== null)) throw moved(item.path, HALF_DONE);
  if (staged === null) await dropEmptyParents(git, item.path);
}

/** Moves what is there out of the way; when it is not what was expected, it goes back and the restore ends. */
async function takeAside(folder: Folder, name: Buffer, expected: Expected, path: string): Promise<Buffer> {
  const aside = folder.freeName();
  try {
    await rename(folder.at(name), folder.at(aside));
  } catch (error) {
    if (systemCode(error) === "ENOENT") throw moved(path, HALF_DONE);
    throw error;
  }
  if (await matches(folder.at(aside), expected)) return aside;
  await putBack(folder, aside, name);
  throw moved(path, HALF_DONE);
}

async function putBack(folder: Folder, aside: Buffer, name: Buffer): Promise<void> {
  try {
    await link(folder.at(aside), folder.at(name));
  } catch (error) {
    // Something else took the name, or it is a folder: then a plain move, or the name beside it has to do.
    if (systemCode(error) !== "EEXIST") await rename(folder.at(aside), folder.at(name));
    return;
  }
  await rm(folder.at(aside), { force: true });
}

async function put(folder: Folder, name: Buffer, staged: Staged, path: string): Promise<void> {
  const info = await lstat(folder.at(name)).catch(() => null);
  if (info?.isDirectory()) await removeEmpty(folder, name);
  if (staged.kind === "link") {
    await symlink(staged.target, folder.at(name)).catch(taken(path));
    return;
  }
  const fresh = folder.freeName();
  try {
    await bring(staged.file, folder.at(fresh));
    const handle = await open(folder.at(fresh), constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      await handle.chmod(staged.mode);
    } finally {
      await handle.close();
    }
    // A link fails where a file has appeared meanwhile; a move would overwrite it.
    await link(folder.at(fresh), folder.at(name)).catch(async (error: unknown) => {
      if (systemCode(error) === "EEXIST") throw moved(path, HALF_DONE);
      // A file system without hard links.
      await rename(folder.at(fresh), folder.at(name));
    });
  } finally {
    await rm(folder.at(fresh), { force: true });
  }
}

async function bring(from: Buffer, to: Buffer): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (systemCode(error) !== "EXDEV") throw error;
    await copyFile(from, to, constants.COPYFILE_EXCL);
  }
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
