import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Door, newProduct, refusalOf } from "../support/product.ts";
import { read, write } from "../support/repos.ts";

/** What checkpoints take of a working tree and what they leave out: never in silence, and never without a bound. */
describe.concurrent("what is covered", async () => {
  const product = await newProduct();
  const { box } = product;
  product.configure({ checkpoint_file_mb: 1, checkpoint_run_mb: 4 });
  let door: Door;

  beforeAll(async () => {
    door = await product.connect();
  });

  const done = { report: { completed: [], intended: [], verdict: "done" } };

  test("C15: edits inside a submodule and a nested clone are named as not covered, dirty and at which commit; the root file is saved", async () => {
    const inner = box.repo("inner");
    const repo = box.repo("outer");
    box.git(repo, "submodule", "--quiet", "add", inner, "sub");
    box.git(repo, "commit", "-qm", "sub");
    box.git(repo, "clone", "-q", inner, "nested");
    const agent = product.agent("nested", [[{ run: "echo s > sub/a.txt; echo n > nested/new; echo r > a.txt" }], [done]]);
    const args = { repo, objective: "x", agent, max_iterations: 1, workspace: "in_place", permissions: "all" };
    const { run_id } = await door.start(args);
    await door.ended(run_id);
    const at = box.git(inner, "rev-parse", "HEAD").slice(0, 12);
    const text = await door.text("run_explain_stop", { run_id });
    for (const name of ["sub", "nested"])
      expect(text).toContain(`not covered: ${name}: it is a repository of its own at ${at}, dirty`);
    const { explanation } = await door.call("run_explain_stop", { run_id });
    expect(explanation?.uncommitted.files.map((file) => file.path)).toContain("a.txt");
    const { consequences, confirm_token } = await door.call("run_reset", { run_id });
    expect(consequences?.cannot_undo.join("\n")).toMatch(/sub stays: it is a repository of its own[\s\S]*|nested stays/u);
    await door.call("run_reset", { run_id, confirm_token });
    expect([read(repo, "a.txt"), read(repo, "sub/a.txt"), read(repo, "nested/new")]).toEqual(["a\n".repeat(20), "s\n", "n\n"]);
  });

  const stored = (folder: string): number =>
    readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
      const path = join(folder, entry.name);
      return sum + (entry.isDirectory() ? stored(path) : statSync(path).size);
    }, 0);

  test("C18: big files that change every iteration do not fill the object store; what is left out is named with its size", async () => {
    const repo = box.repo("big");
    const before = stored(join(repo, ".git", "objects"));
    const grow = "head -c 3000000 /dev/urandom > huge.bin; head -c 1048576 /dev/urandom > part.bin; date +%N > small.txt";
    const turn = [{ run: grow }];
    const agent = product.agent("big", [turn, turn, turn, turn, turn, turn, turn, turn]);
    const { run_id } = await door.start({ repo, objective: "x", agent, max_iterations: 8 });
    await door.ended(run_id);
    for (let look = 0; look < 3; look += 1) await door.call("run_explain_stop", { run_id });
    // Four parts of one MB, and no more of either file.
    expect(stored(join(repo, ".git")) - before).toBeLessThan(7 * 2 ** 20);
    const status = await door.call("run_status", { run_id });
    expect(status).toMatchObject({
      checkpoint: {
        kind: "stop",
        bytes: expect.any(Number),
        not_covered: expect.arrayContaining([
          expect.stringMatching(/huge\.bin: it is too big for a checkpoint \(3 MB\)/u),
          expect.stringMatching(/part\.bin: what checkpoints may take of large files was used up \(1 MB\)/u),
        ]),
      },
    });
    expect(await door.text("run_explain_stop", { run_id })).toMatch(/not covered: huge\.bin/u);
  });

  test("C18: looking at what changed writes no object into the repository", async () => {
    const repo = box.repo("looks");
    const agent = product.agent("looks", [[{ edit: { path: "a.txt", content: "x\n" } }], [done]]);
    const { run_id, workspace } = await door.start({ repo, objective: "x", agent, max_iterations: 1 });
    await door.ended(run_id);
    write(workspace.path, "later.bin", "y".repeat(100_000));
    const before = box.git(repo, "count-objects", "-v");
    const { explanation } = await door.call("run_explain_stop", { run_id });
    expect(explanation).toMatchObject({ drift: { files_changed: ["later.bin"] } });
    expect(box.git(repo, "count-objects", "-v")).toBe(before);
    expect(readdirSync(join(box.git(workspace.path, "rev-parse", "--absolute-git-dir"), "loopkeeper")).join()).not.toMatch(
      /look-/u,
    );
  });

  test("C18: a run whose repository is the home folder, or holds it, is refused before anything is stored", async () => {
    box.git(box.home, "init", "-q");
    box.git(box.home, "commit", "-q", "--allow-empty", "-m", "dotfiles");
    const agent = product.agent("home", [[done]]);
    for (const repo of [box.home, "/"])
      expect(await refusalOf(door.start({ repo, objective: "x", agent }))).toMatch(/^repository_problem: /u);
    expect(await refusalOf(door.start({ repo: join(box.home), objective: "x", agent, workspace: "in_place" }))).toMatch(
      /home folder/u,
    );
    expect(await door.call("run_list", { repo: box.home }).catch(() => ({ runs: [] }))).not.toMatchObject({
      runs: [expect.anything()],
    });
  });
});
