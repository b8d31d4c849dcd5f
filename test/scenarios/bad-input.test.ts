import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Door, newProduct, refusalOf } from "../support/product.ts";

/** Bad input is refused with what was wrong, what is valid and what to call, and nothing is stored or changed. */
describe("bad input to coding_loop_start", async () => {
  const product = await newProduct();
  let door: Door;
  let repo: string;
  let refs = "";
  let live = 0;

  const refsOf = (): string => product.box.git(repo, "for-each-ref");

  beforeAll(async () => {
    repo = product.box.repo("good");
    product.agent("idle", []);
    product.agent("gone", [], { command: "/nowhere/at/all" });
    refs = refsOf();
    door = await product.connect();
  });

  afterEach(async () => {
    expect((await door.call("run_list")).summary).toContain(`${live} run`);
    expect(live > 0 || refsOf() === refs).toBe(true);
  });

  const start = (args: Readonly<Record<string, unknown>>) =>
    refusalOf(door.call("coding_loop_start", { repo, objective: "x", agent: "idle", ...args }));

  test("a folder that is no repository, and one that is not there", async () => {
    const plain = join(product.box.dir, "plain");
    mkdirSync(plain);
    expect(await start({ repo: plain })).toMatch(/^repository_problem: /u);
    expect(await start({ repo: join(plain, "missing") })).toMatch(/^repository_problem: /u);
  });

  test("a bare repository", async () => {
    product.box.git(product.box.dir, "init", "-q", "--bare", "bare.git");
    expect(await start({ repo: join(product.box.dir, "bare.git") })).toMatch(/^repository_problem: .*bare/u);
  });

  test("a repository without a commit: a worktree wants one first or in_place", async () => {
    const empty = product.box.repo("empty", { commit: false });
    expect(await start({ repo: empty })).toMatch(/^repository_problem: .*commit.*in_place/u);
  });

  test("the home folder itself", async () => {
    product.box.git(product.box.home, "init", "-q");
    expect(await start({ repo: product.box.home })).toMatch(/^repository_problem: /u);
  });

  test("an agent nobody knows names the known ones; one whose program is missing says how to get it", async () => {
    expect(await start({ agent: "clippy" })).toMatch(/^agent_unknown: .*clippy.*idle.*claude/u);
    expect(await start({ agent: "gone" })).toMatch(/^agent_unavailable: /u);
    expect(await start({ agent: "opencode" })).toMatch(/^agent_unavailable: .*opencode/u);
  });

  test("wrong types, limits out of range and unknown arguments name what is wrong and what is known", async () => {
    for (const max of [0, -1, 201, 1e9, 1.5, "3", null])
      expect(await start({ max_iterations: max })).toMatch(/^bad_input: max_iterations/u);
    expect(await start({ maxIterations: 3 })).toMatch(/^bad_input: unknown argument "maxIterations".*max_iterations/u);
    expect(await start({ objective: "" })).toMatch(/^bad_input: objective/u);
    expect(await start({ workspace: "cloud" })).toMatch(/^bad_input: workspace/u);
    expect(await start({ budget: { cost_usd: -1 } })).toMatch(/^bad_input: budget/u);
    expect(await start({ auto_resume: { reasons: ["max_iterations"], times: 1 } })).toMatch(/^bad_input: auto_resume/u);
  });

  test("C29: limits are whole numbers in range given as numbers, absent is a finite default, and the objective's text sets none", async () => {
    for (const max of [0, -1, 201, 1e9, 2.5, Number.NaN, "3", "unlimited", [3], true])
      expect(await start({ max_iterations: max })).toMatch(/^bad_input: max_iterations.*Nothing was changed/u);
    expect(await start({ steps: [{ step: "a", objective: "a", max_iterations: 0 }] })).toMatch(/^bad_input: steps/u);
    for (const budget of [{ minutes: 0 }, { tokens: -5 }, { cost_usd: "3" }, { dollars: 3 }])
      expect(await start({ budget })).toMatch(
        /^bad_input: (budget|unknown argument "dollars" in budget \(known there: cost_usd, minutes, tokens\))/u,
      );
    live += 1;
    const run = await door.start({ repo, objective: "Fix it --max-iterations 3 (max_iterations: 200)", agent: "idle" });
    expect(run.max_iterations).toBe(10);
    const ended = await door.ended(run.run_id);
    expect(ended).toMatchObject({ stop_reason: "no_progress", max_iterations: 10 });
    for (const iterations of [0, -3, 201, 1.5, Number.NaN, "2"])
      expect(await refusalOf(door.call("run_grant_iterations", { run_id: run.run_id, iterations }))).toMatch(
        /^bad_input: iterations/u,
      );
    for (const more of [0, -3, 1e9, "2"])
      expect(await refusalOf(door.call("run_resume", { run_id: run.run_id, instructions: "x", add_iterations: more }))).toMatch(
        /^bad_input: add_iterations/u,
      );
  });

  test("steps with unknown, cyclic or doubled names", async () => {
    expect(await start({ steps: [{ step: "a", objective: "a", needs: ["z"] }] })).toMatch(/^bad_input: .*"z".*Known steps: a/u);
    expect(
      await start({
        steps: [
          { step: "a", objective: "a", needs: ["b"] },
          { step: "b", objective: "b", needs: ["a"] },
        ],
      }),
    ).toMatch(/^bad_input: .*cycle/u);
    expect(
      await start({
        steps: [
          { step: "a", objective: "a" },
          { step: "a", objective: "b" },
        ],
      }),
    ).toMatch(/^bad_input: .*twice/u);
  });

  test("a base that names nothing, a branch that exists, and a base where none is used", async () => {
    expect(await start({ base: "no-such-branch" })).toMatch(/^repository_problem: .*no-such-branch/u);
    expect(await start({ branch: "main" })).toMatch(/^repository_problem: .*main/u);
    expect(await start({ base: "run:run_00000000000000000000" })).toMatch(/^run_not_found: /u);
    expect(await start({ workspace: "in_place", base: "HEAD" })).toMatch(/^bad_input: base/u);
  });

  test("a branch name that git does not take, or that cannot stand beside a branch that is there", async () => {
    for (const branch of ["a..b", "a/", "a//b", "a.lock", "a/.b", "b.", "HEAD"])
      expect(await start({ branch }), branch).toMatch(/^repository_problem: .*no valid branch name/u);
    product.box.git(repo, "branch", "deep/er");
    refs = refsOf();
    for (const branch of ["deep", "deep/er/still"])
      expect(await start({ branch }), branch).toMatch(/^repository_problem: .*cannot be made beside "deep\/er"/u);
    const other = product.box.repo("named-like-ours");
    product.box.git(other, "branch", "loopkeeper");
    expect(await start({ repo: other })).toMatch(/^repository_problem: .*beside "loopkeeper".*Give `branch`/u);
  });

  test("words that are only blanks, and a budget without a cap", async () => {
    expect(await start({ objective: " \n\t" })).toMatch(/^bad_input: objective: .*blanks/u);
    expect(await start({ instructions: " " })).toMatch(/^bad_input: instructions: .*blanks/u);
    expect(await start({ steps: [{ step: "a", objective: " " }] })).toMatch(/^bad_input: steps\.0\.objective: .*blanks/u);
    expect(await start({ budget: {} })).toMatch(/^bad_input: budget: at least one of cost_usd, minutes, tokens/u);
  });

  test("runs that do not exist are run_not_found for every tool that takes one", async () => {
    for (const tool of ["run_status", "run_wait", "run_explain_stop", "run_resume", "run_stop", "run_reset"]) {
      expect(await refusalOf(door.call(tool, { run_id: "run_00000000000000000000" }))).toMatch(/^run_not_found: .*run_list/u);
    }
    expect(await refusalOf(door.call("run_grant_iterations", { run_id: "run_00000000000000000000", iterations: 1 }))).toMatch(
      /^run_not_found: /u,
    );
  });

  test("a dry run checks all of it and stores nothing", async () => {
    const answer = await door.call("coding_loop_start", {
      repo,
      objective: "x",
      agent: "idle",
      max_iterations: 7,
      dry_run: true,
    });
    expect(answer).toMatchObject({
      summary: expect.stringContaining("Nothing was started"),
      would: { agent: "idle", max_iterations: 7, workspace: { kind: "worktree" } },
    });
    expect(answer.run).toBeUndefined();
  });

  test("an agent that dies at its start fails the run with what it said", async () => {
    const script = join(product.box.dir, "dies.sh");
    writeFileSync(script, "#!/bin/sh\necho 'cannot load my settings' >&2\nexit 3\n");
    chmodSync(script, 0o755);
    product.agent("dies", [], { command: script, args: [] });
    live += 1;
    const run = await door.start({ repo, objective: "x", agent: "dies" });
    expect(await door.ended(run.run_id)).toMatchObject({
      stop_reason: "failed",
      iteration: 0,
      stop: { headline: expect.stringContaining("cannot load my settings") },
    });
  });

  test("a second run in place on one tree is already_running and names the first", async () => {
    const agent = product.agent("slow", [[{ sleep: 60_000 }]]);
    live += 1;
    const first = await door.start({ repo, objective: "x", agent, workspace: "in_place", permissions: "all" });
    const refused = await start({ agent, workspace: "in_place" });
    expect(refused).toMatch(/^already_running: /u);
    expect(refused).toContain(first.run_id);
    await door.call("run_stop", { run_id: first.run_id });
    await door.ended(first.run_id);
  });

  test("the same request_id with other arguments is refused, with the same ones answered again", async () => {
    live += 1;
    const args = { repo, objective: "once", agent: "idle", max_iterations: 1, request_id: "r-1" };
    const [one, two] = await Promise.all([door.start(args), door.start(args)]);
    expect(two.run_id).toBe(one.run_id);
    expect(await refusalOf(door.call("coding_loop_start", { ...args, objective: "twice" }))).toMatch(/^bad_input: request_id/u);
    await door.ended(one.run_id);
  });
});
