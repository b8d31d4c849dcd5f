import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inflateSync, zstdDecompressSync } from "node:zlib";
import Database from "better-sqlite3";
import pg from "pg";

/** Every text that a product has stored, with the table and column or the file it stands in: journal chunks unpacked, logs too. */
export async function storedTexts(home: string, databaseUrl: string | undefined): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const [table, rows] of databaseUrl === undefined ? sqliteTables(home) : await postgresTables(databaseUrl)) {
    rows.forEach((row, index) => {
      for (const [column, value] of Object.entries(row)) {
        const text = value instanceof Uint8Array ? unpacked(row["codec"], value) : String(value);
        texts.set(`${table}.${column} #${index}`, text);
      }
    });
  }
  for (const file of readdirSync(join(home, "logs"))) texts.set(`logs/${file}`, readFileSync(join(home, "logs", file), "utf8"));
  return texts;
}

type Rows = readonly Readonly<Record<string, unknown>>[];

function isRow(row: unknown): row is Readonly<Record<string, unknown>> {
  return typeof row === "object" && row !== null;
}

// The engine's own session files stay whole: they are what it goes on with.
const NOT_OURS = new Set(["artifacts"]);

function sqliteTables(home: string): ReadonlyMap<string, Rows> {
  const database = new Database(join(home, "loopkeeper.db"), { readonly: true });
  try {
    const names = database.prepare("select name from sqlite_master where type = 'table'").pluck().all().map(String);
    return new Map(
      names
        .filter((name) => !NOT_OURS.has(name))
        .map((name) => [name, database.prepare(`select * from "${name}"`).all().filter(isRow)]),
    );
  } finally {
    database.close();
  }
}

async function postgresTables(url: string): Promise<ReadonlyMap<string, Rows>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>("select tablename as name from pg_tables where schemaname = 'public'");
    const tables = new Map<string, Rows>();
    for (const { name } of rows)
      if (!NOT_OURS.has(name)) tables.set(name, (await client.query(`select * from "${name}"`)).rows.filter(isRow));
    return tables;
  } finally {
    await client.end();
  }
}

function unpacked(codec: unknown, body: Uint8Array): string {
  if (codec === "zstd") return zstdDecompressSync(body).toString("utf8");
  if (codec === "deflate") return inflateSync(body).toString("utf8");
  return Buffer.from(body).toString("latin1");
}
