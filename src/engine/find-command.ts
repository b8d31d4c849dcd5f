import { access, constants, open, realpath, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";

/** Absolute path of an executable: a path as it is or relative to `cwd`, a bare name along PATH. Null when there is none. */
export async function findCommand(command: string, path: string, cwd: string): Promise<string | null> {
  if (command.includes("/")) {
    const file = isAbsolute(command) ? command : resolve(cwd, command);
    return (await isExecutable(file)) ? file : null;
  }
  for (const folder of path.split(delimiter)) {
    const file = resolve(cwd, folder, command);
    if (folder !== "" && (await isExecutable(file))) return file;
  }
  return null;
}

/**
 * How to start a program that we installed ourselves: a script for Node is run with the Node that runs us, since the one
 * on PATH may be too old for it.
 */
export async function ownInstall(folder: string, name: string): Promise<{ command: string; args: readonly string[] } | null> {
  const file = join(folder, "node_modules", ".bin", name);
  if (!(await isExecutable(file))) return null;
  const script = await realpath(file);
  return (await isNodeScript(script)) ? { command: process.execPath, args: [script] } : { command: script, args: [] };
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

async function isNodeScript(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(100), 0, 100, 0);
    return /^#!.*\bnode\b/.test(buffer.toString("latin1", 0, bytesRead));
  } finally {
    await handle.close();
  }
}
