import { readFile, rm, rmdir, stat } from "node:fs/promises";
import { dirname, relative, sep } from "node:path";
import { z } from "zod";
import { isoOf, msOf } from "../run/clock.ts";
import type { FreedSession, SessionOf } from "./engine.ts";
import type { Environment } from "./environment.ts";
import type { EngineProfile, SessionFile, SessionFiles, SessionPlace } from "./profiles/profile.ts";
import { profileOf } from "./profiles/table.ts";
import { placeOf } from "./session-copy.ts";

/** Bytes of the engine's own files of a session that are here; null where it is not known where the engine keeps them. */
export async function sessionSize(base: Environment, input: SessionOf): Promise<number | null> {
  return withFiles(base, input, null, async ({ files }) => {
    const sizes = await Promise.all(files.map(async ({ path }) => (await stat(path)).size));
    return sizes.reduce((sum, bytes) => sum + bytes, 0);
  });
}

/** See `Engines.freeSession`. */
export async function freeSession(base: Environment, input: FreeInput): Promise<FreedSession> {
  return freeing(base, input, async ({ profile, place, files }) => {
    if (profile.deleteSession !== undefined) await profile.deleteSession(place);
    else for (const file of files) await remove(file);
  });
}

/** See `Engines.freeableSession`. */
export async function freeableSession(base: Environment, input: FreeInput): Promise<FreedSession> {
  return freeing(base, input, async () => {});
}

type FreeInput = SessionOf & { readonly untouched_since: string };

/** What keeps the files is judged here for the look and for the deed alike. */
async function freeing(base: Environment, input: FreeInput, free: (found: Found) => Promise<void>): Promise<FreedSession> {
  const unknown = { freed: 0, kept: `it is not known where ${input.agent.name} keeps them` };
  // Files are found by the id: one that could be a part of another name may be anybody's.
  if (!/^[\w-]{16,200}$/.test(input.session_id)) return unknown;
  return withFiles<FreedSession>(base, input, unknown, async (found) => {
    const { profile, files } = found;
    const sizes = await Promise.all(files.map(async ({ path }) => (await stat(path)).size));
    const freed = sizes.reduce((sum, bytes) => sum + bytes, 0);
    for (const file of files) {
      const at = await changedAt(profile, file);
      if (at === null || at > msOf(input.untouched_since))
        return { freed: 0, kept: `somebody went on with the conversation after the stop${at === null ? "" : ` (${isoOf(at)})`}` };
    }
    if (files.length > 0) await free(found);
    return { freed, kept: null };
  });
}

interface Found {
  readonly profile: EngineProfile;
  readonly place: SessionPlace;
  /** Those that are the session's without doubt. */
  readonly files: readonly SessionFile[];
}

async function withFiles<T>(base: Environment, input: SessionOf, unknown: T, work: (found: Found) => Promise<T>): Promise<T> {
  const profile = profileOf(input.agent.profile);
  const place = placeOf(base, input);
  const found: SessionFiles | undefined = await profile.sessionFiles?.(place);
  if (found === undefined) return unknown;
  try {
    const owned = await Promise.all(found.files.map(async ({ path }) => (await profile.isOf?.(path, input.session_id)) ?? true));
    return await work({ profile, place, files: found.files.filter((_file, n) => owned[n]) });
  } finally {
    await found.done?.();
  }
}

const exportSchema = z.looseObject({ info: z.looseObject({ time: z.looseObject({ updated: z.number() }) }) });

/** When somebody last wrote to the session, in milliseconds; null when it does not say. */
async function changedAt(profile: EngineProfile, file: SessionFile): Promise<number | null> {
  if (profile.importSession === undefined) return (await stat(file.path)).mtimeMs;
  try {
    return exportSchema.parse(JSON.parse(await readFile(file.path, "utf8"))).info.time.updated;
  } catch {
    return null;
  }
}

/** The file, and the folders that were for it alone. */
async function remove({ name, path }: SessionFile): Promise<void> {
  await rm(path, { force: true });
  const root = path.slice(0, path.length - name.length);
  for (let folder = dirname(path); relative(root, folder).split(sep).length > 1; folder = dirname(folder)) {
    try {
      await rmdir(folder);
    } catch {
      // Something else is in it.
      return;
    }
  }
}
