import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { STOP_REASONS, type StopReason } from "../../src/run/stop-reason.ts";
import { type Answer, type Door, fileAppears, newProduct, type Product, type RunView, refusalOf } from "../support/product.ts";

/**
 * For every reason: a real run that stopped so. What its explanation offers works when it is called as written, and what it does
 * not offer is refused with the word and the text that it gave.
 */

type Choice = NonNullable<Answer["choices"]>[number];

const done = [{ report: { completed: [], intended: [], verdict: "done" } }];
/** Any later prompt of the run, in the same session or in a new one, finishes it. */
const finish = { when: "RESUME NOTE", do: done };
const report = (more: Readonly<Record<string, unknown>>) => [{ report: { completed: [], intended: ["more"], ...more } }];
const work = (name: string) => ({ edit: { path: name, content: name } });

interface Story {
  readonly turns: readonly unknown[];
  readonly args?: Readonly<Record<string, unknown>>;
  /** What is done to the run while it lives. */
  readonly meanwhile?: (door: Door, run: RunView) => Promise<void>;
  /** What a person does before it can go on. */
  readonly mend?: (product: Product, repo: string, runId: string) => void;
}

const blockRefs =
  'd="$(git rev-parse --git-common-dir)/refs/loopkeeper/runs"; mv "$d/$LOOPKEEPER_RUN_ID" "$d/away"; touch "$d/$LOOPKEEPER_RUN_ID"';

const STORIES = {
  max_iterations: { turns: [finish, [work("a"), ...report({})]], args: { max_iterations: 1 } },
  interrupted: { turns: [finish, [work("a"), { die: "SIGKILL" }], [{ die: "SIGKILL" }]] },
  engine_limit: { turns: [finish, [work("a"), { fail: { kind: "usage_limit", resets: "in 3 hours" } }]] },
  provider_credit: { turns: [finish, [work("a"), { fail: "credit" }]] },
  relay_timeout: { turns: [finish, [work("a"), { fail: "overloaded" }]] },
  engine_auth: { turns: [finish, [work("a"), { fail: "auth" }]] },
  context_overflow: { turns: [finish, [work("a"), { fail: "context" }]] },
  storage: {
    turns: [finish, [work("a"), { run: blockRefs }]],
    mend: (product, repo, runId) => {
      const refs = `${repo}/.git/refs/loopkeeper/runs`;
      product.box.sh(repo, `rm -f ${refs}/${runId} && mv ${refs}/away ${refs}/${runId}`);
    },
  },
  failed: { turns: [finish, [work("a"), ...report({ verdict: "blocked", summary: "no compiler" })]] },
  escalated: { turns: [finish, [work("a"), ...report({ verdict: "needs_human", question: "Which?" })]] },
  no_progress: { turns: [finish] },
  budget: { turns: [finish, [work("a"), { usage: { input: 900, output: 200 } }]], args: { budget: { tokens: 1000 } } },
  cancelled: {
    turns: [finish, [work("a"), { say: "waiting" }, { hang: true }]],
    meanwhile: async (door, run) => {
      await fileAppears(join(run.workspace.path, "a"));
      await door.call("run_stop", { run_id: run.run_id });
    },
  },
  done: { turns: [[work("a"), ...done]] },
} as const satisfies Record<StopReason, Story>;

/** A value for each argument that a choice asks for. */
const GIVEN = {
  instructions: "Go on, and do it differently.",
  add_iterations: 2,
  iterations: 2,
  budget: { tokens: 1_000_000 },
  permission: "allow_once",
  objective: "Something new",
} as const satisfies Record<string, unknown>;

const filled = (choice: { readonly args: Readonly<Record<string, unknown>>; readonly needs: readonly string[] }) => ({
  ...choice.args,
  ...Object.fromEntries(choice.needs.map((need) => [need, Object.entries(GIVEN).find(([name]) => name === need)?.[1]])),
});

