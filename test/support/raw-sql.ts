import Database from "better-sqlite3";
import pg from "pg";
import type { OpenOptions } from "../../src/store/open.ts";

/** One statement behind the store's back: to do damage, and to look at what is kept. */
export async function rawSql(
  { options }: { readonly options: Pick<OpenOptions, "url" | "path"> },
  text: string,
): Promise<unknown[]> {
  if (options.url === null) return rawSqlite(options.path, text);
  const client = new pg.Client({ connectionString: options.url });
  await client.connect();
  try {
    const { rows } = await client.query(text);
    return rows;
  } finally {
    await client.end();
  }
}

function rawSqlite(path: string, text: string): unknown[] {
  const database = new Database(path);
  try {
    const statement = database.prepare(text);
    if (statement.reader) return statement.all();
    statement.run();
    return [];
  } finally {
    database.close();
  }
}
