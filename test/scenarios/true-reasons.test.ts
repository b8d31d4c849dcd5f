import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Door, newProduct, type RunView, refusalOf } from "../support/product.ts";

/** Stops whose cause is easily taken for another one, each by a real run of the scripted agent. */
describe.concurrent("true reasons", async () => {
  const product = await newProduct();
  let door: Door;
  let repo: string;
  beforeAll(async () => {
    repo = product.box.repo("reasons");
    door = await product.connect();
  });

  const done = [{ report: { completed: [], intended: [], verdict: "done" } }];
  const edit = (name: string) => [{ edit: { path: name, content: name } }];

  async function stopOf(name: string, turns: readonly unknown[], args: Readonly<Record<string, unknown>> = {}): Promise<RunView> {
    const agent = product.agent(name, turns);
    const { run_id } = await door.start({ repo, objective: `Stop as ${name}`, agent, max_iterations: 9, ...args });
    return door.ended(run_id);
  }

  const stopSchema = z.looseObject({
    resets_at: z.string().nullable(),
    same_stop_in_a_row: z.number(),
    person_must: z.string().nullable(),
  });
  const stopOfRun = (run: RunView | undefined) => stopSchema.parse(run?.stop);

  async function prompts(runId: string): Promise<number> {
    return (await door.read(`loopkeeper://runs/${runId}/transcript`)).match(/ loop prompt$/gmu)?.length ?? 0;
  }

  test("C32: a clean end, an empty answer and exit code 0 are no success, even when every check passes", async () => {
    const [empty, capped, exited] = await Promise.all([
      stopOf("empty", [[{ say: "" }]], { verify: ["true"] }),
      stopOf("capped", [[...edit("x"), { end: "max_turn_requests" }], done], { verify: ["true"] }),
      stopOf("exited", [[{ die: 0 }], [{ die: 0 }]], { verify: ["true"] }),
    ]);
    // The first check result is news; three iterations like it follow.
    expect(empty).toMatchObject({ state: "stopped", stop_reason: "no_progress", iteration: 4 });
    expect(capped).toMatchObject({ state: "done", iteration: 2 });
    expect(exited).toMatchObject({ state: "stopped", stop_reason: "interrupted", iteration: 0 });
    const { explanation } = await door.call("run_explain_stop", { run_id: exited.run_id });
    expect(explanation?.cause).toMatchObject({ source: "exit" });
    expect(explanation?.cause.evidence).toMatch(/code 0/u);
  });

  test("C34: a reset time is kept as an instant with zone, words and confidence, and shown relative and absolute; the next refusal costs no iteration", async () => {
    const limit = (words: string) => [{ fail: { code: -32603, message: `You've hit your session limit · resets ${words}` } }];
    const run = await stopOf("detroit", [edit("one"), limit("5pm (America/Detroit)"), limit("5pm (America/Detroit)"), done]);
    expect(run).toMatchObject({ stop_reason: "engine_limit", iteration: 1, resumable: true });
    const resetsAt = stopOfRun(run).resets_at ?? "";
    const there = new Intl.DateTimeFormat("en-GB", { timeZone: "America/Detroit", timeStyle: "short" }).format(
      Date.parse(resetsAt),
    );
    expect(there).toBe("17:00");
    const ahead = Date.parse(resetsAt) - Date.now();
    expect(ahead).toBeGreaterThan(0);
    expect(ahead).toBeLessThan(25 * 3_600_000);
    const { explanation } = await door.call("run_explain_stop", { run_id: run.run_id });
    expect(explanation?.cause).toMatchObject({
      reset_read: { from: "resets 5pm (America/Detroit)", zone: "America/Detroit", confidence: "high" },
    });
    const text = await door.text("run_status", { run_id: run.run_id });
    expect(text).toMatch(
      new RegExp(`resets at: ${resetsAt.replaceAll(".", "\\.")} \\(in (?:\\d+ h )?\\d+ min|resets at: .* \\(in \\d+ h\\)`, "u"),
    );

    expect(await refusalOf(door.call("run_resume", { run_id: run.run_id }))).toMatch(/^not_allowed: before_reset/u);
    const waiting = await door.call("run_resume", { run_id: run.run_id, at: "reset" });
    const margin = Date.parse(waiting.run?.waiting_until ?? "") - Date.parse(resetsAt);
    expect(margin).toBeGreaterThanOrEqual(30_000);
    expect(margin).toBeLessThanOrEqual(90_000);
    await door.call("run_resume", { run_id: run.run_id, at: "now" });
    const again = await door.ended(run.run_id);
    expect(again).toMatchObject({ stop_reason: "engine_limit", iteration: 1 });
    expect(stopOfRun(again).same_stop_in_a_row).toBe(2);
    await door.call("run_resume", { run_id: run.run_id, at: "now" });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done", iteration: 2 });
  });

  test("C34: a limit without a time, or with a zone that nobody knows, has no reset time; going on by itself then backs off", async () => {
    const agent = product.agent("unknown-time", [
      [{ fail: { code: -32603, message: "You've hit your session limit · resets 3pm IST" } }],
      done,
    ]);
    const { run_id } = await door.start({
      repo,
      objective: "Wait",
      agent,
      auto_resume: { reasons: ["engine_limit"], times: 2 },
    });
    const stopped = await door.call("run_wait", { run_id, until: "change", timeout_s: 60 });
    let run = stopped.run;
    while (run?.state !== "stopped") run = (await door.call("run_wait", { run_id, until: "change", timeout_s: 60 })).run;
    expect(run.stop_reason).toBe("engine_limit");
    expect(stopOfRun(run).resets_at).toBeNull();
    expect(Date.parse(run.waiting_until ?? "") - Date.now()).toBeGreaterThan(15_000);
    await door.call("run_stop", { run_id });
  });

  test("C36: low credit stops at once as provider_credit, on the first turn and on a later one, says what to do, and can be resumed", async () => {
    const credit = [{ fail: { code: -32603, message: "Credit balance is too low", data: { status: 402 } } }];
    const [first, later] = await Promise.all([
      stopOf("credit-first", [credit, done]),
      stopOf("credit-later", [edit("1"), edit("2"), edit("3"), edit("4"), credit, done]),
    ]);
    expect(first).toMatchObject({ stop_reason: "provider_credit", iteration: 0, resumable: true });
    expect(later).toMatchObject({ stop_reason: "provider_credit", iteration: 4, resumable: true });
    expect([await prompts(first.run_id), await prompts(later.run_id)]).toEqual([1, 5]);
    for (const run of [first, later]) {
      expect(stopOfRun(run).person_must).toMatch(/top up/iu);
      const { explanation, choices } = await door.call("run_explain_stop", { run_id: run.run_id });
      expect(explanation?.headline).toMatch(/lack of credit.*"error -32603: Credit balance is too low/u);
      expect(choices?.some((choice) => choice.action === "resume" && choice.allowed)).toBe(true);
      expect(await door.text("run_explain_stop", { run_id: run.run_id })).toMatch(/a person must first: Top up/u);
      await door.call("run_resume", { run_id: run.run_id });
      expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
    }
  });
});
