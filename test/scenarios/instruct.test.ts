import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Door, fileAppears, newProduct, refusalOf } from "../support/product.ts";

const product = await newProduct();
const door: Door = await product.connect();

const promptsSchema = z.looseObject({
  entries: z.array(z.looseObject({ n: z.number(), kind: z.string(), text: z.string(), iteration: z.number() })),
});

/** What the engine said that it remembers: every prompt that reached its conversation. */
async function promptsWith(runId: string, text: string): Promise<readonly { iteration: number; text: string }[]> {
  const answer = promptsSchema.parse(await door.call("run_transcript", { run_id: runId, search: text, limit: 50 }));
  return answer.entries.filter((entry) => entry.kind === "prompt");
}

const count = (text: string, part: string): number => text.split(part).length - 1;

/** All that the engine said when it was asked for its earlier prompts. */
async function remembered(runId: string): Promise<string> {
  const answer = promptsSchema.parse(await door.call("run_transcript", { run_id: runId, search: "I remember", limit: 5 }));
  const [last] = answer.entries.toReversed();
  let text = "";
  for (let cursor: string | null = `entry-${last?.n ?? 0}-0`; cursor !== null; ) {
    const page: z.infer<typeof pageSchema> = pageSchema.parse(await door.call("run_transcript", { run_id: runId, cursor }));
    text += page.entries[0]?.text ?? "";
    cursor = page.next_cursor;
  }
  return text;
}
const pageSchema = z.looseObject({ entries: z.array(z.looseObject({ text: z.string() })), next_cursor: z.string().nullable() });

describe.concurrent("run_instruct", () => {
  test("steers a live run: the next iteration's prompt holds it, once, and no later one", async () => {
    const repo = product.box.repo("steer");
    const go = join(product.box.dir, "steer-go");
    const agent = product.agent("steered", [
      [{ edit: { path: "one", content: "1" } }, { run: `touch ${go}-up; while [ ! -e ${go} ]; do sleep 0.05; done` }],
      [{ edit: { path: "two", content: "2" } }],
      [{ edit: { path: "three", content: "3" } }],
    ]);
    const run = await door.start({ repo, objective: "Be steered", agent, max_iterations: 3 });
    await fileAppears(`${go}-up`);
    const told = await door.call("run_instruct", { run_id: run.run_id, instructions: "TURN LEFT", request_id: "left" });
    expect(told).toMatchObject({ delivered: false, run: { state: "running" } });
    const again = await door.call("run_instruct", { run_id: run.run_id, instructions: "TURN LEFT", request_id: "left" });
    expect(again.summary).toContain("Nothing was done now");
    product.box.sh(repo, `touch ${go}`);
    await door.ended(run.run_id);
    expect((await promptsWith(run.run_id, "TURN LEFT")).map((entry) => entry.iteration)).toEqual([2]);
    const explained = await door.call("run_explain_stop", { run_id: run.run_id });
    expect(explained.explanation?.undelivered_instructions).toEqual([]);
  });

  test("C55: instructions sent in the last iteration are kept, shown as undelivered, and delivered first on resume, once", async () => {
    const repo = product.box.repo("last");
    const go = join(product.box.dir, "last-go");
    const agent = product.agent("last", [
      [{ edit: { path: "one", content: "1" } }, { run: `touch ${go}-up; while [ ! -e ${go} ]; do sleep 0.05; done` }],
      [{ edit: { path: "two", content: "2" } }],
      [{ recall: true }, { report: { completed: [], intended: [], verdict: "done" } }],
    ]);
    const run = await door.start({ repo, objective: "Use all", agent, max_iterations: 1 });
    await fileAppears(`${go}-up`);
    await door.call("run_instruct", { run_id: run.run_id, instructions: "SENT LATE" });
    product.box.sh(repo, `touch ${go}`);
    expect(await door.ended(run.run_id)).toMatchObject({ stop_reason: "max_iterations" });
    const explained = await door.call("run_explain_stop", { run_id: run.run_id });
    expect(explained.explanation?.undelivered_instructions).toEqual(["SENT LATE"]);
    expect(await promptsWith(run.run_id, "SENT LATE")).toEqual([]);
    await door.call("run_resume", { run_id: run.run_id, add_iterations: 2, instructions: "SENT WITH RESUME" });
    await door.ended(run.run_id);
    const prompts = await promptsWith(run.run_id, "SENT LATE");
    expect(prompts.map((entry) => entry.iteration)).toEqual([2]);
    const text = await remembered(run.run_id);
    expect([count(text, "SENT LATE"), count(text, "SENT WITH RESUME")]).toEqual([1, 1]);
    expect(text.indexOf("SENT LATE")).toBeLessThan(text.indexOf("SENT WITH RESUME"));
    const after = await door.call("run_explain_stop", { run_id: run.run_id });
    expect(after.explanation?.undelivered_instructions).toEqual([]);
  });

  test("on a stopped run it starts nothing and counts as the instructions that a verdict wants", async () => {
    const repo = product.box.repo("verdict");
    const agent = product.agent("verdict", [
      [{ report: { completed: [], intended: [], verdict: "needs_human", question: "Which one?" } }],
      [{ report: { completed: [], intended: [], verdict: "done" } }],
    ]);
    const run = await door.start({ repo, objective: "Ask", agent });
    expect((await door.ended(run.run_id)).stop?.needs).toEqual(["instructions"]);
    const told = await door.call("run_instruct", { run_id: run.run_id, instructions: "The blue one" });
    expect(told.run).toMatchObject({ state: "stopped", stop: { needs: [] } });
    const stale = { run_id: run.run_id, instructions: "x", expected_revision: run.revision };
    expect(await refusalOf(door.call("run_instruct", stale))).toMatch(/^revision_conflict/u);
    await door.call("run_resume", { run_id: run.run_id });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
    expect((await promptsWith(run.run_id, "The blue one")).map((entry) => entry.iteration)).toEqual([2]);
    expect(await refusalOf(door.call("run_instruct", { run_id: run.run_id, instructions: "more" }))).toMatch(
      /^not_allowed: done: /u,
    );
  });

  test("from inside a run it is refused", async () => {
    const repo = product.box.repo("inside");
    const agent = product.agent("inside", [[{ say: "x" }]]);
    const run = await door.start({ repo, objective: "x", agent, max_iterations: 1 });
    await door.ended(run.run_id);
    const within = await product.connect({ LOOPKEEPER_RUN_ID: run.run_id });
    expect(await refusalOf(within.call("run_instruct", { run_id: run.run_id, instructions: "self" }))).toMatch(
      /^not_allowed: inside_a_run/u,
    );
    expect((await within.call("run_transcript", { run_id: run.run_id })).summary).toContain("entries");
    await within.close();
  });
});

