import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Door, newProduct, type RunView, refusalOf } from "../support/product.ts";
import { read } from "../support/repos.ts";
import { backends } from "../support/stores.ts";

/** A step is done again from its entry: what began after it runs again too, and the run goes on to its end. */

const done = { report: { completed: [], intended: [], verdict: "done" } };
const blocked = { report: { completed: [], intended: [], verdict: "blocked", summary: "cannot" } };

/** Each step writes its own file and adds a line to a shared one, which shows what ran and in which order. */
const does = (step: string, ...more: unknown[]) => ({
  when: `THIS STEP (${step}`,
  do: [
    { edit: { path: `${step}.txt`, content: `${step}\n` } },
    { run: `echo ${step} >> shared.log; echo ${step} >> "$LOOPKEEPER_TEST_RAN"` },
    ...(more.length > 0 ? more : [done]),
  ],
});

const STEPS = [
  { step: "one", objective: "first" },
  { step: "two", objective: "second", needs: ["one"] },
  { step: "three", objective: "third", needs: ["two"] },
];

describe.concurrent.each(backends)("redo on %s", async (backend) => {
  const product = await newProduct(backend);
  let door: Door;

  beforeAll(async () => {
    door = await product.connect();
  });

  interface Story {
    readonly run: RunView;
    readonly repo: string;
    /** Steps in the order in which they were worked at. */
    ran(): string[];
  }

  async function story(name: string, turns: readonly unknown[], args: Readonly<Record<string, unknown>> = {}): Promise<Story> {
    const repo = product.box.repo(name);
    const ran = join(product.box.dir, `${name}.ran`);
    const agent = product.agent(name, turns, { env: { LOOPKEEPER_TEST_RAN: ran } });
    const { run_id } = await door.start({ repo, objective: `Story ${name}`, agent, steps: STEPS, ...args });
    return { run: await door.ended(run_id), repo, ran: () => readFileSync(ran, "utf8").trim().split("\n") };
  }

  async function redo(run: RunView, args: Readonly<Record<string, unknown>>) {
    const preview = await door.call("run_redo", { run_id: run.run_id, ...args });
    expect(preview).toMatchObject({ needs_confirmation: true, preview_again: null });
    const answer = await door.call("run_redo", { run_id: run.run_id, ...args, confirm_token: preview.confirm_token });
    return { preview, answer };
  }

  const states = (run: RunView) => Object.fromEntries(run.steps.map((step) => [step.step, [step.state, step.attempt]]));

  test("a step of a done run, with all that began after it; commits left behind stay reachable", async () => {
    const commit = { commit: "Work of two" };
    const { run, repo, ran } = await story("redo-done", [does("one"), does("two", commit, done), does("three")]);
    expect(run).toMatchObject({ state: "done" });
    const left = product.box.git(run.workspace.path, "rev-parse", "HEAD");
    const preview = await door.call("run_redo", { run_id: run.run_id, step: "two" });
    expect(preview.consequences).toMatchObject({
      happens: expect.arrayContaining([
        expect.stringMatching(/^Run run_.* is taken up again from step two/u),
        expect.stringContaining("Steps that began after it run again: three"),
      ]),
      undoes: expect.arrayContaining([
        expect.stringContaining("the work of step two (succeeded"),
        expect.stringContaining("the work of step three (succeeded"),
        expect.stringContaining("three.txt"),
        expect.stringContaining("Work of two"),
      ]),
      conflicts: [],
    });
    expect(read(run.workspace.path, "shared.log")).toBe("one\ntwo\nthree\n");
    const answer = await door.call("run_redo", {
      run_id: run.run_id,
      step: "two",
      instructions: "Do it better.",
      confirm_token: preview.confirm_token,
    });
    expect(answer).toMatchObject({
      redone: { step: "two", attempt: 2, reopened_steps: ["two", "three"] },
      reset: { removed: expect.arrayContaining(["two.txt", "three.txt"]), safety_checkpoint: expect.any(String) },
    });
    const again = await door.ended(run.run_id);
    expect(states(again)).toEqual({ one: ["succeeded", 1], two: ["succeeded", 2], three: ["succeeded", 2] });
    expect(again).toMatchObject({ state: "done", iteration: 5 });
    expect(ran()).toEqual(["one", "two", "three", "two", "three"]);
    expect(read(again.workspace.path, "shared.log")).toBe("one\ntwo\nthree\n");
    expect(product.box.git(repo, "for-each-ref", "--contains", left, "refs/loopkeeper")).not.toBe("");
    expect(product.box.tryGit(repo, "merge-base", "--is-ancestor", left, `${run.repository.branch}`)).toBeNull();
  });

  test("the first step of a failed run: what needed it runs again as well", async () => {
    const { run, ran } = await story("redo-failed", [
      does("one"),
      does("two", { run: "test -f mended" }, blocked),
      does("three"),
    ]);
    expect(run).toMatchObject({ stop_reason: "failed" });
    expect(states(run)).toEqual({ one: ["succeeded", 1], two: ["failed", 1], three: ["unreachable", 0] });
    const { answer } = await redo(run, { step: "one" });
    expect(answer).toMatchObject({ redone: { step: "one", attempt: 2, reopened_steps: ["one", "two", "three"] } });
    const again = await door.ended(run.run_id);
    expect(states(again)).toEqual({ one: ["succeeded", 2], two: ["failed", 2], three: ["unreachable", 0] });
    expect(ran()).toEqual(["one", "two", "one", "two"]);
  });

  test("on a stopped run it carries the whole run on, wants iterations when none are left, and grants them once", async () => {
    const { run, ran } = await story("redo-stopped", [does("one"), does("two"), does("three")], { max_iterations: 2 });
    expect(run).toMatchObject({ stop_reason: "max_iterations", iteration: 2 });
    expect(await refusalOf(door.call("run_redo", { run_id: run.run_id, step: "one" }))).toMatch(
      /^not_allowed: needs_iterations/u,
    );
    expect(await refusalOf(door.call("run_redo", { run_id: run.run_id, step: "three", add_iterations: 5 }))).toMatch(
      /^not_allowed: never_began/u,
    );
    expect(await refusalOf(door.call("run_redo", { run_id: run.run_id, step: "four" }))).toMatch(
      /^bad_input: step.*one, two, three/u,
    );
    const preview = await door.call("run_redo", { run_id: run.run_id, step: "one", add_iterations: 3 });
    const args = { run_id: run.run_id, step: "one", confirm_token: preview.confirm_token, request_id: "redo-1" };
    const [first, second] = await Promise.all([door.call("run_redo", args), door.call("run_redo", args)]);
    expect([first, second].map((answer) => answer.run?.max_iterations)).toEqual([5, 5]);
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done", iteration: 5, max_iterations: 5 });
    expect(ran()).toEqual(["one", "two", "one", "two", "three"]);
  });

  test("C09: what a person staged, and a path that a person changed since, stay as they are", async () => {
    const repo = product.box.repo("redo-in-place");
    const lines = (read(repo, "a.txt") ?? "").split("\n");
    writeFileSync(join(repo, "a.txt"), ["first", ...lines.slice(1, -2), "last", ""].join("\n"));
    product.box.sh(repo, "printf 'y\\nn\\n' | git add -p a.txt >/dev/null");
    const staged = product.box.git(repo, "diff", "--cached");
    expect(staged).toContain("first");
    expect(staged).not.toContain("last");
    const agent = product.agent("redo-in-place", [
      [{ edit: { path: "b.ts", content: "one\n" } }, { edit: { path: "c.ts", content: "one\n" } }, done],
    ]);
    const run = await door.ended(
      (await door.start({ repo, objective: "b", agent, workspace: "in_place", permissions: "all" })).run_id,
    );
    expect(run).toMatchObject({ state: "done" });
    writeFileSync(join(repo, "c.ts"), "mine\n");
    const { preview, answer } = await redo(run, { step: "main" });
    expect(preview.consequences?.conflicts).toEqual([{ path: "c.ts", changed_by: expect.any(String) }]);
    expect(answer).toMatchObject({ reset: { removed: ["b.ts"], kept: ["c.ts"] } });
    await door.ended(run.run_id);
    expect(product.box.git(repo, "diff", "--cached")).toBe(staged);
    expect(read(repo, "a.txt")).toContain("last");
  });

  test("a token is for one step and one tree, and a live run is refused", async () => {
    const { run } = await story("redo-token", [does("one"), does("two"), does("three")]);
    const preview = await door.call("run_redo", { run_id: run.run_id, step: "two" });
    const confirm = { run_id: run.run_id, confirm_token: preview.confirm_token };
    expect(await refusalOf(door.call("run_redo", { ...confirm, step: "three" }))).toMatch(/^confirm_token_invalid: /u);
    expect(await refusalOf(door.call("run_reset", confirm))).toMatch(/^confirm_token_invalid: /u);
    writeFileSync(join(run.workspace.path, "person.txt"), "mine\n");
    const fresh = await door.call("run_redo", { ...confirm, step: "two" });
    expect(fresh).toMatchObject({ needs_confirmation: true, preview_again: "changed" });
    await door.call("run_redo", { run_id: run.run_id, step: "two", confirm_token: fresh.confirm_token });
    expect(await refusalOf(door.call("run_redo", { run_id: run.run_id, step: "two" }))).toMatch(/^not_allowed: live/u);
    await door.ended(run.run_id);
    expect(read(run.workspace.path, "person.txt")).toBe("mine\n");
  });
});
