import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { z } from "zod";
import { newProduct, type Product } from "../support/product.ts";
import { read } from "../support/repos.ts";

/** A home as the version before events told what they change left it: its store and its repository. */
const FOLDER = join(import.meta.dirname, "../fixtures/recorded-runs/0.1.0-before-replay");
/** The folder that it was recorded in, as its texts name it. */
const DIR = "/recorded";

function layOut(product: Product): string[] {
  const { box, home } = product;
  const path = join(home, "loopkeeper.db");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  writeFileSync(path, gunzipSync(readFileSync(join(FOLDER, "home.db.gz"))), { mode: 0o600 });
  const database = new Database(path);
  for (const table of names(database, "select name from sqlite_master where type = 'table'"))
    for (const column of names(database, `select name from pragma_table_info('${table}')`))
      database
        .prepare(`update "${table}" set "${column}" = replace("${column}", ?, ?) where typeof("${column}") = 'text'`)
        .run(`${DIR}/`, `${box.dir}/`);
  const runs = names(database, "select run_id from runs order by created_at");
  database.close();
  const repo = box.repo("repo", { commit: false });
  box.git(repo, "fetch", "-q", "--update-head-ok", join(FOLDER, "repo.bundle"), "+refs/*:refs/*");
  box.git(repo, "reset", "-q", "--hard", "main");
  return runs;
}

const names = (database: Database.Database, query: string): string[] => database.prepare(query).pluck().all().map(String);

const listSchema = z.looseObject({ runs: z.array(z.looseObject({ run_id: z.string(), objective: z.string() })) });

test("a home of the version before is taken over: its runs replay, are read as before, and one of them goes on to its end", async () => {
  const product = await newProduct();
  const runs = layOut(product);
  expect(runs).toHaveLength(7);
  for (const runId of runs) product.replays.started(runId);
  product.agent("left", [
    [{ edit: { path: "more.txt", content: "more\n" } }],
    [{ report: { completed: ["all"], intended: [], verdict: "done" } }],
  ]);
  const door = await product.connect();

  const listed = listSchema.parse(await door.call("run_list", {})).runs;
  expect(listed.map((run) => run.objective).toSorted()).toEqual(
    ["ceiling", "done", "left", "permission", "reset", "steps"].map((name) => `Story ${name}`),
  );
  const left = listed.find((run) => run.objective === "Story left")?.run_id ?? "";
  const status = await door.call("run_status", { run_id: left });
  expect(status).toMatchObject({ run: { state: "stopped", stop_reason: "max_iterations", iteration: 1 } });
  expect(JSON.stringify(status["last_events"])).toMatch(/run_stopped/u);
  expect(JSON.stringify(status["last_events"])).not.toMatch(/run_recorded|checkpoint_taken/u);
  expect((await door.call("run_explain_stop", { run_id: left })).explanation?.uncommitted.files).toMatchObject([
    { path: "left.txt" },
  ]);

  const resumed = await door.call("run_resume", { run_id: left, add_iterations: 3 });
  expect(resumed.resumed).toMatchObject({ attempt: 2 });
  const ended = await door.ended(left);
  expect(ended).toMatchObject({ state: "done" });
  expect(read(ended.workspace.path, "left.txt")).toBe("left.txt\n");
  await door.close();
});
