import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { BIN, type Door, fileAppears, newProduct, refusalOf } from "../support/product.ts";
import { BLOCKED, DIAMOND, DONE, does, promptsWith, STEPS, startStory, states } from "../support/steps.ts";
import { backends } from "../support/stores.ts";

/** Runs with several steps: order, stops in the middle, resumes. */

const reported = (summary: string) => ({ report: { completed: [], intended: [], verdict: "done", summary } });

for (const backend of backends) {
  describe.concurrent(`steps on ${backend}`, async () => {
    const product = await newProduct(backend);
    let door: Door;

    beforeAll(async () => {
      door = await product.connect();
    });

    test("a stop in the second of three steps leaves the first done and the third waiting; a resume goes on in the same session", async () => {
      const story = await startStory(product, door, "stop-in-two", [
        does("one", { commit: "Work of one" }, reported("ONE IS BUILT")),
        does("two", { run: "touch in-two; test -e go || sleep 60" }),
        does("three"),
        [{ edit: { path: "two-again.txt", content: "2" } }, reported("TWO IS BUILT")],
      ]);
      await fileAppears(join(story.tree, "in-two"));
      expect(states((await door.call("run_status", { run_id: story.run_id })).run ?? never())).toEqual({
        one: ["succeeded", 1],
        two: ["running", 1],
        three: ["pending", 0],
      });
      await door.call("run_stop", { run_id: story.run_id });
      const stopped = await door.ended(story.run_id);
      expect(stopped).toMatchObject({ stop_reason: "cancelled", stop: { step: "two" }, iteration: 1 });
      expect(states(stopped)).toEqual({ one: ["succeeded", 1], two: ["stopped", 1], three: ["pending", 0] });
      const { explanation } = await door.call("run_explain_stop", { run_id: story.run_id });
      expect(explanation?.completed).toEqual(
        expect.arrayContaining([
          { what: "step one succeeded", source: "observed" },
          { what: "step one: ONE IS BUILT", source: "reported" },
        ]),
      );
      expect(explanation?.midway.map((item) => item.what).join()).toContain("step two stopped in its attempt 1");
      expect(explanation?.intended.map((item) => item.what)).toEqual(["step three was not begun (pending)"]);
      expect(explanation?.checkpoints.filter((checkpoint) => checkpoint.kind === "entry")).toHaveLength(2);

      const { resumed } = await door.call("run_resume", { run_id: story.run_id });
      expect(resumed).toMatchObject({ attempt: 2, from: "stop", context: "native" });
      const ended = await door.ended(story.run_id);
      expect(ended).toMatchObject({ state: "done", iteration: 3 });
      expect(states(ended)).toEqual({ one: ["succeeded", 1], two: ["succeeded", 2], three: ["succeeded", 1] });
      expect(story.ran()).toEqual(["one", "two", "three"]);
      // Each step's agent knows the others from its first prompt.
      const [three] = promptsWith(product, "Story stop-in-two").filter((prompt) => prompt.includes("THIS STEP (three"));
      expect(three).toMatch(/THE OTHER STEPS[\s\S]*- one: succeeded[\s\S]*- two: succeeded/u);
      expect(three).toMatch(
        /one reported: ONE IS BUILT[\s\S]*one committed [0-9a-f]{12} Work of one[\s\S]*two reported: TWO IS BUILT/u,
      );
      expect(three).not.toContain("second");
    });

    test("after_iteration in the last iteration of a step stops before the next one begins", async () => {
      const story = await startStory(product, door, "between", [
        does("one", { run: "touch in-one; while [ ! -e go ]; do sleep 0.05; done" }, DONE),
        does("two"),
        does("three"),
      ]);
      await fileAppears(join(story.tree, "in-one"));
      await door.call("run_stop", { run_id: story.run_id, mode: "after_iteration" });
      writeFileSync(join(story.tree, "go"), "");
      const stopped = await door.ended(story.run_id);
      expect(stopped).toMatchObject({ stop_reason: "cancelled", iteration: 1, stop: { step: null } });
      expect(states(stopped)).toEqual({ one: ["succeeded", 1], two: ["pending", 0], three: ["pending", 0] });
      await door.call("run_resume", { run_id: story.run_id });
      const ended = await door.ended(story.run_id);
      expect(states(ended)).toEqual({ one: ["succeeded", 1], two: ["succeeded", 1], three: ["succeeded", 1] });
      expect(story.ran()).toEqual(["one", "two", "three"]);
    });

    test("a failed step is taken up from its entry, and what it made unreachable follows", async () => {
      const mended = join(product.box.dir, `mended-${backend}`);
      const story = await startStory(product, door, "failed-two", [
        does("one"),
        does("two", { edit: { path: "wrong.txt", content: "wrong" } }, { run: `test -e ${mended} || exit 1` }, BLOCKED),
        does("three"),
        { when: "mended now", do: [DONE] },
      ]);
      const stopped = await door.ended(story.run_id);
      expect(stopped).toMatchObject({ stop_reason: "failed", stop: { step: "two", needs: [] } });
      expect(stopped.stop?.headline).toMatch(/Failed step: two; unreachable without it: three\. .*cannot/u);
      expect(states(stopped)).toEqual({ one: ["succeeded", 1], two: ["failed", 1], three: ["unreachable", 0] });
      const turns = [does("one"), does("two"), does("three")];
      product.agent("failed-two", turns, { env: { LOOPKEEPER_TEST_RAN: join(product.box.dir, "failed-two.ran") } });
      const { resumed } = await door.call("run_resume", { run_id: story.run_id });
      expect(resumed).toMatchObject({
        attempt: 2,
        from: "entry",
        context: "handoff",
        restore: { removed: ["two.txt", "wrong.txt"] },
      });
      const ended = await door.ended(story.run_id);
      expect(ended).toMatchObject({ state: "done", stop: expect.anything() });
      expect(states(ended)).toEqual({ one: ["succeeded", 1], two: ["succeeded", 2], three: ["succeeded", 1] });
      expect(story.ran()).toEqual(["one", "two", "two", "three"]);
      expect(existsSync(join(story.tree, "wrong.txt"))).toBe(false);
    });

    test("a diamond: what does not need the failed step goes on; the resume does the failed one and what needs it", async () => {
      const story = await startStory(product, door, "diamond", [does("a"), does("b", BLOCKED), does("c"), does("d"), [DONE]], {
        steps: DIAMOND,
      });
      const stopped = await door.ended(story.run_id);
      expect(stopped.steps.map((step) => step.step)).toEqual(["a", "b", "c", "d"]);
      expect(states(stopped)).toEqual({ a: ["succeeded", 1], b: ["failed", 1], c: ["succeeded", 1], d: ["unreachable", 0] });
      expect(story.ran()).toEqual(["a", "b", "c"]);
      // `c` succeeded on the tree that `b` left: taking `b` back would take `c` along.
      expect(stopped.stop).toMatchObject({ step: "b", needs: ["instructions"] });
      expect(await refusalOf(door.call("run_resume", { run_id: story.run_id }))).toMatch(/^not_allowed: needs_instructions/u);
      const { resumed } = await door.call("run_resume", { run_id: story.run_id, instructions: "mind the gap" });
      expect(resumed).toMatchObject({ attempt: 2, from: "stop", context: "native" });
      const ended = await door.ended(story.run_id);
      expect(states(ended)).toEqual({ a: ["succeeded", 1], b: ["succeeded", 2], c: ["succeeded", 1], d: ["succeeded", 1] });
      expect(story.ran()).toEqual(["a", "b", "c", "d"]);
    });
  });
}

