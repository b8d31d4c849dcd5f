import { type FileHandle, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, resolve, sep } from "node:path";
import { msOf } from "../run/clock.ts";
import { systemCode } from "../run/errors.ts";

type ReadPart = (id: string) => Promise<Uint8Array>;

interface CopiedFile {
  readonly name: string;
  readonly parts: readonly string[];
  /** ISO instant at which the copy was made. */
  readonly made_at: string;
}

/**
 * Puts a file of a copy below `root`. One that is there already stays when the copy goes no further than it does: the engine may
 * have gone on since the copy was made. One that the copy goes beyond is left over from an earlier stay on this machine.
 */
export async function putFile(root: string, file: CopiedFile, part: ReadPart): Promise<void> {
  const path = resolve(root, file.name);
  if (!path.startsWith(resolve(root) + sep))
    throw new Error(`a packed session names a file outside the engine's folder: ${file.name}`);
  if (await staysAsItIs(path, file, part)) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const fresh = `${path}.loopkeeper-new`;
  await rm(fresh, { force: true });
  await writeParts(fresh, file.parts, part);
  await rename(fresh, path);
}

/** Writes a new file that only this user can read, one part in memory at a time. */
export async function writeParts(path: string, parts: readonly string[], part: ReadPart): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    for (const id of parts) await file.writeFile(await part(id));
  } finally {
    await file.close();
  }
}

async function staysAsItIs(path: string, file: CopiedFile, part: ReadPart): Promise<boolean> {
  const present = await open(path, "r").catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  });
  if (present === null) return false;
  try {
    const order = await compare(present, file.parts, part);
    if (order !== "differs") return order === "further";
    return (await stat(path)).mtimeMs > msOf(file.made_at);
  } finally {
    await present.close();
  }
}

/** `further`: the present file begins with the whole copy. `behind`: the copy begins with the whole file and has more. */
async function compare(present: FileHandle, parts: readonly string[], part: ReadPart): Promise<"further" | "behind" | "differs"> {
  for (const id of parts) {
    const wanted = await part(id);
    const found = Buffer.alloc(wanted.byteLength);
    let filled = 0;
    while (filled < found.length) {
      const { bytesRead } = await present.read(found, filled, found.length - filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    if (Buffer.compare(found.subarray(0, filled), wanted.subarray(0, filled)) !== 0) return "differs";
    if (filled < found.length) return "behind";
  }
  return "further";
}
