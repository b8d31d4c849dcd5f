import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, test } from "vitest";
import { type Answer, type Door, newProduct, type RunView } from "../support/product.ts";
import { manifest, read, write } from "../support/repos.ts";

/** What others lost to an undo of somebody else's: here a reset takes back the run's bytes alone. */
describe.concurrent("a reset", async () => {
  const product = await newProduct();
  const { box } = product;
  let door: Door;

  beforeAll(async () => {
    door = await product.connect();
  });

  const stopped = { report: { completed: [], intended: [], verdict: "blocked", summary: "stop here" } };

  async function run(
    repo: string,
    name: string,
    actions: readonly unknown[],
    args: Readonly<Record<string, unknown>> = {},
  ): Promise<RunView> {
    const agent = product.agent(name, [[...actions, stopped]]);
    const place = { workspace: "in_place", permissions: "all" };
    const { run_id } = await door.start({ repo, objective: name, agent, ...place, ...args });
    return door.ended(run_id);
  }

  async function reset(
    { run_id }: RunView,
    args: Readonly<Record<string, unknown>> = {},
  ): Promise<{ readonly preview: Answer; readonly done: Answer }> {
    const preview = await door.call("run_reset", { run_id, ...args });
    return { preview, done: await door.call("run_reset", { run_id, confirm_token: preview.confirm_token }) };
  }

  test("C05: of a run that changed nothing is nothing; what another run left is named with that run, and stays", async ({
    expect,
  }) => {
    const repo = box.repo("c05");
    const one = await run(repo, "c05-a", [{ edit: { path: "a.txt", content: "by run A\n" } }]);
    const two = await run(repo, "c05-b", [{ say: "nothing to do" }]);
    const before = manifest(repo);
    const { preview, done } = await reset(two);
    expect(preview.consequences).toMatchObject({ undoes: [], conflicts: [] });
    expect(preview.consequences?.happens.join("\n")).toContain(`a.txt (changed by run ${one.run_id})`);
    expect(preview.consequences?.happens[0]).toMatch(new RegExp(`${two.run_id}.*c05-b.*branch main`, "u"));
    expect(done.reset).toMatchObject({ restored: [], removed: [] });
    expect(manifest(repo)).toEqual(before);
    const { explanation } = await door.call("run_explain_stop", { run_id: two.run_id });
    expect(explanation?.uncommitted.files).toMatchObject([{ path: "a.txt", owner: "other_run" }]);
    // A path that both changed is a conflict, named with the run that changed it last.
    const three = await run(repo, "c05-c", [{ edit: { path: "a.txt", content: "by run C\n" } }]);
    const conflicts = (await reset(one)).preview.consequences?.conflicts;
    expect(conflicts).toEqual([{ path: "a.txt", changed_by: `run ${three.run_id}` }]);
    expect(read(repo, "a.txt")).toBe("by run C\n");
  });

  test("C07: leaves what others made before the run and while it worked, and gives back what it removed", async ({ expect }) => {
    const repo = box.repo("c07");
    write(repo, "output/before.jsonl", "made before\n");
    const other = `setsid sh -c 'echo made meanwhile > output/during.jsonl'`;
    const made = await run(repo, "c07", [
      { edit: { path: "new.ts", content: "new\n" } },
      { spawn: { command: other, detached: true } },
      { sleep: 300 },
    ]);
    const { done } = await reset(made);
    expect(done.reset?.removed).toEqual(["new.ts"]);
    expect([read(repo, "new.ts"), read(repo, "output/before.jsonl"), read(repo, "output/during.jsonl")]).toEqual([
      null,
      "made before\n",
      "made meanwhile\n",
    ]);
    await reset(made, { to: done.reset?.safety_checkpoint });
    expect(read(repo, "new.ts")).toBe("new\n");
  });

  test("C08: leaves files that an uncommitted rule protects, and those that the run's own rules hid or showed", async ({
    expect,
  }) => {
    const repo = box.repo("c08");
    write(repo, ".gitignore", "data/\nlocal\n");
    write(repo, "src/.gitignore", "*.secret\n");
    for (const path of ["data/1", "data/2", "data/3", "src/key.secret", "local", "seen.txt"]) write(repo, path, `${path}\n`);
    const ran = await run(repo, "c08", [
      { edit: { path: "a.txt", content: "run\n" } },
      // The run shows what was hidden and hides what was seen, and commits all that it sees.
      { run: "printf 'data/\\nseen.txt\\n' > .gitignore" },
      { commit: "Everything" },
    ]);
    const { preview, done } = await reset(ran);
    expect(done.reset?.restored).toContain("a.txt");
    expect(done.reset?.removed).not.toContain("local");
    for (const path of ["data/1", "data/2", "data/3", "src/key.secret", "local", "seen.txt"])
      expect(read(repo, path), `${path} of ${JSON.stringify(preview.consequences)}`).toBe(`${path}\n`);
    expect(read(repo, "a.txt")).toBe("a\n".repeat(20));
  });

  test("C09: leaves staged hunks as they are, also in a file that the run stages and edits", async ({ expect }) => {
    const repo = box.repo("c09");
    write(repo, "a.txt", `first\n${read(repo, "a.txt") ?? ""}`);
    box.git(repo, "add", "a.txt");
    write(repo, "a.txt", `${read(repo, "a.txt") ?? ""}last\n`);
    const before = [box.git(repo, "diff", "--cached"), box.git(repo, "diff")];
    const ran = await run(repo, "c09", [
      { edit: { path: "b.txt", content: "run\n" } },
      { run: "echo more >> c.txt; git add b.txt c.txt; echo again >> c.txt" },
    ]);
    const during = [box.git(repo, "diff", "--cached"), box.git(repo, "diff")];
    const { done } = await reset(ran);
    expect([box.git(repo, "diff", "--cached"), box.git(repo, "diff")]).toEqual(before);
    await reset(ran, { to: done.reset?.safety_checkpoint });
    expect([box.git(repo, "diff", "--cached"), box.git(repo, "diff")]).toEqual(during);
  });

  test("C12: restores links as links and writes through none, planted by the run or swapped in after the preview", async ({
    expect,
  }) => {
    const repo = box.repo("c12");
    const victim = join(box.dir, "victim");
    for (const name of ["x.ts", "one"]) write(victim, name, "outside\n");
    const outside = manifest(victim);
    write(repo, "lib/one", "one\n");
    box.git(repo, "add", ".");
    box.git(repo, "commit", "-qm", "lib");
    const ran = await run(
      repo,
      "c12",
      [{ run: `rm -r src && ln -s ${victim} src` }, { edit: { path: "lib/one", content: "run\n" } }],
      { workspace: "worktree" },
    );
    const tree = ran.workspace.path;
    const preview = await door.call("run_reset", { run_id: ran.run_id });
    renameSync(join(tree, "lib"), join(tree, "lib-aside"));
    symlinkSync(victim, join(tree, "lib"));
    const again = await door.call("run_reset", { run_id: ran.run_id, confirm_token: preview.confirm_token });
    expect(again).toMatchObject({ preview_again: "changed", consequences: { conflicts: [{ path: "lib/one" }] } });
    const done = await door.call("run_reset", { run_id: ran.run_id, confirm_token: again.confirm_token });
    expect(done.reset).toMatchObject({ restored: ["src/x.ts"], removed: ["src"], kept: ["lib/one"] });
    expect(manifest(victim)).toEqual(outside);
    expect(read(tree, "src/x.ts")).toBe("x\n");
    await reset(ran, { to: done.reset?.safety_checkpoint });
    expect(manifest(tree)["src"]).toBe(`link ${victim}`);
    expect(manifest(victim)).toEqual(outside);
  });

  test("C14: carries names and contents that are not UTF-8 there and back, byte for byte, and names them in an escaped form", async ({
    expect,
  }) => {
    const repo = box.repo("c14");
    write(repo, "latin1.txt", Buffer.from([0xe9, 0x0a]));
    write(repo, "binary", Buffer.from([0, 1, 2, 255]));
    box.git(repo, "add", ".");
    box.git(repo, "commit", "-qm", "bytes");
    const ran = await run(
      repo,
      "c14",
      [{ run: "printf x > \"$(printf 'odd\\377')\"; printf '\\350\\351' >> latin1.txt; printf '\\000\\377\\376' >> binary" }],
      { workspace: "worktree" },
    );
    const tree = ran.workspace.path;
    const before = manifest(tree);
    const { preview, done } = await reset(ran);
    expect(preview.consequences?.undoes).toContain("removes odd\\xff");
    expect(done.reset?.removed).toEqual(["odd\\xff"]);
    expect(manifest(tree)).toEqual(Object.fromEntries(Object.entries(manifest(repo))));
    await reset(ran, { to: done.reset?.safety_checkpoint });
    expect(manifest(tree)).toEqual(before);
  });

  test("names what it cannot undo, puts HEAD back to the branch it was on, and leaves what is the person's commit", async ({
    expect,
  }) => {
    const repo = box.repo("head");
    const remote = join(box.dir, "head.git");
    box.git(box.dir, "init", "-q", "--bare", remote);
    box.git(repo, "remote", "add", "origin", remote);
    mkdirSync(join(repo, "nested"));
    box.git(join(repo, "nested"), "init", "-q");
    write(repo, "nested/inner", "of another repository\n");
    const main = box.git(repo, "rev-parse", "main");
    const ran = await run(repo, "head", [
      { run: "git checkout -q -b feature" },
      { run: "echo run > n.txt && git add n.txt && git commit -q -m 'Add n'" },
      { run: "git push -q origin feature" },
    ]);
    const tip = box.git(repo, "rev-parse", "HEAD");
    const { preview, done } = await reset(ran);
    expect(preview.consequences?.cannot_undo.join("\n")).toMatch(/push: git push -q origin feature[\s\S]*nested/u);
    expect(preview.consequences?.undoes.join("\n")).toContain("Add n");
    expect([box.git(repo, "symbolic-ref", "HEAD"), box.git(repo, "rev-parse", "HEAD", "main", "feature").split("\n")]).toEqual([
      "refs/heads/main",
      [main, main, tip],
    ]);
    await reset(ran, { to: done.reset?.safety_checkpoint });
    expect([box.git(repo, "symbolic-ref", "HEAD"), box.git(repo, "rev-parse", "HEAD")]).toEqual(["refs/heads/feature", tip]);
    // A person takes the branch back further: that move is theirs, and stays.
    box.git(repo, "commit", "-q", "--allow-empty", "-m", "By a person");
    const person = box.git(repo, "rev-parse", "HEAD");
    const second = await reset(ran);
    expect(second.preview.consequences?.conflicts[0]).toMatchObject({
      path: "HEAD",
      changed_by: expect.stringContaining("By a person"),
    });
    expect(box.git(repo, "rev-parse", "HEAD")).toBe(person);
  });
});