/** Calls what is offered without using the run up: a resume or a start is tried dry, a reset shows its preview. */
async function tried(door: Door, choice: Pick<Choice, "tool" | "args" | "needs">): Promise<Answer> {
  const dry = choice.tool === "run_resume" || choice.tool === "coding_loop_start";
  return door.call(choice.tool, { ...filled(choice), ...(dry ? { dry_run: true } : {}) });
}

/** The word that begins a reason why, and that the refusal must begin with. */
const wordOf = (why: string): string => why.slice(0, why.indexOf(":"));

async function choicesOf(door: Door, runId: string): Promise<readonly Choice[]> {
  return (await door.call("run_explain_stop", { run_id: runId })).choices ?? [];
}

describe.concurrent("what an explanation offers works, and what it does not offer is refused", async () => {
  const product = await newProduct();
  let door: Door;

  beforeAll(async () => {
    door = await product.connect();
  });

  async function stopped(reason: StopReason): Promise<RunView> {
    const story: Story = STORIES[reason];
    const repo = product.box.repo(reason);
    const started = await door.start({
      repo,
      objective: `Stop as ${reason}`,
      agent: product.agent(reason, story.turns),
      max_iterations: 5,
      ...story.args,
    });
    await story.meanwhile?.(door, started);
    const run = await door.ended(started.run_id);
    story.mend?.(product, repo, run.run_id);
    return run;
  }

  for (const reason of STOP_REASONS) {
    test(`C30: a run that stopped as ${reason}`, async () => {
      const run = await stopped(reason);
      expect(run.stop_reason).toBe(reason);
      const { run_id } = run;
      const list = await choicesOf(door, run_id);
      expect(list.some((choice) => choice.action === "resume" && choice.allowed)).toBe(run.resumable);

      for (const choice of list) {
        if (choice.allowed) {
          if (choice.action !== "grant") await tried(door, choice);
          for (const need of choice.needs.filter((name) => choice.action === "resume" && name !== "permission")) {
            const { [need]: _left, ...without } = filled(choice);
            expect(await refusalOf(door.call(choice.tool, without))).toMatch(
              new RegExp(`^not_allowed: needs_${wantWord(need)}`, "u"),
            );
          }
        } else {
          const refused = await refusalOf(door.call(choice.tool, { ...choice.args, iterations: undefined, ...grantOf(choice) }));
          expect(refused).toContain(choice.why);
          expect(refused).toMatch(new RegExp(`^(not_allowed: )?${wordOf(choice.why)}`, "u"));
        }
      }

      const { next_actions } = await door.call("run_status", { run_id });
      expect(next_actions?.length).toBeGreaterThan(0);
      for (const action of next_actions ?? []) if (action.tool !== "run_grant_iterations") await tried(door, action);

      if (!run.resumable) return;
      const goesOn = await granted(run);
      const best = goesOn ? undefined : (await choicesOf(door, run_id)).find((choice) => choice.recommended);
      // Waiting for the window is tried above; here the run goes on now.
      if (best !== undefined)
        await door.call(best.tool, best.args["at"] === "reset" ? { ...filled(best), at: "now" } : filled(best));
      expect(await door.ended(run_id)).toMatchObject({ state: "done" });
    });
  }

  /** A grant as it is offered: it continues a run that the ceiling stopped, and only widens the ceiling of any other. */
  async function granted(run: RunView): Promise<boolean> {
    const grant = (await choicesOf(door, run.run_id)).find((choice) => choice.action === "grant");
    if (grant === undefined) throw new Error("no grant is listed");
    const answer = await door.call("run_grant_iterations", filled(grant));
    expect(answer).toMatchObject({
      granted: { iterations: 2, max_iterations: run.max_iterations + 2 },
      continued: run.stop_reason === "max_iterations",
    });
    return run.stop_reason === "max_iterations";
  }
});

const grantOf = (choice: Choice) => (choice.tool === "run_grant_iterations" ? { iterations: 1 } : {});
const wantWord = (need: string): string => (need === "add_iterations" ? "iterations" : need);

