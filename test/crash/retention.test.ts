import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newProduct, type RunView } from "../support/product.ts";
import { retained } from "../support/retention.ts";
import { deathsOf, TIMEOUT_MS } from "./support/deaths.ts";

/** A process that dies while it frees a run: the record never says more than was done, and the next one finishes it. */

const TURNS = [
  [{ edit: { path: "n", content: "n\n" } }, { commit: "Add n" }, { report: { completed: [], intended: [], verdict: "done" } }],
];

test(
  "a reclaim that a death broke off before or after any of its effects is no lie in the record, and the policy finishes it",
  async () => {
    const product = await newProduct();
    const { box } = product;
    const door = await product.connect();
    const home = await retained(product, door);
    const plan = join(box.dir, "crash-plan.json");
    const trace = join(box.dir, "crash-trace");
    let made = 0;
    const clean = async (): Promise<RunView> => {
      made += 1;
      const name = `run-${made}`;
      const run = await home.ended(name, TURNS);
      box.git(join(box.dir, name), "merge", "-q", run.repository.branch ?? "");
      return run;
    };
    const reclaim = async (run: RunView, kill: string | null): Promise<void> => {
      for (const file of [trace, `${trace}.killed`]) rmSync(file, { force: true });
      writeFileSync(plan, JSON.stringify({ role: "door", trace, ...(kill === null ? {} : { kill }) }));
      const victim = await product.connect({ LOOPKEEPER_TEST_CRASH: plan });
      await victim.call("run_archive", { run_id: run.run_id, reclaim: true }).catch(() => {});
      await victim.close();
    };
    await reclaim(await clean(), null);
    const effects = readFileSync(trace, "utf8").trim().split("\n");
    const wanted = /^(before|after) (apply|removeWorktree|freeSession|freeCheckpoints)|^after git (worktree|update-ref)/u;
    const all = effects.filter((line) => wanted.test(line));
    expect(all.join(" ")).toMatch(/removeWorktree.*git worktree.*freeSession.*freeCheckpoints.*run_reclaimed/u);
    const points = deathsOf(all, 2);
    const runs = await Promise.all(points.map(clean));
    for (const [n, point] of points.entries()) {
      const run = runs[n];
      if (run === undefined) throw new Error(point);
      await reclaim(run, point);
      expect([point, existsSync(`${trace}.killed`)]).toEqual([point, true]);
      const { run: view } = await door.call("run_status", { run_id: run.run_id });
      const marked = view?.["reclaimed_at"] !== null;
      expect([point, marked]).toEqual([point, point.startsWith("after apply(run_archived+run_reclaimed)")]);
      const there = existsSync(join(run.workspace.path, "n"));
      expect([point, there && marked]).toEqual([point, false]);
    }
    // As a power cut leaves a folder in the middle of its removal; what a person put there since stays.
    const torn = await clean();
    const beside = await clean();
    for (const run of [torn, beside]) {
      await reclaim(run, "before removeWorktree#1");
      for (const name of [".git", "n", "a.txt", "src/x.ts"]) rmSync(join(run.workspace.path, name));
    }
    writeFileSync(join(beside.workspace.path, "a.txt"), "by a person\n");

    // Told before it is done: of a removal that was broken off nobody can, and looking mends nothing.
    const look = await home.retention({ reclaim_after_days: 0 });
    expect(look.runs.find((row) => row.run_id === torn.run_id)).toMatchObject({
      done: false,
      kept: [expect.stringContaining("its removal was broken off")],
    });
    expect(existsSync(join(torn.workspace.path, "n"))).toBe(false);

    const { runs: rows } = await home.retention({ reclaim_after_days: 0 }, "--apply");
    expect(rows.filter((row) => !row.done).map((row) => [row.run_id, row.kept])).toEqual([
      [beside.run_id, [expect.stringContaining("not committed: a.txt")]],
    ]);
    for (const run of [...runs, torn]) {
      const { run: view } = await door.call("run_status", { run_id: run.run_id });
      expect(view?.["reclaimed_at"]).not.toBeNull();
      expect(existsSync(run.workspace.path)).toBe(false);
      expect((await home.events(run)).filter((event) => event.type === "run_reclaimed")).toHaveLength(1);
    }
    expect(readFileSync(join(beside.workspace.path, "a.txt"), "utf8")).toBe("by a person\n");
    for (let n = 1; n <= made; n += 1) {
      const repo = join(box.dir, `run-${n}`);
      const listed = box.git(repo, "worktree", "list").split("\n");
      expect(listed).toHaveLength(repo === join(box.dir, `run-${made}`) ? 2 : 1);
      expect(box.git(repo, "for-each-ref", "--format=%(refname)", "refs/loopkeeper/runs").split("\n").length).toBeLessThanOrEqual(
        2 + Number(n === made),
      );
      expect(box.git(repo, "fsck", "--connectivity-only")).toBe("");
    }
  },
  TIMEOUT_MS,
);
