import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { BIN, type Door, fileAppears, newProduct, type RunView, refusalOf } from "../support/product.ts";

/**
 * Every way in which a loop stops, each produced by a real run of the scripted agent, with what is allowed afterwards. The
 * runs go side by side: each spends most of its time waiting for processes.
 */
describe.concurrent("stops", async () => {
  const product = await newProduct();
  let door: Door;
  let repo: string;

  beforeAll(async () => {
    repo = product.box.repo("stops");
    door = await product.connect();
  });

  async function stopOf(name: string, turns: readonly unknown[], args: Readonly<Record<string, unknown>> = {}): Promise<RunView> {
    const { run_id } = await door.start({
      repo,
      objective: `Stop as ${name}`,
      agent: product.agent(name, turns),
      max_iterations: 6,
      ...args,
    });
    return door.ended(run_id);
  }

  const idle = [{ say: "nothing" }];

  test("a turn that ends cleanly is no success: without a report the loop goes on until no_progress", async () => {
    const run = await stopOf("no_progress", []);
    expect(run).toMatchObject({
      state: "stopped",
      stop_reason: "no_progress",
      iteration: 3,
      stop: { class: "verdict", needs: ["instructions"] },
    });
    expect(await refusalOf(door.call("run_resume", { run_id: run.run_id }))).toMatch(/^not_allowed: needs_instructions/u);
  });

  test("a report of blocked fails the run, and it resumes from its entry by default", async () => {
    const run = await stopOf("failed", [
      { when: "taken back to its entry", do: [{ report: { completed: [], intended: [], verdict: "done" } }] },
      [
        { edit: { path: "x", content: "x" } },
        { report: { completed: [], intended: [], verdict: "blocked", summary: "no compiler" } },
      ],
    ]);
    expect(run).toMatchObject({ stop_reason: "failed", iteration: 1, stop: { needs: [] } });
    const resumed = await door.call("run_resume", { run_id: run.run_id });
    expect(resumed.resumed).toMatchObject({ from: "entry", context: "handoff", restore: { removed: ["x"] } });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
    expect(existsSync(join(run.workspace.path, "x"))).toBe(false);
  });

  test("a question escalates and wants instructions; the answer continues the same session", async () => {
    const run = await stopOf("question", [
      [{ report: { completed: [], intended: [], verdict: "needs_human", question: "Which of the two tax tables?" } }],
      [{ recall: true }, { report: { completed: [], intended: [], verdict: "done" } }],
    ]);
    expect(run).toMatchObject({
      stop_reason: "escalated",
      stop: { needs: ["instructions"], question: { kind: "question", text: "Which of the two tax tables?" } },
    });
    const resumed = await door.call("run_resume", { run_id: run.run_id, instructions: "The second one." });
    expect(resumed.resumed).toMatchObject({ from: "stop", context: "native" });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
  });

  test("a command outside the allow-list escalates, and the permission covers exactly that command", async () => {
    const turns = [
      [{ run: { command: "touch made-by-permission", ask: true } }],
      [{ run: { command: "touch made-by-permission", ask: true } }, { report: { completed: [], intended: [], verdict: "done" } }],
    ];
    const run = await stopOf("permission", turns, { permissions: "edits" });
    expect(run).toMatchObject({
      stop_reason: "escalated",
      iteration: 0,
      stop: { needs: ["permission"], question: { kind: "permission", command: "touch made-by-permission" } },
    });
    expect(existsSync(join(run.workspace.path, "made-by-permission"))).toBe(false);
    expect(await refusalOf(door.call("run_resume", { run_id: run.run_id, instructions: "yes, go on" }))).toMatch(
      /^not_allowed: needs_permission/u,
    );
    await door.call("run_resume", { run_id: run.run_id, permission: "allow_once" });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
    expect(existsSync(join(run.workspace.path, "made-by-permission"))).toBe(true);
  });

  test("what was not permitted is no act: nothing of it was begun, however many commands it has", async () => {
    const turns = [[{ run: { command: "npm publish && git push origin HEAD", ask: true } }]];
    const run = await stopOf("held", turns, { permissions: "edits" });
    expect(run).toMatchObject({ stop_reason: "escalated", stop: { question: { kind: "permission" } } });
    const { explanation } = await door.call("run_explain_stop", { run_id: run.run_id });
    expect(explanation?.acts).toEqual({ landed: [], unobserved: [] });
  });

  test("provider errors stop the run by their true reason, uncounted and resumable", async () => {
    const kinds = {
      usage_limit: "engine_limit",
      credit: "provider_credit",
      auth: "engine_auth",
      overloaded: "relay_timeout",
      context: "context_overflow",
      unknown: "failed",
    };
    const started = await Promise.all(
      Object.keys(kinds).map((kind) => stopOf(`fail-${kind}`, [[{ edit: { path: kind, content: kind } }, { fail: kind }]])),
    );
    expect(started.map((run) => run.stop_reason)).toEqual(Object.values(kinds));
    expect(started.every((run) => run.iteration === 0 && run.resumable)).toBe(true);
  });

  test("before the usage window resets a resume wants to be told when, and waits without starting anything", async () => {
    const run = await stopOf("window", [[{ fail: { kind: "usage_limit", resets: "in 3 hours" } }]]);
    expect(run).toMatchObject({ stop_reason: "engine_limit", stop: { resets_at: expect.any(String) } });
    expect(await refusalOf(door.call("run_resume", { run_id: run.run_id }))).toMatch(/^not_allowed: before_reset/u);
    const waiting = await door.call("run_resume", { run_id: run.run_id, at: "reset" });
    expect(waiting).toMatchObject({
      resumed: null,
      scheduled_for: expect.any(String),
      run: { state: "stopped", waiting_until: expect.any(String) },
    });
    expect(await door.call("run_stop", { run_id: run.run_id })).toMatchObject({ run: { state: "stopped", waiting_until: null } });
  });

  test("an engine that dies twice in one iteration is interrupted with its exit", async () => {
    const died = await stopOf("dies", [[{ die: "SIGKILL" }], [{ die: 7 }]]);
    expect(died).toMatchObject({ stop_reason: "interrupted", iteration: 0 });
    expect((await door.call("run_explain_stop", { run_id: died.run_id })).explanation?.cause).toMatchObject({
      source: "exit",
      evidence: expect.stringContaining("7"),
    });
  });

  test("an engine that dies once goes on in the same iteration with its session", async () => {
    expect(
      await stopOf("dies-once", [[{ die: "SIGKILL" }], [{ report: { completed: [], intended: [], verdict: "done" } }]]),
    ).toMatchObject({ state: "done", iteration: 1 });
  });

  test("an engine that dies and has lost its session is told everything again", async () => {
    const script = join(product.box.dir, "forgets.json");
    const turns = [
      {
        when: "the conversation before it is not there",
        do: [{ report: { completed: [], intended: [], verdict: "done" } }],
      },
      [{ edit: { path: "first", content: "1" } }, { report: { completed: ["the first file"], intended: ["the second"] } }],
      [{ die: "SIGKILL" }],
    ];
    writeFileSync(script, JSON.stringify({ load: false, resume: false, turns }));
    const agent = product.agent("forgets", [], { args: [BIN, "scripted-agent", "--script", script] });
    const { run_id } = await door.start({ repo, objective: "Write both files", agent });
    expect(await door.ended(run_id)).toMatchObject({ state: "done", iteration: 2 });
    const { entries } = await door.call("run_transcript", { run_id, iteration: 2, search: "not there" });
    expect(JSON.stringify(entries)).toMatch(/Write both files.*the first file|the first file.*Write both files/su);
  });

  test("tokens above the owner's budget stop the run, and only a higher budget continues it", async () => {
    const run = await stopOf(
      "budget",
      [
        [{ usage: { input: 900, output: 200 } }, { edit: { path: "b", content: "1" } }],
        [{ report: { completed: [], intended: [], verdict: "done" } }],
      ],
      { budget: { tokens: 1000 } },
    );
    expect(run).toMatchObject({ stop_reason: "budget", iteration: 1, stop: { needs: ["budget"] } });
    expect(await refusalOf(door.call("run_resume", { run_id: run.run_id, budget: { tokens: 1000 } }))).toMatch(
      /^not_allowed: needs_budget/u,
    );
    await door.call("run_resume", { run_id: run.run_id, budget: { tokens: 100_000 } });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
  });

  test("a check that cannot be run escalates after the second time", async () => {
    expect(
      await stopOf("unrunnable", [[{ edit: { path: "u", content: "1" } }], [{ edit: { path: "u", content: "2" } }]], {
        verify: ["no-such-program-here"],
      }),
    ).toMatchObject({ stop_reason: "escalated", iteration: 2 });
  });

  test("a failing check is fed to the next iteration, and done without it does not count", async () => {
    const run = await stopOf(
      "feeds",
      [
        [{ report: { completed: [], intended: [], verdict: "done" } }],
        {
          when: "CHECKS THAT FAIL",
          do: [{ edit: { path: "wanted", content: "1" } }, { report: { completed: [], intended: [], verdict: "done" } }],
        },
      ],
      { verify: ["test -f wanted"] },
    );
    expect(run).toMatchObject({ state: "done", iteration: 2 });
  });

  test("an engine that cannot report is done by a clean end, a closed plan and passing checks, and never without checks", async () => {
    const script = join(product.box.dir, "mute.json");
    writeFileSync(
      script,
      JSON.stringify({
        mcp: false,
        turns: [
          [{ plan: [["write it", "in_progress"]] }],
          [{ plan: [["write it", "completed"]] }, { edit: { path: "written", content: "1" } }],
        ],
      }),
    );
    const agent = product.agent("mute", [], { args: [BIN, "scripted-agent", "--script", script] });
    const checked = await door.start({ repo, objective: "Write it", agent, verify: ["test -f written"] });
    expect(await door.ended(checked.run_id)).toMatchObject({ state: "done", iteration: 2 });
    const unchecked = await door.start({ repo, objective: "Write it", agent, max_iterations: 3 });
    expect(await door.ended(unchecked.run_id)).toMatchObject({ state: "stopped", iteration: 3 });
  });

  test("run_stop ends the turn and everything that it started, and keeps the work", async () => {
    const { run_id, workspace } = await door.start({
      repo,
      objective: "Be stopped",
      agent: product.agent("stopped", [
        [{ edit: { path: "kept", content: "kept" } }, { spawn: "sleep 4242" }, { run: "touch started; sleep 300" }],
      ]),
    });
    await fileAppears(join(workspace.path, "started"));
    await door.call("run_stop", { run_id, why: "enough" });
    expect(await door.ended(run_id)).toMatchObject({
      stop_reason: "cancelled",
      iteration: 0,
      stop: { class: "owner", needs: [] },
    });
    expect(product.processesWith(`LOOPKEEPER_RUN_ID=${run_id}`)).toEqual([]);
    const { explanation } = await door.call("run_explain_stop", { run_id });
    expect(explanation?.cause).toMatchObject({ source: "owner", evidence: "enough" });
    expect(explanation?.midway.map((entry) => entry.what).join("\n")).toContain("sleep 300");
    expect(explanation?.uncommitted.files.map((file) => file.path)).toContain("kept");
  });

  test("steps run in the order of their needs; what needs a failed step is unreachable, the rest goes on", async () => {
    const turns = [
      { when: "THIS STEP (bad", do: [{ report: { completed: [], intended: [], verdict: "blocked", summary: "cannot" } }] },
      { when: "THIS STEP", do: [{ report: { completed: ["ok"], intended: [], verdict: "done" } }] },
    ];
    const steps = [
      { step: "last", objective: "needs both", needs: ["good", "bad"] },
      { step: "good", objective: "works" },
      { step: "bad", objective: "fails" },
    ];
    const run = await stopOf("steps", turns, { steps });
    expect(run).toMatchObject({ stop_reason: "failed" });
    expect(Object.fromEntries(run.steps.map((step) => [step.step, step.state]))).toEqual({
      good: "succeeded",
      bad: "failed",
      last: "unreachable",
    });
  });

  test("a ceiling between two steps stops the run, and its resume begins the next step", async () => {
    const turns = [
      { when: "THIS STEP (one", do: [{ report: { completed: ["one"], intended: [], verdict: "done" } }] },
      { when: "THIS STEP (two", do: [{ report: { completed: ["two"], intended: [], verdict: "done" } }] },
    ];
    const steps = [
      { step: "one", objective: "first" },
      { step: "two", objective: "second", needs: ["one"] },
    ];
    const run = await stopOf("between", turns, { steps, max_iterations: 1 });
    expect(run).toMatchObject({
      stop_reason: "max_iterations",
      iteration: 1,
      steps: [
        { step: "one", state: "succeeded" },
        { step: "two", state: "pending" },
      ],
    });
    const resumed = await door.call("run_resume", { run_id: run.run_id, add_iterations: 1 });
    expect(resumed.resumed).toMatchObject({ attempt: 1, context: "handoff", why_handoff: "the step had no engine session yet" });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done", iteration: 2 });
  });

  test("a step's own ceiling stops the run, and a grant raises that step's share", async () => {
    const steps = [{ step: "only", objective: "two turns", max_iterations: 1 }];
    const run = await stopOf(
      "share",
      [[{ edit: { path: "s", content: "1" } }], [{ report: { completed: [], intended: [], verdict: "done" } }], idle],
      { steps },
    );
    expect(run).toMatchObject({
      stop_reason: "max_iterations",
      iteration: 1,
      max_iterations: 6,
      stop: { needs: ["add_iterations"] },
    });
    await door.call("run_grant_iterations", { run_id: run.run_id, iterations: 1 });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done", max_iterations: 7 });
  });
});

