import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Door, newProduct, refusalOf } from "../support/product.ts";
import { read, write } from "../support/repos.ts";

/** Branches and HEADs that others moved while a run was stopped, here and at the remote. */
describe.concurrent("a moved branch", async () => {
  const product = await newProduct();
  const { box } = product;
  product.configure({ fetch_remote: true });
  let door: Door;

  beforeAll(async () => {
    door = await product.connect();
  });

  const done = { report: { completed: [], intended: [], verdict: "done" } };
  const bea = ["-c", "user.name=Bea", "-c", "user.email=bea@example.org"] as const;

  /** A repository with a remote; the run's branch `fix` holds a commit of its own, pushed. */
  async function pushed(name: string) {
    const repo = box.repo(name);
    const remote = join(box.dir, `${name}.git`);
    box.git(box.dir, "init", "-q", "--bare", remote);
    box.git(repo, "remote", "add", "origin", remote);
    box.git(repo, "push", "-q", "origin", "main");
    const agent = product.agent(name, [
      [{ run: "echo own > own.txt; git add own.txt; git commit -qm Own; git push -q origin HEAD" }],
      [done],
    ]);
    const { run_id, workspace } = await door.start({ repo, objective: name, agent, max_iterations: 1, branch: "fix" });
    await door.ended(run_id);
    const clone = join(box.dir, `${name}-clone`);
    box.git(box.dir, "clone", "-q", "-b", "fix", remote, clone);
    return { run_id, tree: workspace.path, repo, remote, clone };
  }

  const again = (run_id: string, args: Readonly<Record<string, unknown>> = {}) =>
    door.call("run_resume", { run_id, add_iterations: 1, ...args });
  const noteOf = (run_id: string) => door.resource(`loopkeeper://runs/${run_id}/note`);

  test("C24: a colleague's commit on the pushed branch is told with author and subject, nothing is fetched, and the agent is told never to force", async () => {
    const run = await pushed("colleague");
    write(run.clone, "theirs.txt", "x");
    box.git(run.clone, "add", ".");
    box.git(run.clone, ...bea, "commit", "-qm", "Fix the fix");
    box.git(run.clone, "push", "-q");
    const tip = box.git(run.clone, "rev-parse", "HEAD");
    const { explanation } = await door.call("run_explain_stop", { run_id: run.run_id });
    expect(explanation).toMatchObject({
      drift: {
        branch_moved: true,
        branch: { remote: { to: tip, deleted: false }, remote_checked: true },
        commits_by_others: [{ sha: tip, author: "Bea", subject: "Fix the fix" }],
        notes: expect.arrayContaining(["branch moved by others: +1 commit (Bea: Fix the fix)"]),
      },
    });
    expect(box.tryGit(run.repo, "cat-file", "-e", tip)).toBeNull();
    await again(run.run_id);
    await door.ended(run.run_id);
    expect(await noteOf(run.run_id)).toMatch(/Bea: Fix the fix[\s\S]*never force-push/u);
    // A remote that tells ids alone, as one behind a network does.
    const bundle = join(box.dir, "colleague.bundle");
    box.git(run.clone, ...bea, "commit", "-q", "--allow-empty", "-m", "More");
    box.git(run.clone, "bundle", "create", "-q", bundle, "fix");
    box.git(run.repo, "remote", "set-url", "origin", bundle);
    expect(await door.text("run_explain_stop", { run_id: run.run_id })).toMatch(
      /moved at the remote .*how many and whose they are cannot be told without a fetch/u,
    );
  });

  test("C24: a branch that was rebased and force-pushed by others is told as rewritten", async () => {
    const run = await pushed("rebased");
    box.git(run.clone, ...bea, "commit", "-q", "--amend", "-m", "Own, reworded");
    box.git(run.clone, "push", "-qf");
    expect(await door.text("run_explain_stop", { run_id: run.run_id })).toMatch(/history was rewritten/u);
    await again(run.run_id);
    await door.ended(run.run_id);
    expect(await noteOf(run.run_id)).toMatch(/rewritten[\s\S]*never force-push/u);
    expect(box.git(run.tree, "log", "-1", "--format=%s")).toBe("Own");
  });

  test("a merged branch, and one deleted at the remote, want an explicit keep; a new run is recommended, and a grant does not go on", async () => {
    const merged = await pushed("merged");
    box.sh(merged.repo, "git merge -q --no-ff --no-edit fix");
    const gone = await pushed("gone");
    box.git(gone.clone, "push", "-q", "origin", ":fix");
    for (const [run, why] of [
      [merged, /merged into main/u],
      [gone, /deleted at the remote/u],
    ] as const) {
      const answer = await door.call("run_explain_stop", { run_id: run.run_id });
      expect(answer.choices?.find((choice) => choice.recommended)?.action).toBe("start_new");
      const ways = (answer.choices ?? []).filter((choice) => choice.action === "resume");
      expect(ways).toMatchObject([{ allowed: true, args: { on_drift: "keep" }, why: expect.stringMatching(why) }]);
      expect(answer.next_actions?.find(({ tool }) => tool === "run_resume")?.args).toMatchObject({ on_drift: "keep" });
      expect(await refusalOf(again(run.run_id))).toMatch(why);
      expect(await refusalOf(again(run.run_id, { on_drift: "restore" }))).toMatch(why);
      expect((await door.call("run_grant_iterations", { run_id: run.run_id, iterations: 1 })).summary).toMatch(/NOT continued/u);
      await again(run.run_id, { on_drift: "keep" });
      expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
    }
  });

  test("a remote that cannot be reached is said, never an error", async () => {
    const run = await pushed("offline");
    box.git(run.repo, "remote", "set-url", "origin", join(box.dir, "nowhere.git"));
    expect(await door.text("run_explain_stop", { run_id: run.run_id })).toContain("the remote was not looked at");
    await again(run.run_id);
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
  });

  test("a detached, a switched and a renamed HEAD are told with who did it; restore puts HEAD, branch and files back and names what it left", async () => {
    const run = await pushed("switched");
    const head = box.git(run.tree, "rev-parse", "HEAD");
    box.git(run.tree, "checkout", "-q", "--detach");
    expect(await door.text("run_explain_stop", { run_id: run.run_id })).toMatch(/HEAD is detached at/u);
    box.git(run.tree, ...bea, "checkout", "-q", "-b", "theirs");
    write(run.tree, "own.txt", "reworked\n");
    write(run.tree, "theirs.txt", "x\n");
    box.git(run.tree, "add", ".");
    box.git(run.tree, ...bea, "commit", "-qm", "Rework");
    write(run.tree, "loose.txt", "loose\n");
    const left = box.git(run.tree, "rev-parse", "HEAD");
    expect(await door.text("run_explain_stop", { run_id: run.run_id })).toMatch(
      /HEAD is on theirs at[\s\S]*HEAD was moved by Bea/u,
    );
    expect(await refusalOf(again(run.run_id, { on_drift: "refuse" }))).toMatch(/^not_allowed: drift: .*Bea: Rework/u);
    const { resumed } = await again(run.run_id, { on_drift: "restore" });
    expect(resumed?.restore).toMatchObject({
      restored: ["own.txt"],
      removed: ["theirs.txt"],
      kept: [expect.stringContaining(left.slice(0, 12))],
    });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
    expect(box.git(run.tree, "symbolic-ref", "--short", "HEAD")).toBe("fix");
    expect(box.git(run.tree, "rev-parse", "fix", "theirs").split("\n")).toEqual([head, left]);
    expect([read(run.tree, "own.txt"), read(run.tree, "theirs.txt"), read(run.tree, "loose.txt")]).toEqual([
      "own\n",
      null,
      "loose\n",
    ]);
    expect(box.git(run.tree, "status", "--porcelain")).toBe("?? loose.txt");
  });

  test("commits of a person on the run's own branch leave it at a restore, under a hidden ref that is named", async () => {
    const run = await pushed("on-top");
    const head = box.git(run.tree, "rev-parse", "HEAD");
    write(run.tree, "theirs.txt", "x\n");
    box.git(run.tree, "add", ".");
    box.git(run.tree, ...bea, "commit", "-qm", "On top");
    const top = box.git(run.tree, "rev-parse", "HEAD");
    const { resumed } = await again(run.run_id, { on_drift: "restore" });
    expect(JSON.stringify(resumed?.restore)).toMatch(/refs\/loopkeeper\/runs\/[^"]*left/u);
    await door.ended(run.run_id);
    expect(box.git(run.tree, "rev-parse", "HEAD")).toBe(head);
    expect(box.git(run.repo, "for-each-ref", "--contains", top, "--format=%(refname)")).toMatch(/refs\/loopkeeper\/.*left/u);
  });

  test("in place a person's HEAD stays where it is at a restore, and is named as kept", async () => {
    const repo = box.repo("inplace");
    const agent = product.agent("inplace", [[{ edit: { path: "mine", content: "the run's\n" } }], [done]]);
    const { run_id } = await door.start({
      repo,
      objective: "x",
      agent,
      max_iterations: 1,
      workspace: "in_place",
      permissions: "all",
    });
    await door.ended(run_id);
    write(repo, "mine", "a person's\n");
    box.git(repo, ...bea, "commit", "-q", "--allow-empty", "-m", "Theirs");
    const head = box.git(repo, "rev-parse", "HEAD");
    const { resumed } = await again(run_id, { on_drift: "restore" });
    expect(resumed?.restore).toMatchObject({ restored: ["mine"], kept: ["HEAD"] });
    await door.ended(run_id);
    expect([box.git(repo, "rev-parse", "HEAD"), read(repo, "mine")]).toEqual([head, "the run's\n"]);
  });
});