const never = (): never => {
  throw new Error("the answer holds no run");
};

describe.concurrent("one step of several", async () => {
  const product = await newProduct();
  let door: Door;

  beforeAll(async () => {
    door = await product.connect();
  });

  test("a turn that the model refuses fails its step, and an independent one goes on", async () => {
    const steps = [STEPS[0], STEPS[1], { step: "free", objective: "alone" }];
    const refusing = does("one", { refuse: true });
    const story = await startStory(product, door, "refused", [refusing, does("two"), does("free")], { steps });
    const stopped = await door.ended(story.run_id);
    expect(stopped).toMatchObject({ stop_reason: "failed", stop: { step: "one" }, iteration: 1 });
    expect(states(stopped)).toEqual({ one: ["failed", 1], two: ["unreachable", 0], free: ["succeeded", 1] });
    const { resumed } = await door.call("run_resume", { run_id: story.run_id, from: "entry" });
    // What the cut-off turn had written is the run's too, and the step that began after it runs again.
    expect(resumed?.restore).toMatchObject({ removed: ["free.txt", "one.txt"], kept: [] });
    expect(states(await door.ended(story.run_id))).toMatchObject({ one: ["failed", 2], free: ["succeeded", 2] });
  });

  test("a step's own ceiling and a question stop the run in that step; what came before is kept", async () => {
    const steps = [STEPS[0], { ...STEPS[1], max_iterations: 1 }, STEPS[2]];
    const asks = { report: { completed: [], intended: [], verdict: "needs_human", question: "Which?" } };
    const story = await startStory(
      product,
      door,
      "ceiling",
      [does("one"), does("two", { report: { completed: [], intended: ["more"] } }), does("three", asks), [DONE]],
      { steps },
    );
    const stopped = await door.ended(story.run_id);
    expect(stopped).toMatchObject({ stop_reason: "max_iterations", stop: { step: "two", needs: ["add_iterations"] } });
    expect(stopped.stop?.headline).toContain("Step two used its share");
    expect(states(stopped)).toEqual({ one: ["succeeded", 1], two: ["stopped", 1], three: ["pending", 0] });
    expect(stopped.steps[1]).toMatchObject({ iteration: 1, max_iterations: 1 });
    await door.call("run_grant_iterations", { run_id: story.run_id, iterations: 2 });
    const asked = await door.ended(story.run_id);
    expect(asked).toMatchObject({
      stop_reason: "escalated",
      stop: { step: "three", needs: ["instructions"] },
      max_iterations: 12,
    });
    expect(asked.steps[1]).toMatchObject({ state: "succeeded", iteration: 2, max_iterations: 3 });
    await door.call("run_resume", { run_id: story.run_id, instructions: "The left one." });
    expect(states(await door.ended(story.run_id))).toEqual({
      one: ["succeeded", 1],
      two: ["succeeded", 2],
      three: ["succeeded", 2],
    });
  });

  test("each step has its own checks, and none of them ends another step", async () => {
    const steps = [
      { ...STEPS[0], verify: ["test -e one.txt"] },
      { ...STEPS[1], verify: ["test -e two.txt", "test ! -e three.txt"] },
    ];
    const story = await startStory(product, door, "checks", [does("one"), does("two")], { steps, verify: ["false"] });
    expect(await door.ended(story.run_id)).toMatchObject({ state: "done", iteration: 2 });
    const status = await door.call("run_status", { run_id: story.run_id });
    expect(status).toMatchObject({
      verify: expect.arrayContaining([
        expect.objectContaining({ step: "one", command: "test -e one.txt", exit_code: 0, iteration: 1 }),
        expect.objectContaining({ step: "two", command: "test ! -e three.txt", exit_code: 0, iteration: 2 }),
      ]),
    });
  });

  test("a stop during the setup, and one while the second step's engine starts, lose nothing", async () => {
    const hold = join(product.box.dir, "hold");
    const slow = await startStory(product, door, "setup", [does("one"), does("two"), does("three")], {
      setup: [`test -e ${hold}-setup && exit 0; touch ${hold}-setup; sleep 60`],
    });
    await fileAppears(`${hold}-setup`);
    await door.call("run_stop", { run_id: slow.run_id });
    expect(states(await door.ended(slow.run_id))).toEqual({ one: ["pending", 0], two: ["pending", 0], three: ["pending", 0] });
    await door.call("run_resume", { run_id: slow.run_id });
    expect(await door.ended(slow.run_id)).toMatchObject({ state: "done", iteration: 3 });

    const script = join(product.box.dir, "script-held.json");
    const wait = `if [ -e ${hold} ] && [ ! -e ${hold}-seen ]; then touch ${hold}-seen; sleep 60; fi; exec "$@"`;
    const turns = [does("one", { run: `touch ${hold}` }, DONE), does("two"), does("three")];
    const entry = { env: { LOOPKEEPER_TEST_RAN: join(product.box.dir, "held.ran") } };
    product.agent("held", turns, { ...entry, command: "sh", args: ["-c", wait, "sh", ...scripted(script)] });
    const repo = product.box.repo("held");
    const { run_id } = await door.start({ repo, objective: "held", agent: "held", steps: STEPS });
    await fileAppears(`${hold}-seen`);
    await door.call("run_stop", { run_id });
    const held = await door.ended(run_id);
    expect(states(held)).toEqual({ one: ["succeeded", 1], two: ["stopped", 1], three: ["pending", 0] });
    await door.call("run_resume", { run_id });
    expect(states(await door.ended(run_id))).toEqual({ one: ["succeeded", 1], two: ["succeeded", 2], three: ["succeeded", 1] });
  });

  test("a rewind to where the second step began leaves it and the third to begin again; its safety checkpoint brings the steps back too", async () => {
    const story = await startStory(product, door, "rewind", [
      does("one"),
      does("two"),
      does("three", { run: 'test -e "$LOOPKEEPER_TEST_RAN.held" || { touch "$LOOPKEEPER_TEST_RAN.held"; sleep 60; }' }, DONE),
    ]);
    await fileAppears(join(product.box.dir, "rewind.ran.held"));
    await door.call("run_stop", { run_id: story.run_id });
    const before = states(await door.ended(story.run_id));
    const { explanation } = await door.call("run_explain_stop", { run_id: story.run_id });
    const entries = explanation?.checkpoints.filter((checkpoint) => checkpoint.kind === "entry") ?? [];
    const reset = async (to: string | undefined) => {
      const { confirm_token } = await door.call("run_reset", { run_id: story.run_id, to });
      return door.call("run_reset", { run_id: story.run_id, confirm_token });
    };
    const gone = await reset(entries[1]?.id);
    expect(states(gone.run ?? never())).toEqual({ one: ["succeeded", 1], two: ["pending", 1], three: ["pending", 1] });
    const back = await reset(gone.reset?.safety_checkpoint);
    expect(states(back.run ?? never())).toEqual(before);
    await reset(entries[1]?.id);
    const { resumed } = await door.call("run_resume", { run_id: story.run_id });
    expect(resumed).toMatchObject({ attempt: 2, context: "handoff" });
    expect(states(await door.ended(story.run_id))).toMatchObject({ one: ["succeeded", 1], two: ["succeeded", 2] });
    expect(story.ran().slice(0, 4)).toEqual(["one", "two", "three", "two"]);
  });

  test("what is wrong with the steps is told by their names before anything is stored", async () => {
    const repo = product.box.repo("wrong");
    const agent = product.agent("wrong", [[DONE]]);
    const refused = (steps: readonly unknown[]) =>
      refusalOf(door.call("coding_loop_start", { repo, agent, objective: "x", steps }));
    const step = (name: string, ...needs: string[]) => ({ step: name, objective: "x", needs });
    expect(await refused([step("a"), step("b", "nobody")])).toMatch(/^bad_input: .*"b" needs unknown "nobody".*a, b/u);
    expect(await refused([step("a"), step("a")])).toMatch(/^bad_input: .*"a" appears twice/u);
    expect(await refused([step("a", "a"), step("b")])).toMatch(/^bad_input: .*"a" needs itself/u);
    expect(await refused([step("a", "c"), step("b", "a"), step("c", "b"), step("d", "c")])).toMatch(
      /^bad_input: .*a, c, b form a cycle/u,
    );
    expect(await refused([])).toMatch(/^bad_input: /u);
    expect(await refused([{ step: "", objective: "x" }])).toMatch(/^bad_input: .*steps/u);
    expect(await door.call("run_list", { repo })).toMatchObject({ total: 0 });
  });

  test("a new attempt reads the agent's present configuration; without the agent nothing is changed", async () => {
    const story = await startStory(product, door, "present", [does("one"), does("two", BLOCKED), does("three")]);
    const { revision } = await door.ended(story.run_id);
    product.forget("present");
    const gone = /^agent_unknown: .*agent "present".*nothing was changed/u;
    expect(await refusalOf(door.call("run_resume", { run_id: story.run_id }))).toMatch(gone);
    expect(await refusalOf(door.call("run_redo", { run_id: story.run_id, step: "one" }))).toMatch(gone);
    expect((await door.call("run_status", { run_id: story.run_id })).run?.revision).toBe(revision);
    expect(existsSync(join(story.tree, "two.txt"))).toBe(true);
    const env = { LOOPKEEPER_TEST_RAN: join(product.box.dir, "present.ran"), COLOUR: "green" };
    product.agent("present", [does("two", { run: 'echo "$COLOUR" > colour.txt' }, DONE), does("three")], { env });
    await door.call("run_resume", { run_id: story.run_id });
    expect(await door.ended(story.run_id)).toMatchObject({ state: "done" });
    expect(product.box.sh(story.tree, "cat colour.txt")).toBe("green");
  });
});

const scripted = (script: string): string[] => [process.execPath, BIN, "scripted-agent", "--script", script];
