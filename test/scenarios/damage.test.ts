import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Door, newProduct } from "../support/product.ts";

const contextSchema = z.looseObject({
  explanation: z.looseObject({
    context: z.object({ engine_session: z.string(), transcript_events: z.number(), gaps: z.array(z.string()) }),
    drift: z.looseObject({ head_moved: z.boolean().nullable(), branch_moved: z.boolean().nullable() }),
  }),
});
const pageSchema = z.looseObject({
  entries: z.array(z.looseObject({ n: z.number(), kind: z.string(), text: z.string(), iteration: z.number() })),
  gaps: z.array(z.string()),
  next_cursor: z.string().nullable(),
});

const product = await newProduct();
/** One whose agents lose their files. */
const other = await newProduct();
const door: Door = await product.connect();

const context = async (runId: string) => contextSchema.parse(await door.call("run_explain_stop", { run_id: runId })).explanation;

async function whole(runId: string, from: Door = door): Promise<z.infer<typeof pageSchema>["entries"]> {
  const entries: z.infer<typeof pageSchema>["entries"] = [];
  for (let cursor: string | null = "start"; cursor !== null; ) {
    const page: z.infer<typeof pageSchema> = pageSchema.parse(
      await from.call("run_transcript", { run_id: runId, cursor, limit: 50 }),
    );
    entries.push(...page.entries);
    cursor = page.next_cursor;
  }
  return entries;
}

/** Changes stored bytes behind everybody's back. */
function damage(home: string, work: (database: Database.Database) => void): void {
  const database = new Database(join(home, "loopkeeper.db"));
  work(database);
  database.close();
}

const chunkSchema = z.array(z.object({ first_n: z.number(), last_n: z.number(), body: z.instanceof(Uint8Array) }));

function chunksOf(database: Database.Database, runId: string): z.infer<typeof chunkSchema> {
  return chunkSchema.parse(
    database.prepare("select first_n, last_n, body from journal_chunks where run_id = ? order by first_n").all(runId),
  );
}

