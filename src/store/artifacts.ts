import { epochMs, isoOf, now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { sha256 } from "../run/id.ts";
import type { Backend, Trx } from "./backend.ts";
import { compress, decompress } from "./journal-chunk.ts";

/** How long content stays after the last list dropped it: a writer that has just put the same content still may name it. */
const UNUSED_LIFE_MS = 24 * 60 * 60 * 1000;
const KEYS_PER_QUERY = 500;

export async function putArtifact({ db }: Backend, bytes: Uint8Array): Promise<string> {
  const id = sha256(bytes);
  const known = await db.updateTable("artifacts").set({ unused_since: null }).where("id", "=", id).executeTakeFirst();
  if (known.numUpdatedRows === 1n) return id;
  await db
    .insertInto("artifacts")
    .values({ id, ...compress(bytes), raw_bytes: bytes.byteLength, unused_since: null })
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ unused_since: null }))
    .execute();
  return id;
}

export async function readArtifact({ db }: Backend, id: string): Promise<Uint8Array | null> {
  const row = await db.selectFrom("artifacts").select(["codec", "body"]).where("id", "=", id).executeTakeFirst();
  if (row === undefined) return null;
  const bytes = await decompress(row.codec, row.body).catch(() => null);
  if (bytes === null || sha256(bytes) !== id) throw damaged(id);
  return bytes;
}

function damaged(id: string): LoopkeeperError {
  return new LoopkeeperError(
    "store_unavailable",
    `The content ${id.slice(0, 12)} in the store is damaged. Other records are not affected; restore this one from a copy of the store.`,
  );
}

export async function setRunArtifacts(
  backend: Backend,
  runId: string,
  name: string,
  meta: string,
  ids: readonly string[],
): Promise<void> {
  await backend.write(async (trx) => {
    await trx
      .insertInto("run_artifact_lists")
      .values({ run_id: runId, name, meta })
      .onConflict((conflict) => conflict.columns(["run_id", "name"]).doUpdateSet({ meta }))
      .execute();
    const dropped = await replaceList(trx, runId, name, ids);
    await markUnused(trx, dropped);
    await dropUnused(trx);
  });
}

/** Answers the ids that the earlier list held and this one does not. */
async function replaceList(trx: Trx, runId: string, name: string, ids: readonly string[]): Promise<readonly string[]> {
  const old = await trx
    .deleteFrom("run_artifacts")
    .where("run_id", "=", runId)
    .where("name", "=", name)
    .returning("artifact_id")
    .execute();
  const rows = ids.map((artifact_id, position) => ({ run_id: runId, name, position, artifact_id }));
  for (const group of groupsOf(rows))
    await trx
      .insertInto("run_artifacts")
      .values([...group])
      .execute();
  const kept = new Set(ids);
  return [...new Set(old.map((row) => row.artifact_id))].filter((id) => !kept.has(id));
}

async function markUnused(trx: Trx, ids: readonly string[]): Promise<void> {
  for (const group of groupsOf(ids)) {
    await trx
      .updateTable("artifacts")
      .set({ unused_since: now() })
      .where("id", "in", [...group])
      .where((of) =>
        of.not(of.exists(of.selectFrom("run_artifacts").select("artifact_id").whereRef("artifact_id", "=", "artifacts.id"))),
      )
      .execute();
  }
}

async function dropUnused(trx: Trx): Promise<void> {
  await trx
    .deleteFrom("artifacts")
    .where("unused_since", "is not", null)
    .where("unused_since", "<", isoOf(epochMs() - UNUSED_LIFE_MS))
    .where((of) =>
      of.not(of.exists(of.selectFrom("run_artifacts").select("artifact_id").whereRef("artifact_id", "=", "artifacts.id"))),
    )
    .execute();
}

export async function readRunArtifacts(
  backend: Backend,
  runId: string,
  name: string,
): Promise<{ readonly meta: string; readonly ids: readonly string[] } | null> {
  return backend.read(async (trx) => {
    const list = await trx
      .selectFrom("run_artifact_lists")
      .select("meta")
      .where("run_id", "=", runId)
      .where("name", "=", name)
      .executeTakeFirst();
    if (list === undefined) return null;
    const rows = await trx
      .selectFrom("run_artifacts")
      .select("artifact_id")
      .where("run_id", "=", runId)
      .where("name", "=", name)
      .orderBy("position")
      .execute();
    return { meta: list.meta, ids: rows.map((row) => row.artifact_id) };
  });
}

/** Databases limit the parameters of one statement. */
function* groupsOf<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += KEYS_PER_QUERY) yield items.slice(from, from + KEYS_PER_QUERY);
}
