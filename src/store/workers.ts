import { randomBytes } from "node:crypto";
import { now } from "../run/clock.ts";
import type { Backend } from "./backend.ts";
import { readRows } from "./json.ts";
import { workerSchema } from "./rows.ts";
import type { WorkerRecord } from "./store.ts";

export async function registerWorker({ db }: Backend, worker: Omit<WorkerRecord, "beat_at">): Promise<void> {
  const row = { ...worker, identity: JSON.stringify(worker.identity), beat_at: now() };
  await db
    .insertInto("workers")
    .values(row)
    .onConflict((conflict) => conflict.column("worker_id").doUpdateSet(row))
    .execute();
}

export async function beatWorker({ db }: Backend, workerId: string): Promise<boolean> {
  const beat = await db.updateTable("workers").set({ beat_at: now() }).where("worker_id", "=", workerId).executeTakeFirst();
  return beat.numUpdatedRows === 1n;
}

export async function removeWorker({ db }: Backend, workerId: string): Promise<void> {
  await db.deleteFrom("workers").where("worker_id", "=", workerId).execute();
}

export async function readWorkers({ db }: Backend): Promise<WorkerRecord[]> {
  return readRows(workerSchema, "workers", await db.selectFrom("workers").selectAll().orderBy("started_at").execute());
}

/** Made by whoever asks first; every process of this store then gets the same. */
export async function storeSecret({ db }: Backend): Promise<Uint8Array> {
  const stored = () => db.selectFrom("meta").select("value").where("key", "=", "secret").executeTakeFirst();
  const known = await stored();
  if (known !== undefined) return Buffer.from(known.value, "hex");
  await db
    .insertInto("meta")
    .values({ key: "secret", value: randomBytes(32).toString("hex") })
    .onConflict((conflict) => conflict.column("key").doNothing())
    .execute();
  const made = await stored();
  return Buffer.from(made?.value ?? "", "hex");
}
