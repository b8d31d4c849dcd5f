// Records runs as this version writes them, for later versions to replay: see CONTRIBUTING.md.
//   node scripts/record-runs.ts [--product dist/bin/loopkeeper.js] [--home]
// writes test/fixtures/recorded-runs/<version>/<story>.json, or with --home a whole home (store and repository).
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import Database from "better-sqlite3";
import { openStore } from "../src/store/open.ts";
import { VERSION } from "../src/version.ts";
import { BIN, openProduct, type Product } from "../test/support/product.ts";
import { rawSql } from "../test/support/raw-sql.ts";
import { STORIES } from "./recorded-stories.ts";

const { values } = parseArgs({
  options: {
    product: { type: "string", default: BIN },
    home: { type: "boolean", default: false },
    as: { type: "string", default: VERSION },
  },
});
const folder = join(import.meta.dirname, "../test/fixtures/recorded-runs", values.as);
/** In place of the folder that this was recorded in, and of this machine's name. */
const DIR = "/recorded";
const HOST = "recorded-host";

const product = openProduct(null, resolve(values.product));
try {
  mkdirSync(folder, { recursive: true });
  const runs = await play(product);
  await product.killEverything();
  if (values.home) recordHome(product);
  else for (const [story, runId] of runs) await recordRun(product, story, runId);
} finally {
  await product.killEverything();
  product.box.remove();
}

async function play(of: Product): Promise<ReadonlyMap<string, string>> {
  const door = await of.connect();
  const runs = new Map<string, string>();
  for (const [name, story] of Object.entries(STORIES)) {
    runs.set(name, await story(of, door));
    console.log(`played ${name}`);
  }
  await door.close();
  return runs;
}

async function recordRun(of: Product, story: string, runId: string): Promise<void> {
  const place = { url: null, path: join(of.home, "loopkeeper.db") };
  const store = await openStore(place);
  const replay = await store.replay(runId);
  await store.close();
  if (replay === null || replay.differences.length > 0) throw new Error(replay?.differences.join("\n") ?? `no run ${runId}`);
  const query = `select seq, type, at, data, change from events where run_id = '${runId}' order by seq`;
  const events = (await rawSql({ options: place }, query)).map((row) => opened(row));
  const text = JSON.stringify({ version: values.as, story, events, rows: replay.rows }, null, 1);
  const path = join(folder, `${story}.json`);
  writeFileSync(path, `${text.replaceAll(of.box.dir, DIR).replaceAll(hostname(), HOST)}\n`, { flag: "wx" });
  console.log(`wrote ${path}`);
}

/** With the JSON of its columns as JSON, so that people can read what was recorded. */
function opened(row: unknown): Readonly<Record<string, unknown>> {
  if (typeof row !== "object" || row === null) return {};
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      (column === "data" || column === "change") && typeof value === "string" ? JSON.parse(value) : value,
    ]),
  );
}

/** The store, and the repository with the hidden refs of its checkpoints. Nothing of this machine stays in texts. */
function recordHome(of: Product): void {
  const copy = join(of.box.dir, "copy.db");
  const source = new Database(join(of.home, "loopkeeper.db"));
  source.prepare("vacuum into ?").run(copy);
  source.close();
  const database = new Database(copy);
  database.exec("delete from leases; delete from workers; delete from tree_holds;");
  renameTexts(database, of.box.dir, DIR);
  renameTexts(database, hostname(), HOST);
  database.exec("vacuum");
  database.close();
  writeFileSync(join(folder, "home.db.gz"), gzipSync(readFileSync(copy), { level: 9 }));
  rmSync(copy);
  of.box.git(join(of.box.dir, "repo"), "bundle", "create", "-q", join(folder, "repo.bundle"), "--all");
  console.log(`wrote ${folder}`);
}

function renameTexts(database: Database.Database, from: string, to: string): void {
  const tables = database.prepare("select name from sqlite_master where type = 'table'").pluck().all().map(String);
  for (const table of tables) {
    const columns = database.prepare("select name from pragma_table_info(?)").pluck().all(table).map(String);
    for (const column of columns)
      database
        .prepare(`update "${table}" set "${column}" = replace("${column}", ?, ?) where typeof("${column}") = 'text'`)
        .run(from, to);
  }
}
