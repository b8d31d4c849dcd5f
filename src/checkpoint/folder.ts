import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rmdir } from "node:fs/promises";
import { LoopkeeperError, systemCode } from "../run/errors.ts";

/**
 * A folder of a working tree held open, so that what is done in it stays in it: a folder that is swapped for a symbolic
 * link meanwhile takes nothing along to where the link points.
 */
export interface Folder {
  /** Path of a name in this very folder. */
  at(name: Buffer): Buffer;
  /** A name that is not taken, for a file on its way. */
  freeName(): Buffer;
  /** The folder of that name; null when there is none, or when a link or a file stands there. */
  enter(name: Buffer): Promise<Folder | null>;
  close(): Promise<void>;
}

/** Linux follows this to the open folder itself, whatever its name leads to by now. Elsewhere the name has to do. */
const BY_HANDLE = process.platform === "linux";
const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

async function openFolder(path: Buffer): Promise<Folder> {
  const handle: FileHandle = await open(path, FLAGS);
  const base = BY_HANDLE ? Buffer.from(`/proc/self/fd/${handle.fd}`) : path;
  const at = (name: Buffer): Buffer => Buffer.concat([base, Buffer.from("/"), name]);
  return {
    at,
    freeName: () => Buffer.from(`.loopkeeper-${randomBytes(8).toString("hex")}`),
    enter: async (name) => {
      try {
        return await openFolder(at(name));
      } catch (error) {
        const code = systemCode(error);
        if (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") return null;
        throw error;
      }
    },
    close: () => handle.close(),
  };
}

/**
 * Works in the folder that holds a path of byte segments beneath `top`. With `make`, missing folders are made on the way.
 * Null when the way does not lead there: a part is missing, or is no folder.
 */
export async function inFolderOf<T>(
  top: string,
  segments: readonly Buffer[],
  make: boolean,
  work: (folder: Folder, name: Buffer) => Promise<T>,
): Promise<T | null> {
  let folder = await openFolder(Buffer.from(top));
  try {
    for (const segment of segments.slice(0, -1)) {
      if (make) await mkdir(folder.at(segment)).catch(unlessExists);
      const next = await folder.enter(segment);
      if (next === null) return null;
      await folder.close();
      folder = next;
    }
    return await work(folder, segments.at(-1) ?? Buffer.alloc(0));
  } finally {
    await folder.close();
  }
}

/** Removes a folder that holds nothing but empty folders; throws when there is anything else in it. */
export async function removeEmpty(folder: Folder, name: Buffer): Promise<void> {
  const inner = await folder.enter(name);
  if (inner === null) return;
  try {
    for (const child of await readdir(inner.at(Buffer.from(".")), { encoding: "buffer" })) {
      const deeper = await inner.enter(child);
      await deeper?.close();
      if (deeper === null) throw new LoopkeeperError("repository_problem", "A folder that was to be replaced is not empty.");
      await removeEmpty(inner, child);
    }
  } finally {
    await inner.close();
  }
  await rmdir(folder.at(name));
}

function unlessExists(error: unknown): void {
  if (systemCode(error) !== "EEXIST") throw error;
}
