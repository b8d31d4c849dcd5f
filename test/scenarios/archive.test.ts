import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Door, newProduct, type RunView, refusalOf } from "../support/product.ts";
import { read, write } from "../support/repos.ts";

/** Nothing that exists nowhere else is ever removed: not by itself, not by an archive, not by garbage collection. */
describe.concurrent("an archived run", async () => {
  const product = await newProduct();
  const { box } = product;
  /** A place whose worker can be ended without a word to the others. */
  const apart = await newProduct();
  let door: Door;
  let doorApart: Door;

  beforeAll(async () => {
    door = await product.connect();
    doorApart = await apart.connect();
  });

  const verdict = (word: string) => ({ report: { completed: [], intended: [], verdict: word, summary: word } });
  const edit = (path: string) => ({ edit: { path, content: `${path}\n` } });

  async function ended(name: string, turns: readonly unknown[], place = { product, door }): Promise<RunView> {
    const agent = place.product.agent(name, turns);
    const { run_id } = await place.door.start({ repo: place.product.box.repo(name), objective: name, agent });
    return place.door.ended(run_id);
  }

  const freed = z.object({ kept: z.array(z.string()), freed: z.array(z.string()), freed_bytes: z.number().optional() });
  const archive = async (run: RunView, args: Readonly<Record<string, unknown>> = {}, at = door) =>
    freed.parse(await at.call("run_archive", { run_id: run.run_id, ...args }));

  async function staysWhole(run: RunView, why: RegExp, at = door): Promise<void> {
    const { kept, freed: gone } = await archive(run, { reclaim: true }, at);
    expect(kept.join("\n")).toMatch(why);
    expect(gone).toEqual([]);
    expect(existsSync(run.workspace.path)).toBe(true);
    expect((await at.call("run_status", { run_id: run.run_id })).run).toMatchObject({ reclaimed_at: null });
  }

  /** The scripted agent's own files of the run: its first line names the folder that the session works in. */
  const sessionFiles = (run: RunView): string[] =>
    readdirSync(join(box.dir, "scripted"))
      .map((name) => join(box.dir, "scripted", name))
      .filter((path) => readFileSync(path, "utf8").includes(run.workspace.path));

  test("leaves the list, is refused by word, comes back, and its calls take effect once", async ({ expect }) => {
    const run = await ended("mark", [[edit("a"), verdict("blocked")]]);
    const args = { run_id: run.run_id, request_id: "put-away" };
    const first = await door.call("run_archive", { ...args });
    const again = await door.call("run_archive", { ...args });
    expect(again).toMatchObject({ replayed: { first_at: expect.any(String) }, run: { revision: first.run?.revision } });
    const listed = async (archived: boolean) => JSON.stringify(await door.call("run_list", { archived })).includes(run.run_id);
    expect([await listed(false), await listed(true)]).toEqual([false, true]);
    for (const [tool, more] of [
      ["run_resume", {}],
      ["run_grant_iterations", { iterations: 1 }],
      ["run_reset", {}],
    ] as const)
      expect(await refusalOf(door.call(tool, { run_id: run.run_id, ...more }))).toMatch(/^not_allowed: archived: /u);
    expect(await refusalOf(door.call("run_archive", { run_id: run.run_id, expected_revision: 1 }))).toMatch(
      /^revision_conflict/u,
    );
    expect(await refusalOf(door.call("run_archive", { run_id: run.run_id, archived: false, reclaim: true }))).toMatch(
      /^bad_input/u,
    );
    const back = await door.call("run_archive", { run_id: run.run_id, archived: false });
    expect(back.run).toMatchObject({ archived_at: null, resumable: true });
  });

  test("that is live is refused", async ({ expect }) => {
    const agent = product.agent("live", [[{ hang: true }]]);
    const { run_id } = await door.start({ repo: box.repo("live"), objective: "live", agent });
    expect(await refusalOf(door.call("run_archive", { run_id }))).toMatch(/^not_allowed: live: /u);
    await door.call("run_stop", { run_id });
    await door.ended(run_id);
  });

  test("C22: a dirty worktree and a commit on a detached HEAD stay, through the worker's end and garbage collection, and the archive names why", async ({
    expect,
  }) => {
    const place = { product: apart, door: doorApart };
    const dirty = await ended("dirty", [[edit("only-here"), verdict("blocked")]], place);
    const detached = await ended(
      "detached",
      [[{ run: "git checkout -q --detach" }, edit("n"), { commit: "On no branch" }, verdict("blocked")]],
      place,
    );
    const lost = apart.box.git(detached.workspace.path, "rev-parse", "HEAD");
    await staysWhole(dirty, /not committed: only-here/u, doorApart);
    await staysWhole(detached, /On no branch/u, doorApart);
    apart.endWorker();
    for (const name of ["dirty", "detached"])
      apart.box.sh(join(apart.box.dir, name), "git reflog expire --expire=now --all; git gc -q --prune=now; git prune");
    expect(read(dirty.workspace.path, "only-here")).toBe("only-here\n");
    expect(apart.box.git(join(apart.box.dir, "detached"), "cat-file", "-t", lost)).toBe("commit");
    // Even with its worktree and every reflog gone, the hidden ref holds the commit.
    apart.box.sh(
      join(apart.box.dir, "detached"),
      `git worktree remove --force ${detached.workspace.path}; git gc -q --prune=now; git prune`,
    );
    expect(apart.box.git(join(apart.box.dir, "detached"), "cat-file", "-t", lost)).toBe("commit");
  });

  test("C23: a done run's uncommitted edit and the commits of a first attempt stay, whatever the last attempt did", async ({
    expect,
  }) => {
    const done = await ended("done-dirty", [[edit("forgotten"), verdict("done")]]);
    expect(done.state).toBe("done");
    await staysWhole(done, /not committed: forgotten/u);
    const twice = await ended("twice", [
      [edit("one"), { commit: "First attempt, one" }, edit("two"), { commit: "First attempt, two" }, verdict("blocked")],
    ]);
    product.agent("twice", [
      { when: "RESUME NOTE", do: [{ run: "git reset -q --hard HEAD~2" }, verdict("done")] },
      [verdict("done")],
    ]);
    await door.call("run_resume", { run_id: twice.run_id, from: "stop", instructions: "End it." });
    expect(await door.ended(twice.run_id)).toMatchObject({ state: "done" });
    await staysWhole(twice, /(?=.*First attempt, one).*First attempt, two/u);
  });

  test("is freed when everything exists elsewhere: clean and merged, or pushed; then it can be read, and is refused as reclaimed", async ({
    expect,
  }) => {
    const merged = await ended("merged", [[edit("n"), { commit: "Add n" }, verdict("done")]]);
    const repo = join(box.dir, "merged");
    await staysWhole(merged, /Add n/u);
    box.git(repo, "merge", "-q", merged.repository.branch ?? "");
    const worker = spawn("sleep", ["600"], { cwd: merged.workspace.path, stdio: "ignore" });
    await staysWhole(merged, /processes work in it/u);
    worker.kill("SIGKILL");
    await once(worker, "exit");
    const others = await ended("of-another", [[verdict("blocked")]]);
    const [own = ""] = sessionFiles(merged);
    expect(existsSync(own)).toBe(true);
    const result = await archive(merged, { reclaim: true });
    expect(result.freed.join("\n")).toContain(merged.workspace.path);
    expect(result.freed.join("\n")).toContain("the agent's own files of session");
    expect([existsSync(own), sessionFiles(others).length]).toEqual([false, 1]);
    expect(result.freed_bytes).toBeGreaterThan(4096);
    expect(await door.read(`loopkeeper://runs/${others.run_id}/report`)).toMatch(
      /On disk: worktree [\d.]+ KB, checkpoints [\d.]+ K?B, agent's files [\d.]+ K?B, copies [\d.]+ K?B, record [\d.]+ K?B\./u,
    );
    expect(existsSync(merged.workspace.path)).toBe(false);
    expect(box.git(repo, "worktree", "list").split("\n")).toHaveLength(1);
    expect(box.git(repo, "rev-parse", merged.repository.branch ?? "")).toBe(box.git(repo, "rev-parse", "main"));
    await archive(merged, { archived: false });
    expect(await refusalOf(door.call("run_reset", { run_id: merged.run_id }))).toMatch(/^not_allowed: reclaimed: /u);
    expect((await door.call("run_explain_stop", { run_id: merged.run_id })).explanation).toMatchObject({
      cause: { stop_reason: "done" },
    });

    const pushed = await ended("pushed", [[edit("n"), { commit: "Add n" }, verdict("blocked")]]);
    const remote = join(box.dir, "remote.git");
    box.git(box.dir, "init", "-q", "--bare", remote);
    box.git(join(box.dir, "pushed"), "remote", "add", "origin", remote);
    box.git(join(box.dir, "pushed"), "push", "-q", "origin", pushed.repository.branch ?? "");
    // Somebody goes on with the conversation by hand: it is theirs now.
    const [conversation = ""] = sessionFiles(pushed);
    appendFileSync(conversation, "\n");
    expect((await archive(pushed, { reclaim: true })).kept.join("\n")).toContain("somebody went on with the conversation");
    expect([existsSync(pushed.workspace.path), existsSync(conversation)]).toEqual([false, true]);
    expect(await refusalOf(door.call("run_resume", { run_id: pushed.run_id }))).toMatch(/^not_allowed: reclaimed: /u);
  });

  test("keeps commits that only the reflog of its worktree or a ref of that worktree names, and frees build folders that say they are caches", async ({
    expect,
  }) => {
    const run = await ended("reflog", [
      [
        { run: "printf 'out/\\nkeep/\\n' > .gitignore" },
        { commit: "Ignore out" },
        { run: "mkdir out && printf 'Signature: 8a477f597d28d172789f06886806bc55\\n' > out/CACHEDIR.TAG && echo x > out/o" },
        verdict("done"),
      ],
    ]);
    const { path } = run.workspace;
    box.git(join(box.dir, "reflog"), "merge", "-q", run.repository.branch ?? "");
    // A person tries something in the worktree after the stop and takes it back.
    box.sh(path, "echo try > t && git add t && git commit -qm 'Tried by hand' && git reset -q --hard HEAD~1");
    await staysWhole(run, /Tried by hand/u);
    box.git(join(box.dir, "reflog"), "branch", "tried", box.git(path, "rev-parse", "HEAD@{1}"));
    box.sh(path, "git update-ref refs/worktree/mine $(git commit-tree -m 'Of this worktree' HEAD^{tree} -p HEAD)");
    await staysWhole(run, /Of this worktree/u);
    box.git(path, "update-ref", "-d", "refs/worktree/mine");
    expect((await archive(run, { reclaim: true })).freed.join("\n")).toContain(path);
  });

  test("keeps its worktree for ignored files and stashes that are nowhere else", async ({ expect }) => {
    const run = await ended("odds", [
      [
        { run: "printf 'out/\\n' > .gitignore" },
        { commit: "Ignore out" },
        { run: "mkdir out && echo result > out/result.db && echo draft >> a.txt && git stash -q" },
        verdict("done"),
      ],
    ]);
    box.git(join(box.dir, "odds"), "merge", "-q", run.repository.branch ?? "");
    await staysWhole(run, /ignored files that exist nowhere else: out.*stashes: stash@\{0\}/su);
    expect(read(run.workspace.path, "out/result.db")).toBe("result\n");
    write(run.workspace.path, "later", "by a person\n");
    await staysWhole(run, /not committed: later/u);
  });
});
