import { epochMs, isoOf, now } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { sha256 } from "../run/id.ts";
import type { Backend, Trx } from "./backend.ts";
import { compress, decompress } from "./journal-chunk.ts";

/** How long content stays that no list names: a writer puts it first and names it afterwards. */
const UNUSED_LIFE_MS = 15 * 60 * 1000;
const KEYS_PER_QUERY = 500;

export async function putArtifact(backend: Backend, bytes: Uint8Array): Promise<string> {
  const id = sha256(bytes);
  await keepArtifact(backend, id, bytes, "packed");
  return id;
}

/** Keeps content under an id that is its alone. Until a list names it, it counts as unused from now on. */
export async function keepArtifact({ db }: Backend, id: string, bytes: Uint8Array, how: "packed" | "as it is"): Promise<void> {
  const known = await db
    .updateTable("artifacts")
    .set((of) => ({ unused_since: of.case().when("unused_since", "is", null).then(null).else(now()).end() }))
    .where("id", "=", id)
    .executeTakeFirst();
  if (known.numUpdatedRows === 1n) return;
  const stored = how === "packed" ? compress(bytes) : ({ codec: "none", body: Buffer.from(bytes) } as const);
  await db
    .insertInto("artifacts")
    .values({ id, ...stored, raw_bytes: bytes.byteLength, unused_since: now() })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
}

export async function readArtifact(
  { db }: Backend,
  id: string,
  isWhole: (bytes: Uint8Array) => boolean = (bytes) => sha256(bytes) === id,
): Promise<Uint8Array | null> {
  const row = await db.selectFrom("artifacts").select(["codec", "body"]).where("id", "=", id).executeTakeFirst();
  if (row === undefined) return null;
  const bytes = row.codec === "none" ? row.body : await decompress(row.codec, row.body).catch(() => null);
  if (bytes === null || !isWhole(bytes)) throw damaged(id);
  return bytes;
}

function damaged(id: string): LoopkeeperError {
  return new LoopkeeperError(
    "store_unavailable",
    `The content ${id.slice(0, 12)} in the store is damaged. Other records are not affected; restore this one from a copy of the store.`,
  );
}

/** False when `fence` is given and is no longer the run's: then nothing is stored. */
export async function setRunArtifacts(
  backend: Backend,
  runId: string,
  name: string,
  meta: string,
  ids: readonly string[],
  fence: number | null = null,
): Promise<boolean> {
  return backend.write(async (trx) => {
    if (fence !== null && !(await holdsFence(backend, trx, runId, fence))) return false;
    await trx
      .insertInto("run_artifact_lists")
      .values({ run_id: runId, name, meta })
      .onConflict((conflict) => conflict.columns(["run_id", "name"]).doUpdateSet({ meta }))
      .execute();
    const { dropped, added } = await replaceList(trx, runId, name, ids);
    for (const group of groupsOf(added))
      await trx
        .updateTable("artifacts")
        .set({ unused_since: null })
        .where("id", "in", [...group])
        .execute();
    await markUnused(trx, dropped);
    await dropUnused(trx);
    return true;
  });
}

async function holdsFence(backend: Backend, trx: Trx, runId: string, fence: number): Promise<boolean> {
  const query = trx.selectFrom("run_heads").select("fence").where("run_id", "=", runId);
  const head = await (backend.kind === "postgres" ? query.forUpdate() : query).executeTakeFirst();
  return head?.fence === fence;
}

/** Answers the ids that only the earlier list held, and those that only this one holds. */
async function replaceList(
  trx: Trx,
  runId: string,
  name: string,
  ids: readonly string[],
): Promise<{ readonly dropped: readonly string[]; readonly added: readonly string[] }> {
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
  const before = new Set(old.map((row) => row.artifact_id));
  const after = new Set(ids);
  return { dropped: [...before].filter((id) => !after.has(id)), added: [...after].filter((id) => !before.has(id)) };
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
