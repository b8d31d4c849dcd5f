import { describe, expect, it } from "vitest";
import { z } from "zod";
import { backends, newStorePlace, rawSql, type StorePlace } from "../support/stores.ts";

/**
 * The whole schema as each database has it after all migrations, committed beside this test. When it changes by a new migration:
 * `npx vitest run test/store/schema-manifest.test.ts -u`, and commit the files with the migration.
 */
const READERS = { sqlite: readSqlite, postgres: readPostgres } as const;

for (const backend of backends) {
  describe(`the schema in ${backend}`, () => {
    it("is the one in the manifest", async () => {
      const place = await newStorePlace(backend);
      await place.open();
      const manifest = await READERS[backend](place);
      expect(Object.keys(manifest).length).toBeGreaterThan(15);
      await expect(textOf(manifest)).toMatchFileSnapshot(`schema-manifest.${backend}.txt`);
    });
  });
}

const sqliteRow = z.object({ tbl_name: z.string(), sql: z.string() });

async function readSqlite(place: StorePlace): Promise<Record<string, string[]>> {
  const rows = await rawSql(
    place,
    "select tbl_name, sql from sqlite_master where sql is not null order by tbl_name, type desc, name",
  );
  return grouped(rows.map((row) => sqliteRow.parse(row)).map(({ tbl_name, sql }) => [tbl_name, sql.replaceAll(/\s+/g, " ")]));
}

const postgresRow = z.object({ name: z.string(), line: z.string() });

async function readPostgres(place: StorePlace): Promise<Record<string, string[]>> {
  const rows = await rawSql(
    place,
    `select name, line from (
      select table_name as name, 1 as part, ordinal_position::int as place, column_name || ' ' || data_type
        || coalesce(' collate ' || collation_name, '') || case is_nullable when 'NO' then ' not null' else '' end as line
      from information_schema.columns where table_schema = 'public'
      union all select conrelid::regclass::text, 2, 0, conname || ' ' || pg_get_constraintdef(oid)
      from pg_constraint where connamespace = 'public'::regnamespace
      union all select tablename, 3, 0, indexdef from pg_indexes where schemaname = 'public'
      union all select relname, 4, 0, array_to_string(reloptions, ', ') from pg_class
      where relnamespace = 'public'::regnamespace and reloptions is not null
    ) as parts order by name collate "C", part, place, line collate "C"`,
  );
  return grouped(rows.map((row) => postgresRow.parse(row)).map(({ name, line }) => [name, line]));
}

function grouped(lines: readonly (readonly [string, string])[]): Record<string, string[]> {
  const tables: Record<string, string[]> = {};
  for (const [table, line] of lines) {
    tables[table] ??= [];
    tables[table].push(line);
  }
  return tables;
}

/** Plain text, a line per part of a table: a formatter leaves it alone, and a difference reads like one of SQL. */
function textOf(manifest: Record<string, string[]>): string {
  return Object.entries(manifest)
    .map(([table, lines]) => [table, ...lines.map((line) => `  ${line}`), ""].join("\n"))
    .join("\n");
}
