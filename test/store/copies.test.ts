import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { LeaseLostError } from "../../src/run/errors.ts";
import { openStore } from "../../src/store/open.ts";
import type { Copies, Store } from "../../src/store/store.ts";
import { aNewRun } from "../support/records.ts";
import { backends, newStorePlace, rawSql, type StorePlace } from "../support/stores.ts";

const HEAD = { about: "session-1", host: "here", iteration: 1, at: "2026-11-29T20:00:00.000Z", bytes: 5 };
const SECRET = "SECRET-OF-THE-CONVERSATION";

for (const backend of backends) {
  describe(`copies in ${backend}`, () => {
    const key = randomBytes(32);
    let place: StorePlace;
    let plain: Store;
    let sealed: Store;
    let other: Store;
    beforeAll(async () => {
      place = await newStorePlace(backend);
      plain = await place.open();
      sealed = await openStore({ ...place.options, key });
      other = await openStore({ ...place.options, key: randomBytes(32) });
      return () => Promise.all([sealed.close(), other.close()]);
    });

    async function stored(copies: Copies, texts: readonly string[]): Promise<string> {
      const { run_id } = await plain.createRun(aNewRun());
      const parts: string[] = [];
      for (const text of texts) parts.push(await copies.putPart(Buffer.from(text), new Set()));
      await copies.set({ run_id, name: "session", fence: 0, head: HEAD, contents: `files of ${SECRET}`, parts });
      return run_id;
    }

    async function everyByte(): Promise<string> {
      const artifacts = await rawSql(place, "select id, body from artifacts");
      const lists = await rawSql(place, "select meta from run_artifact_lists");
      return JSON.stringify([artifacts, lists], (_name, value: unknown) =>
        value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : value,
      );
    }

    it("sealed with a key hold nothing of their content, share equal parts, and open with the same key", async () => {
      const run = await stored(sealed.copies, [SECRET, "more", SECRET]);
      const copy = await sealed.copies.get(run, "session");
      expect(copy).toMatchObject({ ...HEAD, contents: `files of ${SECRET}`, unreadable: null });
      expect(copy?.parts[0]).toBe(copy?.parts[2]);
      expect(Buffer.from((await sealed.copies.part(copy?.parts[0] ?? "")) ?? "").toString()).toBe(SECRET);
      expect(await everyByte()).not.toContain(SECRET);
    });

    it.each([
      ["another key", () => other, /another LOOPKEEPER_KEY/u],
      ["no key", () => plain, /LOOPKEEPER_KEY is not set here/u],
    ])("tell with %s what they are of, why they cannot be read, and what to do", async (_what, store, why) => {
      const run = await stored(sealed.copies, ["text"]);
      const copy = await store().copies.get(run, "session");
      expect(copy).toMatchObject({ ...HEAD, contents: null, unreadable: expect.stringMatching(why) });
      await expect(store().copies.part(copy?.parts[0] ?? "")).rejects.toThrow(why);
    });

    it("do not open as another run's or in place of another part", async () => {
      const run = await stored(sealed.copies, ["one", "two"]);
      const twin = await stored(sealed.copies, ["three"]);
      await rawSql(
        place,
        `update run_artifact_lists set meta = (select meta from run_artifact_lists where run_id = '${run}') where run_id = '${twin}'`,
      );
      expect(await sealed.copies.get(twin, "session")).toMatchObject({ contents: null });
      const [one = "", two = ""] = (await sealed.copies.get(run, "session"))?.parts ?? [];
      await rawSql(place, `update artifacts set body = (select body from artifacts where id = '${two}') where id = '${one}'`);
      await expect(sealed.copies.part(one)).rejects.toThrow("LOOPKEEPER_KEY");
    });

    it("are written by the run's driver alone", async () => {
      const run = await stored(sealed.copies, ["kept"]);
      const late = { run_id: run, name: "session", fence: 7, head: HEAD, contents: "late", parts: [] } as const;
      await expect(sealed.copies.set(late)).rejects.toThrow(LeaseLostError);
      expect((await sealed.copies.get(run, "session"))?.contents).toBe(`files of ${SECRET}`);
    });

    it("free the parts that only an earlier copy had", async () => {
      const run = await stored(sealed.copies, ["grows", "the old tail"]);
      const [head = "", tail = ""] = (await sealed.copies.get(run, "session"))?.parts ?? [];
      const next = await sealed.copies.putPart(Buffer.from("the new tail"), new Set([head]));
      await sealed.copies.set({ run_id: run, name: "session", fence: 0, head: HEAD, contents: "", parts: [head, next] });
      await rawSql(place, "update artifacts set unused_since = '2020-01-01T00:00:00.000Z' where unused_since is not null");
      await sealed.copies.set({ run_id: run, name: "session", fence: 0, head: HEAD, contents: "", parts: [head, next] });
      expect((await sealed.copies.part(head)).byteLength).toBe(5);
      await expect(sealed.copies.part(tail)).rejects.toThrow("gone");
    });

    it(
      backend === "sqlite" ? "are plain without a key in the embedded store" : "are refused without a key in a shared database",
      async () => {
        if (backend === "postgres") {
          expect(plain.copies.refused).toContain("LOOPKEEPER_KEY is not set");
          await expect(plain.copies.putPart(Buffer.from("x"), new Set())).rejects.toThrow("LOOPKEEPER_KEY is not set");
          return;
        }
        const run = await stored(plain.copies, ["plain"]);
        const copy = await plain.copies.get(run, "session");
        expect(copy).toMatchObject({ ...HEAD, contents: `files of ${SECRET}`, unreadable: null });
        expect(Buffer.from(await plain.copies.part(copy?.parts[0] ?? "")).toString()).toBe("plain");
      },
    );
  });
}
