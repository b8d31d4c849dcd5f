import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { expect, it } from "vitest";
import { z } from "zod";
import { AT, aNewRun, anEntry } from "../support/records.ts";
import { newStorePlace, rawSql } from "../support/stores.ts";

const chunksSchema = z.array(z.object({ first_n: z.number(), last_n: z.number(), body: z.instanceof(Uint8Array) }));

/** Four flushes of 5 entries whose compressed bytes are over several pages of the file; then `hit` changes bytes of the file itself. */
async function damaged(pageOfChunk: (file: Buffer, body: Buffer) => { readonly at: number; readonly bytes: Buffer }) {
  const place = await newStorePlace("sqlite");
  const writer = await place.open();
  const { run_id } = await writer.createRun(aNewRun());
  for (let flush = 0; flush < 4; flush += 1) {
    const entries = Array.from({ length: 5 }, (_, n) =>
      anEntry(`flush ${flush} entry ${n} ${randomBytes(4_000).toString("base64")}`),
    );
    await writer.appendJournal({ run_id, fence: 0, at: AT, entries });
  }
  await writer.close();
  await rawSql(place, "pragma wal_checkpoint(truncate)");
  const chunks = chunksSchema.parse(await rawSql(place, "select first_n, last_n, body from journal_chunks order by first_n"));
  const body = Buffer.from(chunks[1]?.body ?? []);
  const { at, bytes } = pageOfChunk(readFileSync(place.options.path), body);
  const file = openSync(place.options.path, "r+");
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
  return { store: await place.open(), run_id };
}

const PAGE = 4096;

/** Where the middle of a body stands in the file; a piece may lie over the border of two pages, which are not neighbours. */
function placeOf(file: Buffer, body: Buffer): number {
  for (let from = 6_000; from < 10_000; from += 500) {
    const at = file.indexOf(body.subarray(from, from + 100));
    if (at >= 0) return at;
  }
  throw new Error("the body is not in the file");
}

it("400 NUL bytes within a stored piece are named, and all around them is read", async () => {
  const { store, run_id } = await damaged((file, body) => ({
    at: placeOf(file, body),
    bytes: Buffer.alloc(400),
  }));
  expect(await store.journalHealth(run_id)).toEqual({ total: 20, gaps: ["events 6-10 unreadable"], unchecked_below: null });
  const page = await store.journal(run_id, { limit: 50 });
  expect(page.entries.map((entry) => entry.n)).toEqual([1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
  expect(page.gaps).toEqual(["events 6-10 unreadable"]);
});

it("a page of the file that is gone costs what stood on it, and no more", async () => {
  const { store, run_id } = await damaged((file, body) => {
    const at = Math.floor(placeOf(file, body) / PAGE) * PAGE;
    return { at, bytes: Buffer.alloc(PAGE) };
  });
  expect((await store.journalHealth(run_id)).gaps).toEqual(["events 6-10 unreadable"]);
  const page = await store.journal(run_id, { limit: 50 });
  expect(page.entries.filter((entry) => entry.kind !== "gap").map((entry) => entry.n)).toEqual([
    1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
  ]);
  expect((await store.journal(run_id, { search: "flush 3 entry 4", limit: 5 })).entries).toHaveLength(1);
});
