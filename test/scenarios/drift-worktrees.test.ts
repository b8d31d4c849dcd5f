import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type Door, newProduct, refusalOf } from "../support/product.ts";
import { manifest, read, write } from "../support/repos.ts";

/** What may have become of a run's worktree between its stop and its resume. */
describe.concurrent("a lost worktree", async () => {
  const product = await newProduct();
  const { box } = product;
  let door: Door;

  beforeAll(async () => {
    // Through a link, as a home folder may be.
    symlinkSync(product.home, join(box.dir, "home-link"));
    door = await product.connect({ LOOPKEEPER_HOME: join(box.dir, "home-link"), REAL_HOME: product.home });
  });

  const done = { report: { completed: [], intended: [], verdict: "done" } };

  interface Stopped {
    readonly run_id: string;
    readonly tree: string;
    readonly repo: string;
    readonly branch: string;
    readonly entry: string;
  }

  /** Stopped with a commit, a staged file, an edited and an untracked one. */
  async function stopped(name: string): Promise<Stopped> {
    const repo = box.repo(name);
    const agent = product.agent(name, [
      [
        { run: "echo one > committed; git add committed; git commit -qm Own" },
        { run: "echo staged > b.txt; git add b.txt; echo edited > a.txt; mkdir -p new; echo untracked > new/file" },
      ],
      [{ recall: true }, done],
    ]);
    const { run_id, workspace, repository } = await door.start({ repo, objective: name, agent, max_iterations: 1 });
    await door.ended(run_id);
    const tree = workspace.path;
    const entry = box.git(tree, "rev-parse", "--absolute-git-dir");
    return { run_id, tree, repo, branch: repository.branch ?? "", entry };
  }

  const view = (tree: string) => [manifest(tree), box.git(tree, "status", "--porcelain=v2", "--branch", "-uall")];

  async function explained(run: Stopped): Promise<string> {
    return door.text("run_explain_stop", { run_id: run.run_id });
  }

  async function resume(run: Stopped, args: Readonly<Record<string, unknown>> = {}): Promise<string> {
    await door.call("run_resume", { run_id: run.run_id, add_iterations: 1, ...args });
    expect(await door.ended(run.run_id)).toMatchObject({ state: "done" });
    return door.resource(`loopkeeper://runs/${run.run_id}/note`);
  }

  test("removed with git worktree remove and its branch deleted, it comes back whole, branch and all, and the agent is told", async () => {
    const run = await stopped("removed");
    const before = view(run.tree);
    box.git(run.repo, "worktree", "remove", "--force", run.tree);
    box.git(run.repo, "branch", "-D", run.branch);
    expect(await explained(run)).toMatch(/worktree is gone[\s\S]*branch was deleted here/u);
    const note = await resume(run);
    expect(note).toMatch(/made again at/u);
    expect(view(run.tree)).toEqual(before);
    expect(box.git(run.tree, "symbolic-ref", "--short", "HEAD")).toBe(run.branch);
  });

  test("unregistered, it keeps its files, a person's newer edit too, and gets its index back", async () => {
    const run = await stopped("unregistered");
    const index = box.git(run.tree, "ls-files", "-s");
    rmSync(run.entry, { recursive: true });
    write(run.tree, "c.txt", "a person's\n");
    expect(await explained(run)).toMatch(/no longer knows the worktree/u);
    const note = await resume(run);
    expect(note).toMatch(/Files changed by others[\s\S]*c\.txt/u);
    expect(box.git(run.tree, "ls-files", "-s")).toBe(index);
    expect(read(run.tree, "c.txt")).toBe("a person's\n");
    expect(read(run.tree, "new/file")).toBe("untracked\n");
  });

  test("on a branch that is checked out elsewhere by now, it comes back detached, and the agent is told where the branch is", async () => {
    const run = await stopped("elsewhere");
    const head = box.git(run.tree, "rev-parse", "HEAD");
    rmSync(run.tree, { recursive: true });
    box.git(run.repo, "worktree", "prune");
    const other = join(box.dir, "elsewhere-other");
    box.git(run.repo, "worktree", "add", "-q", other, run.branch);
    expect(await resume(run)).toMatch(/checked out in .*elsewhere-other/u);
    expect(box.tryGit(run.tree, "symbolic-ref", "HEAD")).toBeNull();
    expect(box.git(run.tree, "rev-parse", "HEAD")).toBe(head);
    expect(box.git(other, "symbolic-ref", "--short", "HEAD")).toBe(run.branch);
    expect(read(run.tree, "new/file")).toBe("untracked\n");
  });

  test("something else at its place is never overwritten: a file, a link, another repository, a stranger's folder", async () => {
    const run = await stopped("occupied");
    const aside = `${run.tree}-aside`;
    renameSync(run.tree, aside);
    const strangers: readonly [() => void, () => void][] = [
      [() => writeFileSync(run.tree, "a file"), () => rmSync(run.tree)],
      [() => symlinkSync(box.repo("victim"), run.tree), () => rmSync(run.tree)],
      [
        () => {
          box.git(box.dir, "init", "-q", run.tree);
          write(run.tree, "theirs", "x");
        },
        () => rmSync(run.tree, { recursive: true }),
      ],
      [
        () => {
          box.git(run.repo, "worktree", "prune");
          mkdirSync(run.tree);
          write(run.tree, "theirs", "x");
        },
        () => rmSync(run.tree, { recursive: true }),
      ],
    ];
    for (const [put, take] of strangers) {
      put();
      const before = existsSync(join(run.tree, "theirs")) ? manifest(run.tree) : null;
      expect(await explained(run)).toMatch(/something else stands where the run's worktree was/u);
      const refusal = await refusalOf(door.call("run_resume", { run_id: run.run_id, add_iterations: 1, on_drift: "restore" }));
      expect(refusal).toMatch(/^repository_problem: .*Move it away/u);
      if (before !== null) expect(manifest(run.tree)).toEqual(before);
      take();
    }
    expect(read(join(box.dir, "victim"), "a.txt")).toBe("a\n".repeat(20));
    await resume(run);
    expect(read(run.tree, "a.txt")).toBe("edited\n");
  });

  test("a repository that was moved on disk is found by repo, and its worktree goes on as it was", async () => {
    const run = await stopped("moved");
    const moved = join(box.dir, "moved-away");
    renameSync(run.repo, moved);
    expect(await explained(run)).toContain("max_iterations");
    await resume(run, { repo: moved });
    expect(box.git(run.tree, "rev-parse", "--git-common-dir")).toBe(join(moved, ".git"));
    expect([read(run.tree, "a.txt"), read(run.tree, "new/file")]).toEqual(["edited\n", "untracked\n"]);
    expect(box.git(run.tree, "status", "--porcelain")).toMatch(/^M {2}b\.txt$/mu);
  });

  test("a run whose branch was deleted under its worktree does not begin a history of its own", async () => {
    const run = await stopped("unborn");
    const head = box.git(run.tree, "rev-parse", "HEAD");
    box.git(run.tree, "update-ref", "-d", `refs/heads/${run.branch}`);
    expect(await explained(run)).toMatch(/branch that HEAD names is gone/u);
    expect(await resume(run)).toMatch(/had been deleted; it was made again/u);
    expect(box.git(run.tree, "rev-parse", "HEAD", run.branch).split("\n")).toEqual([head, head]);
  });

  test("a file named in copy_ignored is copied, and never from or to behind a link, or from outside", async () => {
    const repo = box.repo("copies");
    write(box.dir, "secret/key", "outside\n");
    symlinkSync(join(box.dir, "secret"), join(repo, "linked"));
    symlinkSync(join(box.dir, "secret", "key"), join(repo, "link"));
    box.sh(repo, "printf '.env\\nunseen\\n' > .gitignore; git add -A; git commit -qm ignore");
    symlinkSync(join(box.dir, "secret"), join(repo, "unseen"));
    write(repo, ".env", "TOKEN=1\n", 0o600);
    const agent = product.agent("copies", [[{ edit: { path: "x", content: "x" } }, done]]);
    const args = { repo, objective: "copies", agent };
    for (const bad of ["../secret/key", "a/../../secret/key", join(box.dir, "secret", "key")])
      expect(await refusalOf(door.start({ ...args, copy_ignored: [bad] }))).toMatch(/^bad_input: /u);
    const { run_id, workspace } = await door.start({
      ...args,
      copy_ignored: [".env", "linked/key", "unseen/key", "link", ".git/config", "none"],
    });
    await door.ended(run_id);
    expect(read(workspace.path, ".env")).toBe("TOKEN=1\n");
    expect(existsSync(join(workspace.path, "unseen"))).toBe(false);
    expect(manifest(workspace.path)["link"]).toBe(`link ${join(box.dir, "secret", "key")}`);
    const transcript = await door.resource(`loopkeeper://runs/${run_id}/transcript`);
    for (const named of ["linked/key", "unseen/key", "link", ".git/config", "none"])
      expect(transcript).toContain(`copy_ignored: ${named} was not copied`);
  });
});
