import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openStore } from "../../src/store/open.ts";
import { type HugeRun, NEEDLE, writeHugeRun } from "../support/huge-run.ts";
import { newProduct } from "../support/product.ts";
import { aNewRun, anEntry } from "../support/records.ts";
import { type Serve, startServe } from "../support/serve.ts";

/** Readings for pages, as the page asks for them: over HTTP. */

const ITERATIONS = 5_000;
const ENTRIES = 12;

const entriesSchema = z.object({
  entries: z.array(
    z.looseObject({ n: z.number(), kind: z.string(), text: z.string(), iteration: z.number(), characters: z.number() }),
  ),
  total: z.number(),
  rest: z.number().nullable(),
});
const timelineSchema = z.looseObject({
  iterations: z.array(
    z.looseObject({
      n: z.number(),
      ordinal: z.number(),
      finished: z.boolean(),
      outcome: z.string().nullable(),
      cost_usd: z.number().nullable(),
      verify: z.array(z.number().nullable()),
      input_tokens: z.number(),
    }),
  ),
  marks: z.array(z.object({ kind: z.string(), what: z.string(), at_ms: z.number() })),
  acts: z.array(z.looseObject({ kind: z.string(), n: z.number() })),
  attempts: z.array(z.looseObject({ attempt: z.number(), started_from: z.string() })),
  steps: z.array(z.looseObject({ step: z.string() })),
  max_iterations: z.number(),
});
const plansSchema = z.object({
  items: z.array(z.string()),
  plans: z.array(z.looseObject({ iteration: z.number(), entries: z.array(z.tuple([z.number(), z.number()])) })),
  present: z.array(z.object({ content: z.string(), status: z.string() })),
  present_n: z.number().nullable(),
});
const checkpointsSchema = z.looseObject({
  checkpoints: z.array(
    z.looseObject({ id: z.string(), kind: z.string(), iteration: z.number(), not_covered: z.array(z.number()) }),
  ),
  not_covered: z.array(z.object({ path: z.string(), why: z.string() })),
  base: z.string().nullable(),
  stop: z.string().nullable(),
});
const changesSchema = z.object({
  from: z.looseObject({ what: z.string() }),
  to: z.looseObject({ what: z.string() }).nullable(),
  total_files: z.number(),
  added: z.number(),
  removed: z.number(),
  files: z.array(z.looseObject({ path: z.string(), status: z.string(), owner: z.string(), binary: z.boolean() })),
  cursor: z.string(),
  more: z.boolean(),
});
const patchSchema = z.object({ path: z.string(), patch: z.string(), next_cursor: z.string().nullable() });

const product = await newProduct();
let serve: Serve;
let huge: HugeRun;
let long: string;

async function ask<S extends z.ZodType>(
  run: string,
  reading: string,
  query: Readonly<Record<string, string | number>>,
  schema: S,
) {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) text.set(name, String(value));
  const { status, body } = await serve.get(`/api/runs/${run}/${reading}?${text}`);
  expect({ status, body: status === 200 ? null : body }).toEqual({ status: 200, body: null });
  return schema.parse(body);
}

beforeAll(async () => {
  const store = await openStore({ url: null, path: join(product.home, "loopkeeper.db"), onError: () => {} });
  huge = await writeHugeRun(store, { iterations: ITERATIONS, entries: ENTRIES });
  const run = aNewRun({ owner: "local", state: "stopped", repo_common_dir: "/other/.git", workspace_path: "/other/tree" });
  const created = await store.createRun(run);
  long = created.run_id;
  const text = Array.from({ length: 60_000 }, (_, line) => `line ${line}`).join("\n");
  await store.appendJournal({
    run_id: long,
    fence: 0,
    at: created.created_at,
    entries: [anEntry("before"), anEntry(text, { kind: "tool_result", who: "tool" }), anEntry("after")],
  });
  await store.close();
  serve = await startServe(product.env);
});
afterAll(() => serve?.child.kill());

