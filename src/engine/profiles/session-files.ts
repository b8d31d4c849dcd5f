import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Environment } from "../environment.ts";
import type { SessionFile } from "./profile.ts";

/** The engine's own folder: named by a variable of its environment, else in the user's home. */
export function engineFolder(env: Environment, variable: string, inHome: string): string {
  return env[variable] ?? join(env["HOME"] ?? "/", inHome);
}

/** Files below `root/folder` whose path within `root` passes; an engine that never ran has none. */
export async function findFiles(
  root: string,
  folder: string,
  wanted: (name: string) => boolean,
): Promise<readonly SessionFile[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(() => []);
  const names = entries.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)));
  return names
    .filter(wanted)
    .toSorted()
    .map((name) => ({ name, path: join(root, name) }));
}