/** A budget is the owner's word over a run's whole life, whatever stopped the run. */
describe("a budget that is used up", async () => {
  const product = await newProduct();
  let door: Door;

  beforeAll(async () => {
    door = await product.connect();
  });

  const spend = { usage: { input: 900, output: 200 } };
  const stopped = async (name: string, turns: readonly unknown[]) =>
    door.ended(
      (
        await door.start({
          repo: product.box.repo(name),
          objective: name,
          agent: product.agent(name, turns),
          budget: { tokens: 1000, minutes: 500 },
        })
      ).run_id,
    );

  test("wants a higher one of a redo too, and no engine is started before", async () => {
    const { run_id } = await stopped("redo", [
      [work("a"), spend],
      [work("b"), ...done],
    ]);
    const redo = (await choicesOf(door, run_id)).find((choice) => choice.action === "redo");
    expect(redo).toMatchObject({ allowed: true, needs: ["budget"] });
    const wish = { run_id, step: "main" };
    expect(await refusalOf(door.call("run_redo", wish))).toMatch(/^not_allowed: needs_budget: .*1100 of 1000 tokens/u);
    expect(await refusalOf(door.call("run_redo", { ...wish, budget: { minutes: 900 } }))).toMatch(/needs_budget/u);
    const { confirm_token } = await door.call("run_redo", { ...wish, budget: { tokens: 5000 } });
    await door.call("run_redo", { ...wish, confirm_token });
    expect(await door.ended(run_id)).toMatchObject({ state: "done", iteration: 3, budget: { tokens: 5000, minutes: 500 } });
  });

  test("is asked for after any other stop as well", async () => {
    const run = await stopped("cut", [
      [work("a"), spend, ...report({ verdict: "needs_human", question: "Which?" })],
      [work("b"), ...done],
    ]);
    expect(run).toMatchObject({ stop_reason: "escalated", stop: { needs: ["instructions", "budget"] } });
    const { run_id } = run;
    expect(await refusalOf(door.call("run_resume", { run_id, instructions: "b" }))).toMatch(/^not_allowed: needs_budget: /u);
    await door.call("run_resume", { run_id, instructions: "b", budget: { tokens: 5000 } });
    expect(await door.ended(run_id)).toMatchObject({ state: "done", budget: { tokens: 5000, minutes: 500 } });
  });

  test("is no new total that lies below what is used", async () => {
    const { run_id } = await stopped("below", [
      [work("a"), { usage: { input: 50, output: 50 } }, ...report({ verdict: "needs_human", question: "Which?" })],
    ]);
    expect(await refusalOf(door.call("run_resume", { run_id, instructions: "b", budget: { tokens: 100 } }))).toMatch(
      /^not_allowed: needs_budget: .*100 of 100 tokens/u,
    );
  });
});

test("the next calls of a run name its revision where they write, say how to take a done run over, and stay in place", async () => {
  const product = await newProduct();
  const door = await product.connect();
  const empty = product.box.repo("empty", { commit: false });
  const agent = product.agent("brief", [
    [{ edit: { path: "a", content: "a" } }, { report: { completed: [], intended: [], verdict: "done" } }],
  ]);
  const args = { repo: empty, objective: "x", agent, workspace: "in_place", permissions: "all" };
  const started = await door.call("coding_loop_start", args);
  const writing = (started.next_actions ?? []).filter(({ tool }) => tool === "run_stop" || tool === "run_instruct");
  expect(writing.map((action) => action.args["expected_revision"])).toEqual([started.run?.revision, started.run?.revision]);
  const { run_id } = await door.ended(started.run?.run_id ?? "");
  const { next_actions = [] } = await door.call("run_wait", { run_id });
  expect(next_actions[1]).toMatchObject({
    tool: "run_status",
    why: expect.stringMatching(/take_over .*1 uncommitted file in /u),
  });
  // A worktree could not be made here: there is no commit.
  const again = next_actions.find(({ tool }) => tool === "coding_loop_start");
  await door.call("coding_loop_start", { ...again?.args, objective: "y", dry_run: true });
});

