import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { sql } from "kysely";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { explainPostgres } from "../../src/store/postgres-errors.ts";
import { openSqlite } from "../../src/store/sqlite.ts";
import { explainSqlite } from "../../src/store/sqlite-errors.ts";
import { aNewRun } from "../support/records.ts";
import { backends, newStorePlace, rawSql } from "../support/stores.ts";

describe("the SQLite store file", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "lk-open-"));
    path = join(folder, "home", "store.db");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("is made with its folder, readable for its user alone", async () => {
    const store = await openStore({ url: null, path });
    await store.createRun(aNewRun());
    expect(statSync(join(folder, "home")).mode & 0o777).toBe(0o700);
    const modes = readdirSync(join(folder, "home")).map((name) => statSync(join(folder, "home", name)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600]);
    await store.close();
  });

  it("loses its wider mode when it is opened", async () => {
    await (await openStore({ url: null, path })).close();
    chmodSync(path, 0o644);
    await (await openStore({ url: null, path })).close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("is written in WAL mode with every commit synced, which is not what SQLite does here by itself", async () => {
    const backend = await openSqlite(path);
    expect((await sql`pragma journal_mode`.execute(backend.db)).rows).toEqual([{ journal_mode: "wal" }]);
    expect((await sql`pragma synchronous`.execute(backend.db)).rows).toEqual([{ synchronous: 2 }]);
    expect((await sql`pragma foreign_keys`.execute(backend.db)).rows).toEqual([{ foreign_keys: 1 }]);
    expect((await sql`pragma busy_timeout`.execute(backend.db)).rows).toEqual([{ timeout: 10_000 }]);
    const plain = new Database(path);
    expect(plain.pragma("synchronous", { simple: true })).toBe(1);
    plain.close();
    await backend.close();
  });

  it("is refused and left byte for byte as it was when a newer version made it", async () => {
    await (await openStore({ url: null, path })).close();
    const database = new Database(path);
    database.pragma("journal_mode = DELETE");
    database.exec("insert into loopkeeper_migrations values (1000, 'later', '2027-01-01T00:00:00.000Z')");
    database.close();
    const before = readFileSync(path);
    await expect(openStore({ url: null, path })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("made by a newer version"),
    });
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(readdirSync(join(folder, "home"))).toEqual(["store.db"]);
  });

  it("keeps a newer version's unfinished log too when it is refused", async () => {
    const store = await openStore({ url: null, path });
    await rawSql({ options: { url: null, path } }, "insert into loopkeeper_migrations values (1000, 'x', 'y')");
    const before = [readFileSync(path), readFileSync(`${path}-wal`)];
    await expect(openStore({ url: null, path })).rejects.toMatchObject({ code: "store_unavailable" });
    expect([readFileSync(path), readFileSync(`${path}-wal`)]).toEqual(before);
    await store.close();
  });

  it("is refused and left alone when it is another program's database", async () => {
    mkdirSync(join(folder, "home"));
    const database = new Database(path);
    database.exec("create table notes (text text)");
    database.close();
    const before = readFileSync(path);
    await expect(openStore({ url: null, path })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("another program"),
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("is named with what to do when it is damaged, and is not touched", async () => {
    mkdirSync(join(folder, "home"));
    writeFileSync(path, "this is not a database, whatever its name says".repeat(100));
    const before = readFileSync(path);
    await expect(openStore({ url: null, path })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(/store\.db is damaged or is not a Loopkeeper store\. Move it away/),
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it("is named when damage shows only in use", async () => {
    const store = await openStore({ url: null, path });
    for (let n = 0; n < 60; n += 1) await store.createRun(aNewRun());
    await store.close();
    const bytes = readFileSync(path);
    bytes.fill(0x5a, 4096 * 3, bytes.length);
    writeFileSync(path, bytes);
    const use = async () => {
      const opened = await openStore({ url: null, path });
      try {
        await opened.runs({ owner: "owner", archived: false, limit: 50 });
      } finally {
        await opened.close();
      }
    };
    await expect(use()).rejects.toMatchObject({ code: "store_unavailable", message: expect.stringContaining(path) });
  });

  it("cannot be a folder, nor lie below a file", async () => {
    mkdirSync(path, { recursive: true });
    await expect(openStore({ url: null, path })).rejects.toMatchObject({ code: "store_unavailable" });
    writeFileSync(join(folder, "file"), "");
    await expect(openStore({ url: null, path: join(folder, "file", "home", "store.db") })).rejects.toMatchObject({
      code: "store_unavailable",
    });
  });

  it("is explained for every way in which a disk refuses", () => {
    for (const code of [
      "SQLITE_FULL",
      "SQLITE_READONLY",
      "SQLITE_READONLY_DBMOVED",
      "SQLITE_IOERR_WRITE",
      "SQLITE_BUSY",
      "ENOSPC",
      "EACCES",
    ]) {
      const raw = Object.assign(new Error("raw text with a secret"), { code });
      const error = explainSqlite(raw, "/home/store.db");
      expect(error).toMatchObject({ code: "store_unavailable", message: expect.stringContaining("/home/store.db") });
      expect(String(error)).not.toContain("secret");
    }
  });
});

describe("the Postgres store", () => {
  it("is refused when a newer version made it", async () => {
    const place = await newStorePlace("postgres");
    await place.open();
    await rawSql(place, "insert into loopkeeper_migrations values (1000, 'later', 'now')");
    place.replays.exceptAll(place.options);
    await expect(place.open()).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("made by a newer version"),
    });
  });

  it("is refused when its tables are another program's", async () => {
    const place = await newStorePlace("postgres");
    await rawSql(place, "create table runs (id int)");
    await expect(place.open()).rejects.toMatchObject({ code: "store_unavailable" });
  });

  it("is named as unreachable, without its address or password", async () => {
    const url = "postgres://user:hunter2@127.0.0.1:1/db";
    const error: unknown = await openStore({ url, path: "" }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "store_unavailable", message: expect.stringContaining("cannot be reached") });
    expect(String(error)).not.toContain("hunter2");
  });

  it("goes on after the server ended its connections, and tells of it", async () => {
    const told: unknown[] = [];
    const place = await newStorePlace("postgres", (error) => told.push(error));
    const store = await place.open();
    const { run_id } = await store.createRun(aNewRun());
    await rawSql(
      place,
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
    );
    await expect.poll(() => told.length).toBeGreaterThan(0);
    expect((await store.run(run_id, "owner"))?.run_id).toBe(run_id);
  });

  it("is explained without a raw message, whatever the server says", () => {
    for (const code of ["08006", "28P01", "3D000", "53100", "57P03", "XX001", "ECONNREFUSED"]) {
      const error = explainPostgres(Object.assign(new Error("raw text with a secret"), { code }));
      expect(error).toMatchObject({ code: "store_unavailable" });
      expect(String(error)).not.toContain("secret");
    }
  });
});

for (const backend of backends) {
  describe(`a store in ${backend}`, () => {
    it("keeps everything from one opening to the next", async () => {
      const place = await newStorePlace(backend);
      const first = await place.open();
      const { run } = aNewRun();
      await first.createRun({ ...aNewRun(), run });
      const secret = await first.secret();
      const second = await place.open();
      expect(await second.run(run.run_id, "owner")).toEqual(run);
      expect(await second.secret()).toEqual(secret);
    });
  });
}