describe("a limit of silence", async () => {
  const product = await newProduct();

  test("an engine that is silent twice is a relay_timeout", async () => {
    product.configure({ silence_s: 6 });
    const door = await product.connect();
    const { run_id } = await door.start({
      repo: product.box.repo("silent"),
      objective: "Be silent",
      agent: product.agent("hangs", [[{ say: "hm" }, { hang: true }], [{ hang: true }]]),
    });
    expect(await door.ended(run_id)).toMatchObject({ stop_reason: "relay_timeout", iteration: 0 });
  });
});

describe("a driver that is lost", async () => {
  const product = await newProduct();

  test("a worker that is killed leaves its run interrupted with what was recorded", async () => {
    const door = await product.connect();
    const { run_id, workspace } = await door.start({
      repo: product.box.repo("lost"),
      objective: "Lose the driver",
      agent: product.agent("lost", [
        [{ say: "first words" }, { edit: { path: "half", content: "half" } }, { run: "touch started; sleep 300" }],
        [{ report: { completed: [], intended: [], verdict: "done" } }],
      ]),
    });
    await fileAppears(join(workspace.path, "started"));
    await product.killWorker();
    expect(await door.ended(run_id)).toMatchObject({ stop_reason: "interrupted", iteration: 0, resumable: true });
    const { explanation } = await door.call("run_explain_stop", { run_id });
    expect(explanation).toMatchObject({
      cause: { source: "recovery" },
      spans: [{ ended_by: "interrupted", unfinished: true }],
      uncommitted: { files: expect.arrayContaining([expect.objectContaining({ path: "half", owner: "this_run" })]) },
    });
    expect(product.processesWith(`LOOPKEEPER_RUN_ID=${run_id}`)).toEqual([]);
    expect((await door.call("run_resume", { run_id })).resumed).toMatchObject({ context: "native" });
    expect(await door.ended(run_id)).toMatchObject({ state: "done" });
  });
});
