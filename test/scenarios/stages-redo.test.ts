import { createHmac } from "node:crypto";
import { appendFileSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { type Answer, type Door, fileAppears, newProduct, refusalOf } from "../support/product.ts";
import { manifest, read } from "../support/repos.ts";
import { DIAMOND, DONE, does, promptsWith, startStory, states } from "../support/steps.ts";
import { backends } from "../support/stores.ts";

/** Preview and confirmation in one go. */
async function redone(
  door: Door,
  run_id: string,
  args: Readonly<Record<string, unknown>>,
): Promise<{ readonly preview: Answer; readonly answer: Answer }> {
  const preview = await door.call("run_redo", { run_id, ...args });
  const answer = await door.call("run_redo", { run_id, step: args["step"], confirm_token: preview.confirm_token });
  return { preview, answer };
}

/** What a redo meets: earlier redos, other runs, people, refusals, tokens. */
describe.concurrent("a redo", async () => {
  const product = await newProduct();
  const { box } = product;
  let door: Door;

  beforeAll(async () => {
    door = await product.connect();
  });

  const prune = (repo: string): void => {
    box.git(repo, "reflog", "expire", "--expire=now", "--all");
    box.git(repo, "gc", "--quiet", "--prune=now");
  };

  test("of a step that was redone before: its commits outlive a garbage collection, its agent hears what is gone, and all can be brought back", async () => {
    const commits = [{ run: 'git commit -q --allow-empty -m "Marker $(wc -l < "$LOOPKEEPER_TEST_RAN")"' }, DONE];
    const story = await startStory(product, door, "again", [does("one", ...commits), does("two", ...commits), does("three")]);
    await door.ended(story.run_id);
    const first = box.git(story.tree, "rev-parse", "HEAD");
    await redone(door, story.run_id, { step: "one", instructions: "BETTER THIS TIME" });
    const middle = await door.ended(story.run_id);
    expect(states(middle)).toEqual({ one: ["succeeded", 2], two: ["succeeded", 2], three: ["succeeded", 2] });
    const second = box.git(story.tree, "rev-parse", "HEAD");
    const work = manifest(story.tree);
    const [prompt] = promptsWith(product, "Story again").filter((text) => text.includes("BETTER THIS TIME"));
    expect(prompt).toMatch(/The step begins afresh[\s\S]*Taken off the branch again since[\s\S]*Marker 1[\s\S]*THIS STEP \(one/u);
    expect(prompt).not.toContain("seen to be there");

    const { preview, answer } = await redone(door, story.run_id, { step: "one" });
    const undone = preview.consequences?.undoes.join("\n") ?? "";
    // What the first redo took back is not taken back once more.
    expect([...undone.matchAll(/Marker \d/gu)].map(String)).toEqual(["Marker 4", "Marker 5"]);
    await door.ended(story.run_id);
    prune(story.repo);
    for (const left of [first, second])
      expect(box.git(story.repo, "for-each-ref", "--contains", left, "refs/loopkeeper")).not.toBe("");
    const back = { run_id: story.run_id, to: answer.reset?.safety_checkpoint };
    const { confirm_token } = await door.call("run_reset", back);
    expect((await door.call("run_reset", { ...back, confirm_token })).reset?.kept).toEqual([]);
    expect(manifest(story.tree)).toEqual(work);
    expect(box.git(story.tree, "rev-parse", "HEAD")).toBe(second);
  });

  test("begun again and stopped in the middle goes on to the end; a step that has yet to begin again cannot be redone, later it goes back to its new beginning", async () => {
    const hold = join(box.dir, "hold");
    const story = await startStory(product, door, "middle", [
      does("one", { run: `wc -l < "$LOOPKEEPER_TEST_RAN" > version; test -e ${hold} && touch in-one && sleep 60; true` }, DONE),
      does("two"),
      does("three"),
      [DONE],
    ]);
    await door.ended(story.run_id);
    writeFileSync(hold, "");
    await redone(door, story.run_id, { step: "one" });
    await fileAppears(join(story.tree, "in-one"));
    await door.call("run_stop", { run_id: story.run_id });
    const stopped = await door.ended(story.run_id);
    expect(states(stopped)).toEqual({ one: ["stopped", 2], two: ["pending", 2], three: ["pending", 2] });
    expect(await refusalOf(door.call("run_redo", { run_id: story.run_id, step: "two" }))).toMatch(/^not_allowed: never_began/u);
    const { choices } = await door.call("run_explain_stop", { run_id: story.run_id });
    expect(choices?.filter((choice) => choice.action === "redo").map((choice) => choice.args["step"])).toEqual(["one"]);
    await door.call("run_resume", { run_id: story.run_id });
    const ended = await door.ended(story.run_id);
    expect(ended).toMatchObject({ state: "done" });
    expect(story.ran()).toEqual(["one", "two", "three", "one", "two", "three"]);
    expect(read(story.tree, "version")?.trim()).toBe("4");
    const { answer } = await redone(door, story.run_id, { step: "two" });
    expect(answer.reset).toMatchObject({ restored: [], removed: ["three.txt", "two.txt"] });
    await door.ended(story.run_id);
    expect(read(story.tree, "version")?.trim()).toBe("4");
  });

  test("takes along what was worked at after the step began, also a step that had begun before it", async () => {
    const blocked = { report: { completed: [], intended: [], verdict: "blocked" } };
    const story = await startStory(
      product,
      door,
      "worked",
      [does("a"), does("b", blocked), does("c"), does("d"), [{ edit: { path: "b2.txt", content: "later" } }, DONE]],
      { steps: DIAMOND },
    );
    await door.ended(story.run_id);
    await door.call("run_resume", { run_id: story.run_id, instructions: "once more" });
    expect(await door.ended(story.run_id)).toMatchObject({ state: "done" });
    const { answer } = await redone(door, story.run_id, { step: "c" });
    expect(answer).toMatchObject({
      redone: { reopened_steps: ["c", "b", "d"] },
      reset: { restored: ["c.txt", "d.txt"], removed: ["b2.txt"] },
    });
    const ended = await door.ended(story.run_id);
    // Its agent plays the same again: `b` is blocked in its new session, and `d` needs it.
    expect(states(ended)).toEqual({ a: ["succeeded", 1], b: ["failed", 3], c: ["succeeded", 2], d: ["unreachable", 2] });
  });

  test("says which pushes stay, and leaves empty sections out", async () => {
    const remote = join(box.dir, "remote.git");
    box.git(box.dir, "init", "-q", "--bare", remote);
    const pushes = [{ commit: "Pushed work" }, { run: `git push -q ${remote} HEAD:refs/heads/pushed` }, DONE];
    const story = await startStory(product, door, "pushed", [does("one"), does("two", ...pushes), does("three")]);
    await door.ended(story.run_id);
    const { consequences } = await door.call("run_redo", { run_id: story.run_id, step: "one" });
    expect(consequences?.cannot_undo).toEqual([expect.stringMatching(/^push: .*stays$/u)]);
    expect(consequences?.undoes.join("\n")).toMatch(
      /work of step one[\s\S]*step two[\s\S]*step three[\s\S]*removes one.txt[\s\S]*Pushed work/u,
    );
    const text = await door.text("run_redo", { run_id: story.run_id, step: "three" });
    expect(text).toContain("What it undoes:");
    expect(text).not.toMatch(/What it cannot undo|Conflicts/u);
  });

  test("in the middle of a person's merge is refused and changes nothing; what a person committed on top stays", async () => {
    const story = await startStory(product, door, "person", [does("one"), does("two"), does("three")]);
    await door.ended(story.run_id);
    const person = (script: string): string => box.sh(story.tree, script);
    person("git checkout -q -b theirs && echo theirs > a.txt && git commit -qam theirs && git checkout -q -");
    person("echo ours > a.txt && git commit -qam ours && git merge theirs >/dev/null 2>&1 || true");
    const before = [manifest(story.tree), person("git status --porcelain=v2; git rev-parse HEAD")];
    expect(await refusalOf(door.call("run_redo", { run_id: story.run_id, step: "one" }))).toMatch(
      /^not_allowed: operation_in_progress: a merge/u,
    );
    expect([manifest(story.tree), person("git status --porcelain=v2; git rev-parse HEAD")]).toEqual(before);
    person("git merge --abort");
    const head = person("git rev-parse HEAD");
    const { preview, answer } = await redone(door, story.run_id, { step: "one" });
    expect(preview.consequences?.conflicts).toEqual([{ path: "HEAD", changed_by: expect.stringContaining("Ann") }]);
    expect(answer.reset?.removed.toSorted()).toEqual(["one.txt", "three.txt", "two.txt"]);
    expect(await door.ended(story.run_id)).toMatchObject({ state: "done" });
    expect([person("git rev-parse HEAD"), read(story.tree, "a.txt")]).toEqual([head, "ours\n"]);
  });

  test("makes a deleted worktree again first, and is neither offered nor done where the entry is lost", async () => {
    const story = await startStory(product, door, "gone", [does("one"), does("two"), does("three")]);
    await door.ended(story.run_id);
    rmSync(story.tree, { recursive: true });
    const { answer } = await redone(door, story.run_id, { step: "three" });
    expect(answer.reset?.removed).toEqual(["three.txt"]);
    expect(await door.ended(story.run_id)).toMatchObject({ state: "done", iteration: 4 });
    expect(read(story.tree, "two.txt")).toBe("two\n");
    const { explanation } = await door.call("run_explain_stop", { run_id: story.run_id });
    const entries = explanation?.checkpoints.filter((checkpoint) => checkpoint.kind === "entry") ?? [];
    // Newest first: three again, three, two, one. Where nothing changed in between, the checkpoint before is the same commit.
    const entry = box.git(story.repo, "rev-parse", `refs/loopkeeper/runs/${story.run_id}/${entries[2]?.id ?? ""}`);
    for (const ref of box.git(story.repo, "for-each-ref", "--points-at", entry, "--format=%(refname)").split("\n"))
      box.git(story.repo, "update-ref", "-d", ref);
    prune(story.repo);
    const { choices } = await door.call("run_explain_stop", { run_id: story.run_id });
    const offered = choices?.filter((choice) => choice.action === "redo").map((choice) => [choice.args["step"], choice.allowed]);
    expect(offered).toEqual([
      ["one", true],
      ["two", false],
      ["three", true],
    ]);
    expect(await refusalOf(door.call("run_redo", { run_id: story.run_id, step: "two" }))).toMatch(/^repository_problem: .*lost/u);
  });

  test("keeps the previewed instructions, wants the same ones, and shows an expired token a fresh preview", async () => {
    const story = await startStory(product, door, "token", [does("one"), does("two"), does("three")]);
    await door.ended(story.run_id);
    const wish = { run_id: story.run_id, step: "three" };
    const preview = await door.call("run_redo", { ...wish, instructions: "SAY IT ONCE" });
    expect(preview.consequences?.happens.join("\n")).toContain('Its agent is told by you: "SAY IT ONCE"');
    const confirm = { ...wish, confirm_token: preview.confirm_token };
    expect(await refusalOf(door.call("run_redo", { ...confirm, instructions: "SAY SOMETHING ELSE" }))).toMatch(
      /^confirm_token_invalid/u,
    );
    const expired = await expire(product.home, preview.confirm_token ?? "");
    const again = await door.call("run_redo", { ...wish, confirm_token: expired });
    expect(again).toMatchObject({ needs_confirmation: true, preview_again: "expired" });
    expect(existsSync(join(story.tree, "three.txt"))).toBe(true);
    await door.call("run_redo", { ...wish, confirm_token: again.confirm_token });
    await door.ended(story.run_id);
    expect(promptsWith(product, "SAY IT ONCE")).toHaveLength(1);
    const long = await door.call("run_redo", { ...wish, instructions: "x".repeat(5_000) });
    expect(await refusalOf(door.call("run_redo", { ...wish, confirm_token: long.confirm_token }))).toMatch(
      /^bad_input: instructions/u,
    );
    const iterations = { run_id: story.run_id, step: "three", add_iterations: 2, confirm_token: long.confirm_token };
    expect(await refusalOf(door.call("run_redo", { ...iterations, instructions: "x".repeat(5_000) }))).toMatch(
      /^confirm_token_invalid/u,
    );
  });

  test("while another run works in the tree is refused, and changes nothing", async () => {
    const repo = box.repo("held");
    const args = { repo, objective: "hold", workspace: "in_place", permissions: "all" };
    const first = product.agent("holder", [[{ edit: { path: "mine.txt", content: "A" } }, DONE]]);
    const { run_id } = await door.start({ ...args, agent: first });
    await door.ended(run_id);
    const { confirm_token } = await door.call("run_redo", { run_id, step: "main" });
    const second = product.agent("holding", [[{ run: `touch ${repo}.live; sleep 60` }]]);
    const other = await door.start({ ...args, agent: second });
    await fileAppears(`${repo}.live`);
    expect(await refusalOf(door.call("run_redo", { run_id, step: "main", confirm_token }))).toMatch(
      new RegExp(`^already_running: .*${other.run_id}`, "u"),
    );
    expect(read(repo, "mine.txt")).toBe("A");
    await door.call("run_stop", { run_id: other.run_id });
    await door.ended(other.run_id);
    appendFileSync(join(repo, "b.txt"), "a person's line\n");
    await redone(door, run_id, { step: "main" });
    expect(await door.ended(run_id)).toMatchObject({ state: "done" });
    expect(read(repo, "b.txt")).toContain("a person's line");
  });
});

/** The same token as one that was given an hour ago: signed by the store's own secret. */
async function expire(home: string, token: string): Promise<string> {
  const store = await openStore({ url: null, path: join(home, "loopkeeper.db") });
  const secret = await store.secret();
  await store.close();
  const text = Buffer.from(token.split(".")[0] ?? "", "base64url").toString("utf8");
  const old = text.replace(/"expires_at":"[^"]*"/u, '"expires_at":"2026-01-01T00:00:00.000Z"');
  const body = Buffer.from(old).toString("base64url");
  return `${body}.${createHmac("sha256", secret).update(body).digest("base64url")}`;
}

for (const backend of backends) {
  describe(`a redo on ${backend}`, async () => {
    const product = await newProduct(backend);
    const { box } = product;
    let door: Door;

    beforeAll(async () => {
      door = await product.connect();
    });

    test("leaves what another run changed since, committed or not, and names that run; overwrite takes exactly what it names", async () => {
      const repo = box.repo("shared");
      const edit = (path: string, content: string) => ({ edit: { path, content } });
      const first = product.agent("first", [
        { when: "RESUME NOTE", do: [DONE] },
        [edit("x.txt", "A"), edit("y.txt", "A"), edit("z.txt", "A"), DONE],
      ]);
      const second = product.agent("second", [
        [edit("x.txt", "B"), edit("y.txt", "B"), { run: "git add y.txt && git commit -qm 'Of the second' y.txt" }, DONE],
      ]);
      const args = { repo, objective: "share", workspace: "in_place", permissions: "all" };
      const { run_id } = await door.start({ ...args, agent: first });
      await door.ended(run_id);
      const other = await door.start({ ...args, agent: second });
      expect(await door.ended(other.run_id)).toMatchObject({ state: "done" });
      const preview = await door.call("run_redo", { run_id, step: "main" });
      expect(preview.consequences?.conflicts).toEqual([
        { path: "HEAD", changed_by: expect.stringMatching(new RegExp(`^run ${other.run_id}, committed as Ann`, "u")) },
        { path: "x.txt", changed_by: `run ${other.run_id}` },
        { path: "y.txt", changed_by: `run ${other.run_id}` },
      ]);
      const head = box.git(repo, "rev-parse", "HEAD");
      const { answer } = await redone(door, run_id, { step: "main", overwrite: ["x.txt"] });
      expect(answer.reset).toMatchObject({ removed: ["x.txt", "z.txt"], kept: expect.arrayContaining(["y.txt"]) });
      await door.ended(run_id);
      expect([read(repo, "x.txt"), read(repo, "y.txt"), box.git(repo, "rev-parse", "HEAD")]).toEqual([null, "B", head]);
    });
  });
}
