import Database from "better-sqlite3";

/** The store's file looked at without writing a byte to it: `damage` is SQLite's own finding in one line, null when it is whole. */
export function sqliteHealth(path: string): { readonly damage: string | null; readonly version: number } {
  const database = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const found = String(database.pragma("quick_check(1)", { simple: true }));
    const version = database.prepare<[], number | null>("select max(number) from loopkeeper_migrations").pluck().get() ?? 0;
    return { damage: found === "ok" ? null : (found.split("\n")[0] ?? found), version };
  } finally {
    database.close();
  }
}
