import { constants } from "node:fs";
import { lstat, mkdir, open, realpath, rm } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { systemCode } from "../run/errors.ts";

/**
 * Copies one ignored file of the repository to the same place in the worktree. Gives why it was not copied, or null when it
 * was or is there already. Neither side is ever reached through a symbolic link or out of its folder: the names come from
 * whoever started the run, and what a link points at is not the repository's.
 */
export async function copyIgnored(fromTop: string, toTop: string, path: string): Promise<string | null> {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (isAbsolute(path) || parts.length === 0 || parts.includes("..")) return "it is no path inside the repository";
  if (parts.some((part) => part.toLowerCase() === ".git")) return "it is inside a git directory";
  const from = join(fromTop, ...parts);
  const info = await lstat(from).catch(() => null);
  if (info === null) return "there is no such file";
  if (info.isDirectory()) return "it is a folder; name its files";
  if (!info.isFile() || (await realpath(from)) !== join(await realpath(fromTop), ...parts))
    return "it is a symbolic link, lies behind one, or is no plain file";
  return (await makeParents(toTop, parts.slice(0, -1)))
    ? copyFresh(from, join(toTop, ...parts), info.mode & 0o777)
    : "its folder in the worktree is a symbolic link or a file";
}

/** Makes the folders one by one; false when something that is no folder stands in the way. */
async function makeParents(top: string, parts: readonly string[]): Promise<boolean> {
  let folder = top;
  for (const part of parts) {
    folder = join(folder, part);
    const info = await lstat(folder).catch(() => null);
    if (info === null) await mkdir(folder);
    else if (!info.isDirectory()) return false;
  }
  return true;
}

async function copyFresh(from: string, to: string, mode: number): Promise<string | null> {
  const source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const target = await open(to, "wx", mode);
    try {
      await target.writeFile(source.createReadStream({ autoClose: false }));
      return null;
    } catch (error) {
      await rm(to, { force: true });
      throw error;
    } finally {
      await target.close();
    }
  } catch (error) {
    if (systemCode(error) === "EEXIST") return null;
    throw error;
  } finally {
    await source.close();
  }
}