describe("a run of 5,000 iterations", () => {
  it("has a timeline with each iteration's outcome, checks and own cost, and what happened between them", async () => {
    const { iterations, marks, steps, max_iterations } = await ask(huge.run_id, "timeline", {}, timelineSchema);
    expect(iterations.length).toBe(ITERATIONS);
    expect(iterations.map((one) => one.ordinal)).toEqual(Array.from({ length: ITERATIONS }, (_, index) => index + 1));
    expect(iterations.at(-1)?.n).toBe(huge.finished);
    expect(iterations.filter((one) => !one.finished)).toHaveLength(ITERATIONS - huge.finished);
    expect(iterations[630]).toMatchObject({ n: 631, finished: false, outcome: "relay_timeout", verify: [] });
    expect(iterations[0]).toMatchObject({ n: 1, finished: true, verify: [1] });
    // The engine tells what a session cost so far: no iteration may show the sum.
    expect(Math.max(...iterations.map((one) => one.cost_usd ?? 0))).toBeLessThan(0.1);
    expect(marks.map((mark) => mark.what)).toEqual(["+40 iterations granted", "stopped: max_iterations"]);
    expect(steps.map((step) => step.step)).toEqual(["map", "port", "prove"]);
    expect(max_iterations).toBe(huge.finished);
  });

  it("has its entries at any number, a page at a time, and before any number", async () => {
    const from = 30_001;
    const page = await ask(huge.run_id, "entries", { from, before: from + 100, limit: 100 }, entriesSchema);
    expect(page.entries.map((entry) => entry.n)).toEqual(Array.from({ length: 100 }, (_, index) => from + index));
    expect(page.total).toBe(huge.entries);
    const newest = await ask(huge.run_id, "entries", { limit: 3 }, entriesSchema);
    expect(newest.entries.map((entry) => entry.n)).toEqual([huge.entries - 2, huge.entries - 1, huge.entries]);
    const older = await ask(huge.run_id, "entries", { before: newest.rest ?? 0, limit: 2 }, entriesSchema);
    expect(older.entries.map((entry) => entry.n)).toEqual([huge.entries - 4, huge.entries - 3]);
  });

  it("finds where an iteration begins, and where every iteration lies without opening an entry", async () => {
    const { entries } = await ask(huge.run_id, "entries", { iteration: 2_500, from: 1, limit: 1 }, entriesSchema);
    expect(entries).toMatchObject([{ kind: "prompt", iteration: 2_500 }]);
    const schema = z.object({
      total: z.number(),
      iterations: z.array(z.object({ iteration: z.number(), first_n: z.number(), last_n: z.number() })),
    });
    const index = await ask(huge.run_id, "entry_index", {}, schema);
    expect(index.total).toBe(huge.entries);
    expect(index.iterations.length).toBe(huge.finished);
    const span = index.iterations.find((one) => one.iteration === 2_500);
    expect(span?.first_n).toBeLessThanOrEqual(entries[0]?.n ?? 0);
    expect(span?.last_n).toBeGreaterThanOrEqual(entries[0]?.n ?? 0);
  });

  it("is searched through for one word, and answers what stands around it", async () => {
    const { entries, rest } = await ask(huge.run_id, "entries", { search: NEEDLE.toUpperCase(), from: 1 }, entriesSchema);
    expect(entries.map((entry) => [entry.n, entry.text])).toEqual([[huge.needle_n, `I found ${NEEDLE}.`]]);
    expect(rest).toBeNull();
  });

  it("has the history of its plan, and all its checkpoints with what they left out", async () => {
    const { items, plans, present } = await ask(huge.run_id, "plans", {}, plansSchema);
    expect(items).toHaveLength(12);
    expect(plans).toHaveLength(12);
    expect(plans[0]?.entries.slice(0, 2)).toEqual([
      [0, 1],
      [1, 0],
    ]);
    expect(present.filter((entry) => entry.status === "completed")).toHaveLength(11);
    const { checkpoints, not_covered, base } = await ask(huge.run_id, "checkpoints", {}, checkpointsSchema);
    expect(checkpoints.length).toBe(ITERATIONS);
    expect(checkpoints[0]?.id).toBe(`checkpoint-${ITERATIONS}`);
    expect(not_covered).toEqual([{ path: "data/dump.bin", why: "it is too big for a checkpoint (287 MB)" }]);
    expect(checkpoints.at(-1)?.not_covered).toEqual([0]);
    expect(base).toBe("entry-0");
  });
});

describe("a text of many parts", () => {
  it("is one entry with its true length, and is read on to its end", async () => {
    const { entries } = await ask(long, "entries", { from: 1, limit: 10 }, entriesSchema);
    expect(entries.map((entry) => entry.text.slice(0, 6))).toEqual(["before", "line 0", "after"]);
    const [, output] = entries;
    const schema = z.object({
      text: z.string(),
      characters: z.number(),
      next: z.object({ n: z.number(), offset: z.number() }).nullable(),
    });
    let text = output?.text ?? "";
    for (let next: { n: number; offset: number } | null = { n: output?.n ?? 0, offset: text.length }; next !== null; ) {
      const part: z.infer<typeof schema> = await ask(long, "entry", next, schema);
      expect(part.characters).toBe(output?.characters);
      text += part.text;
      next = part.next;
    }
    expect(text.split("\n")).toEqual(Array.from({ length: 60_000 }, (_, line) => `line ${line}`));
  });
});

