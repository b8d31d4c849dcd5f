import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { systemCode } from "../../run/errors.ts";
import type { Environment } from "../environment.ts";
import type { SessionFile } from "./profile.ts";

/** The engine's own folder: named by a variable of its environment, else in the user's home. */
export function engineFolder(env: Environment, variable: string, inHome: string): string {
  return env[variable] ?? join(env["HOME"] ?? "/", inHome);
}

/** Files below `root/folder` whose path within `root` passes; an engine that never ran has none. */
export async function readFiles(
  root: string,
  folder: string,
  wanted: (name: string) => boolean,
): Promise<readonly SessionFile[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)));
  return Promise.all(names.filter(wanted).map(async (name) => ({ name, bytes: await readFile(join(root, name)) })));
}

/** Writes files below `root`; one that is already there is the engine's own and stays as it is. */
export async function writeMissingFiles(root: string, files: readonly SessionFile[]): Promise<void> {
  for (const { name, bytes } of files) {
    const path = resolve(root, name);
    if (!path.startsWith(resolve(root) + sep))
      throw new Error(`a packed session names a file outside the engine's folder: ${name}`);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, bytes, { flag: "wx", mode: 0o600 }).catch((error: unknown) => {
      if (systemCode(error) !== "EEXIST") throw error;
    });
  }
}