/** Each has a home of its own: its worker is killed. */
describe.concurrent.each([
  ["the engine shows nothing yet", [{ hang: true }]],
  ["the engine has answered", [{ say: "I take it" }, { hang: true }]],
] as const)("a worker killed at the delivery while %s", (name, turn) => {
  test("loses no instruction and gives none twice", async () => {
    const own = await newProduct();
    const repo = own.box.repo("killed");
    const agent = own.agent("killed", [
      [{ edit: { path: "one", content: "1" } }],
      [...turn],
      [{ recall: true }, { report: { completed: [], intended: [], verdict: "done" } }],
    ]);
    const first = await own.connect();
    const run = await first.start({ repo, objective: "Survive", agent, max_iterations: 1 });
    await first.ended(run.run_id);
    await first.call("run_instruct", { run_id: run.run_id, instructions: "EXACTLY ONCE" });
    await first.call("run_resume", { run_id: run.run_id, add_iterations: 5 });
    const sessions = join(own.box.dir, "scripted");
    // The engine wrote down the prompt; whether it said anything yet is what the cases differ in.
    for (let held = ""; !held.includes("EXACTLY ONCE"); held = own.box.sh(own.box.dir, `cat ${sessions}/*.jsonl`))
      await pause(50);
    if (name.includes("answered")) await pause(600);
    await own.killWorker();
    await first.close();
    const second = await own.connect();
    await second.ended(run.run_id);
    await second.call("run_resume", { run_id: run.run_id });
    expect(await second.ended(run.run_id)).toMatchObject({ state: "done" });
    const conversation = own.box.sh(own.box.dir, `cat ${sessions}/*.jsonl`);
    const prompts = conversation.split("\n").filter((line) => line.startsWith('{"type":"prompt"'));
    expect(prompts.filter((line) => line.includes("EXACTLY ONCE"))).toHaveLength(1);
    await second.close();
  });
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
