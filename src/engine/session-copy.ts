import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engines, PackedSession, SessionOf } from "./engine.ts";
import { type Environment, userEnvironment } from "./environment.ts";
import { putFile, writeParts } from "./place-file.ts";
import type { SessionFile, SessionPlace } from "./profiles/profile.ts";
import { profileOf } from "./profiles/table.ts";

/** Parts have this size, whatever the file: what is only appended to keeps all parts but its last. */
const PART_BYTES = 1024 * 1024;

type PackedFile = PackedSession["files"][number];

/** A packer remembers what it packed: a file with the same size and time is not read again. */
export function packerOf(base: Environment): Engines["packSession"] {
  const remembered = new Map<string, { readonly stamp: string; readonly file: PackedFile }>();

  async function pack(file: SessionFile, input: Parameters<Engines["packSession"]>[0]): Promise<PackedFile> {
    const info = await stat(file.path, { bigint: true });
    const stamp = `${file.name} ${info.ino} ${info.size} ${info.mtimeNs}`;
    const before = remembered.get(file.path);
    if (before?.stamp === stamp && before.file.parts.every((id) => input.known.has(id))) return before.file;
    const parts: string[] = [];
    let bytes = 0;
    for await (const part of partsOf(file.path)) {
      parts.push(await input.put(part));
      bytes += part.byteLength;
    }
    const packed = { name: file.name, bytes, parts };
    if (remembered.size > 1_000) remembered.clear();
    remembered.set(file.path, { stamp, file: packed });
    return packed;
  }

  return async (input) => {
    const profile = profileOf(input.agent.profile);
    const found = await profile.sessionFiles?.(placeOf(base, input));
    if (found === undefined) return null;
    try {
      const files: PackedFile[] = [];
      for (const file of found.files) files.push(await pack(file, input));
      return files.length === 0 ? null : { profile: profile.name, session_id: input.session_id, cwd: input.cwd, files };
    } finally {
      await found.done?.();
    }
  };
}

/** One part at a time is in memory; the bytes are good until the next one is asked for. */
async function* partsOf(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path, "r");
  try {
    const buffer = Buffer.alloc(PART_BYTES);
    for (;;) {
      let filled = 0;
      while (filled < PART_BYTES) {
        const { bytesRead } = await file.read(buffer, filled, PART_BYTES - filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      if (filled > 0) yield buffer.subarray(0, filled);
      if (filled < PART_BYTES) return;
    }
  } finally {
    await file.close();
  }
}

export async function unpackSession(base: Environment, input: Parameters<Engines["unpackSession"]>[0]): Promise<void> {
  const { packed } = input;
  const profile = profileOf(input.agent.profile);
  const place = placeOf(base, input);
  if (packed.profile !== profile.name || packed.session_id !== input.session_id) {
    throw new Error("the packed session belongs to another engine or another session");
  }
  if (profile.importSession !== undefined) {
    await withTempFile(async (path) => {
      for (const file of packed.files) await writeParts(path, file.parts, input.part);
      await profile.importSession?.(place, path);
    });
    return;
  }
  const target = await profile.sessionTarget?.(place, { cwd: packed.cwd, names: packed.files.map((file) => file.name) });
  if (target === undefined) throw new Error("this engine's sessions cannot be moved");
  for (const [index, file] of packed.files.entries()) {
    const name = target.names[index] ?? file.name;
    await putFile(target.root, { name, parts: file.parts, made_at: input.packed_at }, input.part);
  }
  for (const { name, text } of target.beside ?? [])
    await putFile(target.root, { name, parts: [text], made_at: input.packed_at }, async (part) => Buffer.from(part));
}

async function withTempFile(work: (path: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "lk-import-"));
  try {
    await work(join(folder, "session.json"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function hasSession(base: Environment, input: SessionOf): Promise<boolean | null> {
  const profile = profileOf(input.agent.profile);
  // An engine with a database of its own would have to be started to be asked.
  if (profile.sessionFiles === undefined || profile.importSession !== undefined) return null;
  const { files } = await profile.sessionFiles(placeOf(base, input));
  return files.length > 0;
}

export function placeOf(base: Environment, { agent, session_id, cwd }: SessionOf): SessionPlace {
  const profile = profileOf(agent.profile);
  const additions = profile.environment({ permissions: "all", base: { ...base, ...agent.env } });
  const env = userEnvironment(base, { ...agent.env, ...additions });
  return { env, command: agent.command, args: agent.args, session_id, cwd };
}