test("a failed run whose step's start others' changes keep from being restored is offered with the word that passes", async () => {
  const product = await newProduct();
  const door = await product.connect();
  const repo = product.box.repo();
  const blocked = { report: { completed: [], intended: [], verdict: "blocked" } };
  const finish = { report: { completed: [], intended: [], verdict: "done" } };
  const agent = product.agent("stuck", [
    { when: "RESUME NOTE", do: [finish] },
    [{ edit: { path: "a.txt", content: "the run's\n" } }, blocked],
  ]);
  const { run_id, workspace } = await door.start({ repo, objective: "x", agent });
  await door.ended(run_id);
  product.box.sh(workspace.path, "echo mine > a.txt");
  const { choices: list = [] } = await door.call("run_explain_stop", { run_id });
  const ways = list.filter((choice) => choice.action === "resume");
  expect(ways).toMatchObject([
    {
      allowed: true,
      recommended: true,
      args: { on_drift: "restore" },
      why: expect.stringMatching(/conflicts: others changed a\.txt/u),
    },
    { allowed: true, args: { from: "stop" }, needs: ["instructions"] },
  ]);
  expect(await refusalOf(door.call("run_resume", { run_id }))).toMatch(/^not_allowed: conflicts: others changed a\.txt/u);
  await door.call("run_resume", ways[0]?.args);
  expect(await door.ended(run_id)).toMatchObject({ state: "done" });
});

test("a resume of a live run is told since when it goes on, and by whom", async () => {
  const product = await newProduct();
  const door = await product.connect();
  const agent = product.agent("long", [[{ edit: { path: "a", content: "a" } }], [{ say: "here" }, { hang: true }]]);
  const started = await door.start({ repo: product.box.repo(), objective: "x", agent, max_iterations: 1 });
  const { run_id } = started;
  expect(await refusalOf(door.call("run_resume", { run_id }))).toMatch(
    new RegExp(
      `^already_running: run ${run_id} is .*since ${String(started["created_at"])}, started by its owner .*run_wait`,
      "u",
    ),
  );
  const stopped = await door.ended(run_id);
  await door.call("run_grant_iterations", { run_id, iterations: 1 });
  const refused = await refusalOf(door.call("run_resume", { run_id }));
  const [, since = ""] = /since (\S+), continued by a grant of its owner's /u.exec(refused) ?? [];
  expect(since > String(stopped["stopped_at"])).toBe(true);
  await door.call("run_stop", { run_id });
  await door.ended(run_id);
});