describe.concurrent("what is damaged or gone", () => {
  test("C45: a torn, a spliced and a zeroed piece of the transcript are named; all around them is read, explained and resumed from", async () => {
    const repo = product.box.repo("torn");
    const words = Array.from({ length: 8 }, (_, turn) => [
      { say: `WORDS-OF-${turn + 1} ${"and more of it ".repeat(40)}` },
      { edit: { path: `file-${turn}`, content: "x\n" } },
    ]);
    const agent = product.agent("torn", [...words, [{ report: { completed: [], intended: [], verdict: "done" } }]]);
    const run = await door.start({ repo, objective: "Be damaged", agent, max_iterations: 8 });
    expect(await door.ended(run.run_id)).toMatchObject({ stop_reason: "max_iterations", iteration: 8 });
    const before = await context(run.run_id);
    expect(before.context.gaps).toEqual([]);
    const events = before.context.transcript_events;
    const gaps: string[] = [];
    damage(product.home, (database) => {
      const chunks = chunksOf(database, run.run_id);
      expect(chunks.length).toBeGreaterThan(10);
      const hit = (index: number, change: (body: Buffer) => Buffer): void => {
        const chunk = chunks[index];
        if (chunk === undefined) throw new Error("no such chunk");
        database
          .prepare("update journal_chunks set body = ? where run_id = ? and first_n = ?")
          .run(change(Buffer.from(chunk.body)), run.run_id, chunk.first_n);
        gaps.push(
          chunk.first_n === chunk.last_n
            ? `event ${chunk.first_n} unreadable`
            : `events ${chunk.first_n}-${chunk.last_n} unreadable`,
        );
      };
      hit(1, (body) => body.subarray(0, body.length / 2));
      hit(4, (body) => Buffer.concat([body, body]));
      hit(7, (body) => Buffer.concat([body.subarray(0, 20), Buffer.alloc(400), body.subarray(20)]));
    });
    const after = await context(run.run_id);
    expect(after.context.gaps).toEqual(gaps);
    expect(after.context.transcript_events).toBe(events);
    const entries = await whole(run.run_id);
    expect(entries.filter((entry) => entry.kind === "gap").map((entry) => entry.text)).toEqual(gaps);
    expect(entries[0]).toMatchObject({ n: 1, kind: "prompt" });
    expect(entries.at(-1)?.n).toBe(events);
    expect((await door.call("run_transcript", { run_id: run.run_id, search: "words-of-8" }))["gaps"]).toEqual(gaps);
    expect(await door.text("run_explain_stop", { run_id: run.run_id })).toContain(gaps[0]);

    const resumed = await door.call("run_resume", { run_id: run.run_id, add_iterations: 2 });
    expect(resumed.resumed?.note).toContain(gaps[1]);
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
    expect((await whole(run.run_id)).at(-1)?.n).toBeGreaterThan(events);
  });

  test("C48: an engine that lost its session starts a new span; nothing that was recorded before gets shorter", async () => {
    const otherDoor = await other.connect();
    const repo = other.box.repo("shorter");
    const agent = other.agent("shorter", [
      [{ say: "BEFORE-1" }, { edit: { path: "one", content: "1" } }],
      [{ say: "BEFORE-2" }, { edit: { path: "two", content: "2" } }],
    ]);
    const run = await otherDoor.start({ repo, objective: "Lose it", agent, max_iterations: 2 });
    await otherDoor.ended(run.run_id);
    const before = await whole(run.run_id, otherDoor);
    // Neither the engine nor the portable copy has the session any more: the engine comes with an empty one.
    rmSync(join(other.box.dir, "scripted"), { recursive: true, force: true });
    damage(other.home, (database) => {
      database.prepare("delete from run_artifacts where run_id = ?").run(run.run_id);
      database.prepare("delete from run_artifact_lists where run_id = ?").run(run.run_id);
    });
    other.agent("shorter", [[{ say: "AFTER" }, { report: { completed: [], intended: [], verdict: "done" } }]]);
    const resumed = await otherDoor.call("run_resume", { run_id: run.run_id, add_iterations: 3 });
    expect(resumed.resumed?.context).toBe("handoff");
    await otherDoor.ended(run.run_id);
    const after = await whole(run.run_id, otherDoor);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.length).toBeGreaterThan(before.length);
    const explained = await otherDoor.call("run_explain_stop", { run_id: run.run_id });
    expect(explained.explanation?.spans).toMatchObject([
      { from_iteration: 1, to_iteration: 2, ended_by: "max_iterations" },
      { from_iteration: 3, to_iteration: 3, ended_by: "done" },
    ]);
  });

  test("a compaction that the engine tells is named in the explanation and in the note", async () => {
    const repo = product.box.repo("compacted");
    const agent = product.agent("compacted", [
      [
        { update: { sessionUpdate: "usage_update", used: 150_000, size: 200_000 } },
        { update: { sessionUpdate: "usage_update", used: 20_000, size: 200_000 } },
        { edit: { path: "one", content: "1" } },
      ],
      [{ say: "I compacted the list of files to ten lines." }, { edit: { path: "two", content: "2" } }],
      [{ say: "*Context compacted to fit the model's context window.*" }, { edit: { path: "three", content: "3" } }],
      [{ report: { completed: [], intended: [], verdict: "done" } }],
    ]);
    const run = await door.start({ repo, objective: "Be compacted", agent, max_iterations: 3 });
    await door.ended(run.run_id);
    expect((await context(run.run_id)).context.gaps).toEqual([
      expect.stringMatching(/compacted its context in iteration 1, 3:/u),
    ]);
    const resumed = await door.call("run_resume", { run_id: run.run_id, add_iterations: 1 });
    expect(resumed.resumed?.note).toMatch(/compacted its context in iteration 1, 3/u);
    await door.ended(run.run_id);
  });
});

test("with worker, engine, worktree and repository gone the store alone answers, and what was not looked at is null", async () => {
  const own = await newProduct();
  const repo = own.box.repo("gone");
  const agent = own.agent("gone", [
    [
      {
        plan: [
          ["first", "completed"],
          ["second", "pending"],
        ],
      },
      { edit: { path: "left.txt", content: "left\n" } },
      { report: { completed: ["first"], intended: ["second"] } },
    ],
  ]);
  const first = await own.connect();
  const run = await first.start({ repo, objective: "Be gone", agent, max_iterations: 1 });
  await first.ended(run.run_id);
  await first.close();
  await own.killEverything();
  rmSync(run.workspace.path, { recursive: true, force: true });
  rmSync(join(own.box.dir, "scripted"), { recursive: true, force: true });
  renameSync(repo, `${repo}-elsewhere`);
  own.configure({ default_agent: undefined });
  const second = await own.connect({ PATH: "/nowhere" });
  const answer = await second.call("run_explain_stop", { run_id: run.run_id });
  const { explanation } = contextSchema.parse(answer);
  expect(explanation.drift).toMatchObject({ head_moved: null, branch_moved: null });
  expect(answer.explanation).toMatchObject({
    cause: { stop_reason: "max_iterations" },
    completed: expect.arrayContaining([{ what: "first", source: "reported" }]),
    intended: expect.arrayContaining([{ what: "second", source: "reported" }]),
    uncommitted: { total_files: 1 },
  });
  expect(answer.explanation?.uncommitted.files.map((file) => file.path)).toEqual(["left.txt"]);
  expect(answer.choices?.length).toBeGreaterThan(2);
  expect((await second.call("run_status", { run_id: run.run_id })).run).toMatchObject({ state: "stopped" });
  expect((await second.call("run_transcript", { run_id: run.run_id, search: "be gone" })).summary).toMatch(/Entr|entr/u);
  await second.close();
});
