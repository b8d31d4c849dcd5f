import { epochMs, isoOf } from "../run/clock.ts";
import { LoopkeeperError } from "../run/errors.ts";
import { type Backend, isUniqueViolation, type Trx } from "./backend.ts";
import { plain, readRow } from "./json.ts";
import { requestSchema } from "./rows.ts";
import type { RequestRecord } from "./store.ts";

const REQUEST_LIFE_MS = 7 * 24 * 60 * 60 * 1000;

/** Stores the answer beside its effect. A second call with the id that came at the same time must not have the effect again. */
export async function insertRequest(trx: Trx, request: RequestRecord): Promise<void> {
  await trx.deleteFrom("requests").where("at", "<", oldest()).execute();
  try {
    await trx
      .insertInto("requests")
      .values({ ...request, answer: plain(request.answer) })
      .execute();
  } catch (error) {
    if (isUniqueViolation(error)) throw requestTaken(request.request_id);
    throw error;
  }
}

export async function findRequest({ db }: Backend, owner: string, requestId: string): Promise<RequestRecord | null> {
  const row = await db
    .selectFrom("requests")
    .selectAll()
    .where("owner", "=", owner)
    .where("request_id", "=", requestId)
    .where("at", ">=", oldest())
    .executeTakeFirst();
  return row === undefined ? null : readRow(requestSchema, "requests", row);
}

export async function updateRequestAnswer({ db }: Backend, owner: string, requestId: string, answer: string): Promise<void> {
  await db
    .updateTable("requests")
    .set({ answer: plain(answer) })
    .where("owner", "=", owner)
    .where("request_id", "=", requestId)
    .execute();
}

function oldest(): string {
  return isoOf(epochMs() - REQUEST_LIFE_MS);
}

function requestTaken(requestId: string): LoopkeeperError {
  return new LoopkeeperError(
    "revision_conflict",
    `A call with request_id ${requestId} was stored at the same time. Send the same call again to get its answer.`,
  );
}