describe("a real run", () => {
  it("tells its plan's moves, its acts and its marks, and compares any two states of its files", async () => {
    const { box } = product;
    const repo = box.repo("viewed");
    for (const [name, text] of [
      ["a.txt", "one\n"],
      ["b.txt", "b\n"],
      ["c.bin", "\0\0binary"],
    ] as const)
      writeFileSync(join(repo, name), text);
    box.git(repo, "add", "-A");
    box.git(repo, "commit", "-qm", "More files");
    const agent = product.agent("planner", [
      [
        {
          plan: [
            ["write", "in_progress"],
            ["prove", "pending"],
          ],
        },
        { edit: { path: "a.txt", append: "two\n" } },
      ],
      [
        {
          plan: [
            ["write", "completed"],
            ["prove", "in_progress"],
          ],
        },
        { edit: { path: "new/d.txt", content: "d\n" } },
        { run: "printf '\\0\\0changed' > c.bin" },
        { commit: "Write it" },
        { usage: { input: 100, output: 20, cost: 0.5 } },
      ],
      [{ edit: { path: "a.txt", append: "three\n" } }],
    ]);
    const door = await product.connect();
    const { run_id } = await door.start({ repo, objective: "Write it", agent, max_iterations: 2 });
    await door.ended(run_id);
    await door.call("run_grant_iterations", { run_id, iterations: 1 });
    const { workspace } = await door.ended(run_id);
    appendFileSync(join(workspace.path, "b.txt"), "a person's\n");
    writeFileSync(join(workspace.path, "notes.txt"), "mine\n");

    const { plans, items } = await ask(run_id, "plans", {}, plansSchema);
    expect(items).toEqual(["write", "prove"]);
    expect(plans.map((plan) => [plan.iteration, plan.entries])).toEqual([
      [
        1,
        [
          [0, 1],
          [1, 0],
        ],
      ],
      [
        2,
        [
          [0, 2],
          [1, 1],
        ],
      ],
    ]);

    const timeline = await ask(run_id, "timeline", {}, timelineSchema);
    expect(timeline.iterations.map((one) => [one.n, one.cost_usd])).toEqual([
      [1, null],
      [2, 0.5],
      [3, null],
    ]);
    expect(timeline.marks.map((mark) => mark.kind).sort()).toEqual(["grant", "resume", "stop", "stop"]);
    expect(timeline.acts.map((act) => [act.kind, act.n])).toContainEqual(["commit", 2]);
    expect(timeline.attempts.map((one) => [one.attempt, one.started_from])).toEqual([
      [1, "start"],
      [2, "stop"],
    ]);

    const { checkpoints, base, stop } = await ask(run_id, "checkpoints", {}, checkpointsSchema);
    expect(base).toBe(checkpoints.at(-1)?.id);
    expect(checkpoints.some((one) => one.id === stop && one.kind === "stop")).toBe(true);

    const whole = await ask(run_id, "changes", { from: "base", to: "now" }, changesSchema);
    expect(whole.files.map((file) => [file.path, file.status, file.owner, file.binary])).toEqual([
      ["a.txt", "modified", "this_run", false],
      ["b.txt", "modified", "unattributed", false],
      ["c.bin", "modified", "this_run", true],
      ["new/d.txt", "added", "this_run", false],
      ["notes.txt", "added", "unattributed", false],
    ]);
    const first = checkpoints.find((one) => one.kind === "iteration" && one.iteration === 1)?.id ?? "";
    const second = checkpoints.find((one) => one.kind === "iteration" && one.iteration === 2)?.id ?? "";
    const between = await ask(run_id, "changes", { from: first, to: second }, changesSchema);
    expect(between.files.map((file) => file.path)).toEqual(["c.bin", "new/d.txt"]);

    // A page of the list names the trees that it compared: what moved since does not slip in between.
    const page = await ask(run_id, "changes", { from: "base", to: "now", limit: 2 }, changesSchema);
    expect([page.files.length, page.more]).toEqual([2, true]);
    appendFileSync(join(workspace.path, "a.txt"), "later\n");
    const next = await ask(run_id, "changes", { from: "base", to: "now", limit: 9, cursor: page.cursor }, changesSchema);
    expect(next.files.map((file) => file.path)).toEqual(["c.bin", "new/d.txt", "notes.txt"]);
    const { patch, next_cursor } = await ask(
      run_id,
      "patch",
      { from: "base", to: "now", path: "a.txt", cursor: page.cursor },
      patchSchema,
    );
    expect(patch.split("\n").filter((line) => /^[+-][^+-]/u.test(line))).toEqual(["+two", "+three"]);
    expect(next_cursor).toBeNull();
    await door.close();
  });

  it("is not there for another id, and a wrong argument is named", async () => {
    for (const reading of ["timeline", "entries", "entry_index", "plans", "checkpoints", "changes"]) {
      const { status, body } = await serve.get(`/api/runs/run_nobody/${reading}`);
      expect([reading, status, body["code"]]).toEqual([reading, 404, "run_not_found"]);
    }
    const { status, body } = await serve.get(`/api/runs/${huge.run_id}/entries?limit=9000`);
    expect([status, body["code"]]).toEqual([400, "bad_input"]);
    expect(body["detail"]).toContain("limit");
  });
});
