import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { partOf } from "../../src/run/entry-part.ts";
import type { JournalEntry } from "../../src/run/event.ts";
import type { JournalPage, Store } from "../../src/store/store.ts";
import { AT, aNewRun, anEntry } from "../support/records.ts";
import { backends, newStorePlace, rawSql, type StorePlace } from "../support/stores.ts";

for (const backend of backends) {
  describe(`the journal in ${backend}`, () => {
    let place: StorePlace;
    let store: Store;
    beforeAll(async () => {
      place = await newStorePlace(backend);
      store = await place.open();
    });

    /** `chunks` flushes of three entries; flush k belongs to iteration k / 2. */
    async function written(chunks: number): Promise<string> {
      const { run_id } = await store.createRun(aNewRun());
      for (let chunk = 0; chunk < chunks; chunk += 1) {
        const entries = [1, 2, 3].map((part) => anEntry(`Chunk ${chunk} part ${part}`, { iteration: Math.floor(chunk / 2) + 1 }));
        await store.appendJournal({ run_id, fence: 0, at: AT, entries });
      }
      return run_id;
    }

    it("pages from the newest back and from the oldest on, to the same entries", async () => {
      const run_id = await written(7);
      const forward: number[] = [];
      for (let after = 0; ; after = forward.at(-1) ?? 0) {
        const page = await store.journal(run_id, { after, limit: 4 });
        if (page.entries.length === 0) break;
        forward.push(...page.entries.map((entry) => entry.n));
      }
      const backward: number[] = [];
      for (let before: number | undefined; ; before = backward[0]) {
        const page = await store.journal(run_id, before === undefined ? { limit: 4 } : { before, limit: 4 });
        if (page.entries.length === 0) break;
        backward.unshift(...page.entries.map((entry) => entry.n));
      }
      expect(forward).toEqual(Array.from({ length: 21 }, (_, index) => index + 1));
      expect(backward).toEqual(forward);
    });

    it("finds text whatever its case, in texts and in facts, over all chunks", async () => {
      const run_id = await written(5);
      const fact = anEntry("x", { kind: "tool_call", data: { input: { command: 'echo "HELLO\nthere"' } } });
      await store.appendJournal({ run_id, fence: 0, at: AT, entries: [fact] });
      const found = await store.journal(run_id, { search: "PART 2", limit: 3 });
      expect(found.entries.map((entry) => entry.n)).toEqual([8, 11, 14]);
      expect((await store.journal(run_id, { search: "part 2", before: 8, limit: 3 })).entries.map((entry) => entry.n)).toEqual([
        2, 5,
      ]);
      expect((await store.journal(run_id, { search: 'hello\nthere"', limit: 3 })).entries.map((entry) => entry.n)).toEqual([16]);
      expect((await store.journal(run_id, { search: "no such text", limit: 3 })).entries).toEqual([]);
    });

    it("gives one iteration alone, and counts it alone", async () => {
      const run_id = await written(6);
      const both = [anEntry("end of three", { iteration: 3 }), anEntry("start of four", { iteration: 4 })];
      await store.appendJournal({ run_id, fence: 0, at: AT, entries: both });
      const page = await store.journal(run_id, { iteration: 3, limit: 50 });
      expect(page.entries.map((entry) => entry.n)).toEqual([13, 14, 15, 16, 17, 18, 19]);
      expect(page.total).toBe(7);
      expect((await store.journal(run_id, { limit: 1 })).total).toBe(20);
    });

    it("shows a damaged chunk as one gap and keeps what is readable on both sides", async () => {
      const run_id = await written(4);
      const damages = [
        `update journal_chunks set body = ${backend === "sqlite" ? "x'00112233'" : "'\\x00112233'"} where run_id = '${run_id}' and first_n = 4`,
        `update journal_chunks set checksum = 'wrong' where run_id = '${run_id}' and first_n = 7`,
      ];
      for (const damage of damages) await rawSql(place, damage);
      const page = await store.journal(run_id, { limit: 50 });
      expect(page.gaps).toEqual(["events 4-6 unreadable", "events 7-9 unreadable"]);
      expect(page.entries.map((entry) => [entry.n, entry.kind])).toEqual([
        [1, "message"],
        [2, "message"],
        [3, "message"],
        [4, "gap"],
        [7, "gap"],
        [10, "message"],
        [11, "message"],
        [12, "message"],
      ]);
      expect(page.entries[3]?.text).toBe("events 4-6 unreadable");
      // Paging over the gap ends, and meets it once.
      const seen: number[] = [];
      for (let after = 0; seen.length < 50; after = seen.at(-1) ?? 0) {
        const next = await store.journal(run_id, { after, limit: 1 });
        if (next.entries.length === 0) break;
        seen.push(...next.entries.map((entry) => entry.n));
      }
      expect(seen).toEqual([1, 2, 3, 4, 7, 10, 11, 12]);
      const search = await store.journal(run_id, { search: "chunk 3", limit: 50 });
      expect(search.entries).toHaveLength(3);
      expect(search.gaps).toEqual(["events 4-6 unreadable", "events 7-9 unreadable"]);
    });

    it("shows a chunk that is gone as a gap", async () => {
      const run_id = await written(3);
      await rawSql(place, `delete from journal_chunks where run_id = '${run_id}' and first_n = 4`);
      const page = await store.journal(run_id, { limit: 50 });
      expect(page.gaps).toEqual(["events 4-6 unreadable"]);
      expect(page.entries.map((entry) => entry.n)).toEqual([1, 2, 3, 4, 7, 8, 9]);
      await rawSql(place, `delete from journal_chunks where run_id = '${run_id}' and first_n > 4`);
      expect((await store.journal(run_id, { limit: 50 })).gaps).toEqual(["events 4-9 unreadable"]);
    });

    it("writes on after a damaged chunk", async () => {
      const run_id = await written(2);
      await rawSql(place, `update journal_chunks set checksum = 'wrong' where run_id = '${run_id}'`);
      await store.appendJournal({ run_id, fence: 0, at: AT, entries: [anEntry("after")] });
      const page = await store.journal(run_id, { limit: 50 });
      expect(page.entries.at(-1)).toEqual({ n: 7, ...anEntry("after") });
      expect(page.gaps).toHaveLength(2);
    });

    it("keeps entries of any size, in chunks that stay small", async () => {
      const { run_id } = await store.createRun(aNewRun());
      const entries = [3_000_000, 10, 700_000, 700_000].map((bytes) => anEntry(randomBytes(bytes / 2).toString("hex")));
      await store.appendJournal({ run_id, fence: 0, at: AT, entries });
      const parts: JournalEntry[] = [];
      for (let after: number | null = 0; after !== null; ) {
        const page: JournalPage = await store.journal(run_id, { after, limit: 100, continuations: true });
        parts.push(...page.entries);
        after = page.rest;
      }
      expect(Math.max(...parts.map((entry) => entry.text.length))).toBeLessThan(140_000);
      const texts: string[] = [];
      for (const entry of parts) {
        const part = partOf(entry);
        if (part === null || part.number === 1) texts.push("");
        texts.push(`${texts.pop() ?? ""}${entry.text.slice(part?.overlap ?? 0)}`);
      }
      expect(texts.map((text, index) => text === entries[index]?.text)).toEqual([true, true, true, true]);
      // Without the later parts each is one entry, as it was written.
      expect((await store.journal(run_id, { limit: 10 })).entries).toHaveLength(4);
      const chunks = z.array(z.object({ raw_bytes: z.coerce.number() }));
      const raw = chunks.parse(await rawSql(place, `select raw_bytes from journal_chunks where run_id = '${run_id}'`));
      expect(Math.max(...raw.map((chunk) => chunk.raw_bytes))).toBeLessThan(1_200_000);
      // What a cut went through is found once, wherever the cut is.
      const long = parts[0]?.text ?? "";
      for (const from of [long.length - 128, long.length - 200, long.length - 1]) {
        const needle = entries[0]?.text.slice(from, from + 200) ?? "";
        expect((await store.journal(run_id, { search: needle, limit: 10 })).entries).toHaveLength(1);
      }
    });

    it("moves progress_at and leaves the revision alone", async () => {
      const { run_id } = await store.createRun(aNewRun());
      await store.appendJournal({ run_id, fence: 0, at: "2026-12-01T00:00:00.000Z", entries: [anEntry("x")] });
      expect(await store.run(run_id, "owner")).toMatchObject({
        progress_at: "2026-12-01T00:00:00.000Z",
        revision: 1,
        changed_at: AT,
      });
    });

    it("reads a damaged event's neighbours, and names the damaged row of a table", async () => {
      const { run_id } = await store.createRun(aNewRun());
      await store.apply({ run_id, at: AT, bump_revision: true, events: [{ type: "run_claimed", at: AT, data: { a: 1 } }] });
      await rawSql(place, `update events set data = '{"a":' where run_id = '${run_id}' and seq = 1`);
      expect((await store.events(run_id, { limit: 5 })).map((event) => event.data)).toEqual([{ unreadable: true }, { a: 1 }]);
      place.replays.except(run_id);
      await rawSql(place, `update steps set needs = 'not json' where run_id = '${run_id}'`);
      await expect(store.steps(run_id)).rejects.toMatchObject({
        code: "store_unavailable",
        message: expect.stringMatching(/table `steps`.*needs/),
      });
    });
  });
}