/** Every state that a run can be in, with what each tool must say: written by hand, so that the product's table is checked by another. */
describe("what a state refuses", async () => {
  const product = await newProduct();
  let door: Door;
  const runs: Record<string, string> = {};

  const TOOLS = {
    run_explain_stop: {},
    run_resume: { dry_run: true, add_iterations: 1 },
    run_grant_iterations: { iterations: 1, continue: false },
    run_reset: {},
    run_redo: { step: "main", add_iterations: 1 },
    run_instruct: { instructions: "Mind the tests." },
    run_transcript: {},
    run_diff: {},
    run_archive: { archived: false },
    run_stop: {},
  } as const;

  const putAway = (word: string) => ({
    run_resume: `not_allowed: ${word}`,
    run_grant_iterations: `not_allowed: ${word}`,
    run_reset: `not_allowed: ${word}`,
    run_redo: `not_allowed: ${word}`,
    run_instruct: `not_allowed: ${word}`,
    run_stop: "not_allowed: stopped",
  });

  const EXPECTED = {
    queued: {
      run_explain_stop: "not_allowed: live",
      run_resume: "already_running",
      run_reset: "not_allowed: live",
      run_redo: "not_allowed: live",
      run_archive: "not_allowed: live",
    },
    running: {
      run_explain_stop: "not_allowed: live",
      run_resume: "already_running",
      run_reset: "not_allowed: live",
      run_redo: "not_allowed: live",
      run_archive: "not_allowed: live",
    },
    stopping: {
      run_explain_stop: "not_allowed: live",
      run_resume: "already_running",
      run_grant_iterations: "not_allowed: stopping",
      run_reset: "not_allowed: live",
      run_redo: "not_allowed: live",
      run_archive: "not_allowed: live",
    },
    done: {
      run_resume: "not_allowed: done",
      run_grant_iterations: "not_allowed: done",
      run_instruct: "not_allowed: done",
      run_stop: "not_allowed: done",
    },
    reset: {
      run_resume: "not_allowed: was_reset",
      run_grant_iterations: "not_allowed: was_reset",
      run_redo: "not_allowed: was_reset",
      run_instruct: "not_allowed: was_reset",
      run_stop: "not_allowed: stopped",
    },
    stopped: { run_stop: "not_allowed: stopped" },
    archived: putAway("archived"),
    reclaimed: putAway("reclaimed"),
  } as const satisfies Record<string, Partial<Record<keyof typeof TOOLS, string>>>;

  beforeAll(async () => {
    product.configure({ max_live_runs: 1 });
    door = await product.connect();
    const start = async (name: string, turns: readonly unknown[], more: Readonly<Record<string, unknown>> = {}) =>
      (await door.start({ repo: product.box.repo(name), objective: name, agent: product.agent(name, turns), ...more })).run_id;
    const one = { max_iterations: 1 };
    runs["done"] = await start("done", [done]);
    runs["stopped"] = await start("stopped", [[work("a")]], one);
    runs["reset"] = await start("reset", [[work("a")]], one);
    runs["archived"] = await start("archived", [[work("a")]], one);
    runs["reclaimed"] = await start("reclaimed", [[{ say: "nothing to do" }]], one);
    for (const name of ["done", "stopped", "reset", "archived", "reclaimed"]) await door.ended(runs[name] ?? "");
    const { confirm_token } = await door.call("run_reset", { run_id: runs["reset"] });
    await door.call("run_reset", { run_id: runs["reset"], confirm_token });
    await door.call("run_archive", { run_id: runs["archived"] });
    expect(await door.call("run_archive", { run_id: runs["reclaimed"], reclaim: true })).toMatchObject({
      run: { reclaimed_at: expect.any(String) },
    });
    // A deaf engine keeps the one place for two seconds after it was told to stop.
    runs["running"] = await start("running", [[{ say: "here" }, { hang: "deaf" }]]);
    runs["queued"] = await start("queued", [[work("a")]]);
    while ((await door.call("run_status", { run_id: runs["running"] })).run?.state !== "running");
  });

  const look = async (state: keyof typeof EXPECTED, runId: string): Promise<void> => {
    const expected: Partial<Record<string, string>> = EXPECTED[state];
    for (const [tool, args] of Object.entries(TOOLS)) {
      const call = door.call(tool, { run_id: runId, ...args });
      const wanted = expected[tool];
      if (wanted === undefined) expect((await call).summary, `${tool} on a ${state} run`).not.toBe("");
      else expect(await refusalOf(call), `${tool} on a ${state} run`).toMatch(new RegExp(`^${wanted}: `, "u"));
    }
  };

  test("a run that is stopped, done, reset to its start, archived or reclaimed", async () => {
    await look("reclaimed", runs["reclaimed"] ?? "");
    await look("archived", runs["archived"] ?? "");
    await look("done", runs["done"] ?? "");
    await look("reset", runs["reset"] ?? "");
    await look("stopped", runs["stopped"] ?? "");
  });

  test("a run that is queued, running or stopping", async () => {
    await look("queued", runs["queued"] ?? "");
    // The last call is run_stop, which makes it stopping.
    await look("running", runs["running"] ?? "");
    expect((await door.call("run_status", { run_id: runs["running"] })).run?.state).toBe("stopping");
    await look("stopping", runs["running"] ?? "");
  });
});
