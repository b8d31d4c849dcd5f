import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "vitest";
import { sleep } from "../../src/run/clock.ts";
import { newProduct, type RunView } from "../support/product.ts";
import { manifest, type Sandbox } from "../support/repos.ts";
import { retained } from "../support/retention.ts";
import { type BackendName, backends } from "../support/stores.ts";

/** A retention policy frees nothing that exists nowhere else, says what it did and why, and does it once. */

const verdict = (word: string) => ({ report: { completed: [], intended: [], verdict: word, summary: word } });
const edit = (path: string) => ({ edit: { path, content: `${path}\n` } });
const COMMITTED = [edit("n"), { commit: "Add n" }];

/** The stories of the mixed home: what each run does, and how old its stop is made. */
const STORIES = {
  dirty: { turns: [edit("only-here"), verdict("blocked")], days: 40 },
  unpushed: { turns: [...COMMITTED, verdict("done")], days: 41 },
  detached: {
    turns: [{ run: "git checkout -q --detach" }, edit("n"), { commit: "On no branch" }, verdict("done")],
    days: 42,
  },
  stash: { turns: [...COMMITTED, { run: "echo draft >> a.txt && git stash -q" }, verdict("done")], days: 43 },
  ignored: {
    turns: [{ run: "echo out/ > .gitignore" }, { commit: "Ignore out" }, { run: "mkdir out && echo x > out/x" }, verdict("done")],
    days: 44,
  },
  merged: { turns: [...COMMITTED, verdict("done")], days: 45 },
  pushed: { turns: [...COMMITTED, verdict("blocked")], days: 46 },
  young: { turns: [...COMMITTED, verdict("done")], days: 2 },
  waits: { turns: [...COMMITTED, verdict("blocked")], days: 47 },
  back: { turns: [...COMMITTED, verdict("done")], days: 48 },
} as const;
type Story = keyof typeof STORIES;
/** What differs by the database is the memory of the policy; what git says is told on one of them. */
const NAMES = {
  sqlite: ["dirty", "unpushed", "detached", "stash", "ignored", "merged", "pushed", "young", "waits", "back"],
  postgres: ["dirty", "merged", "pushed", "waits", "back"],
} as const satisfies Record<BackendName, readonly Story[]>;
const MERGED: ReadonlySet<Story> = new Set(["stash", "ignored", "merged", "young", "waits", "back"]);
/** A pass every few seconds: beside a live run the worker waits 24 times as long. */
const POLICY = { reclaim_after_days: 30, every_minutes: 0.002 } as const;

/** Ids of everything that a person can reach: branches, tags, remotes' branches and stashes. */
function visible(box: Sandbox, repo: string): Set<string> {
  const listed = box.sh(
    repo,
    "git rev-list --objects --branches --tags --remotes $(git rev-parse -q --verify refs/stash || true)",
  );
  return new Set(listed.split("\n").map((line) => line.split(" ")[0] ?? ""));
}

/** Ids of all that a worktree holds, in its files and in what its HEAD ever named. */
function heldBy(box: Sandbox, worktree: string): string[] {
  const objects = box.sh(worktree, "git rev-list --objects $(git log -g --format=%H HEAD)");
  const files = box.sh(worktree, "git ls-files -co --exclude-standard | git hash-object --stdin-paths");
  return `${objects}\n${files}`.split("\n").map((line) => line.split(" ")[0] ?? "");
}

describe.each(backends)("a retention policy on %s", async (backend) => {
  const product = await newProduct(backend);
  const { box } = product;
  const door = await product.connect();
  const home = await retained(product, door);
  const names: readonly Story[] = NAMES[backend];
  const repoOf = (name: string): string => join(box.dir, name);

  test("C22: frees of the old runs those whose work is elsewhere, by itself and once; it keeps and names every other, and loses no object", async ({
    expect,
  }) => {
    const started = await Promise.all(names.map((name) => home.ended(name, [STORIES[name].turns])));
    const runs = new Map(names.map((name, n) => [name, started[n]]));
    const run = (name: Story): RunView => {
      const found = runs.get(name);
      if (found === undefined) throw new Error(name);
      return found;
    };
    const inPlace = await home.ended("in-place", [[edit("mine"), verdict("done")]], { workspace: "in_place" });
    const hang = product.agent("live", [[{ hang: true }]]);
    const live = await door.start({ repo: box.repo("live"), objective: "live", agent: hang });
    for (const name of names.filter((each) => MERGED.has(each)))
      box.git(repoOf(name), "merge", "-q", run(name).repository.branch ?? "");
    box.git(box.dir, "init", "-q", "--bare", join(box.dir, "remote.git"));
    box.git(repoOf("pushed"), "remote", "add", "origin", join(box.dir, "remote.git"));
    box.git(repoOf("pushed"), "push", "-q", "origin", run("pushed").repository.branch ?? "");
    for (const name of names)
      await home.age(run(name), STORIES[name].days, name === "waits" ? { waiting_until: "2099-01-01T00:00:00.000Z" } : {});
    await home.age(inPlace, 49);
    await door.call("run_archive", { run_id: run("back").run_id });
    await door.call("run_archive", { run_id: run("back").run_id, archived: false });

    // Off unless it is turned on; a look changes nothing and says what would be.
    expect(await home.retention(null)).toMatchObject({ policy: null, applied: false, freed_bytes: 0 });
    const look = await home.retention(POLICY);
    const would = look.runs.filter((row) => row.done).map((row) => row.run_id);
    expect(new Set(would)).toEqual(new Set([run("merged").run_id, run("pushed").run_id]));
    expect(look.freed_bytes).toBeGreaterThan(2 * 4096);
    expect(look.total_bytes).toBeGreaterThan(4096);
    const trees = new Map(names.map((name) => [name, manifest(run(name).workspace.path)]));
    const mine = manifest(repoOf("in-place"));
    const before = new Map(names.map((name) => [name, visible(box, repoOf(name))]));
    const held = new Map((["merged", "pushed"] as const).map((name) => [name, heldBy(box, run(name).workspace.path)]));
    for (const name of names)
      expect([name, (await home.events(run(name))).some((event) => event.data["by"] === "policy")]).toEqual([name, false]);

    // The worker, and three commands at once.
    product.configure({ retention: POLICY });
    await Promise.all([1, 2, 3].map(() => home.retention(POLICY, "--apply")));
    for (const name of ["merged", "pushed"] as const) {
      const told = await home.until(run(name), (view) => view["reclaimed_at"] !== null);
      expect(told).toMatch(
        new RegExp(
          `freed at .* by the retention policy \\(reclaim_after_days 30: it stopped ${STORIES[name].days} days ago\\)`,
          "u",
        ),
      );
      expect(existsSync(run(name).workspace.path)).toBe(false);
      expect((await home.events(run(name))).filter((event) => event.type === "run_reclaimed")).toHaveLength(1);
      const now = visible(box, repoOf(name));
      expect((held.get(name) ?? []).filter((id) => !now.has(id))).toEqual([]);
      expect(await door.text("run_explain_stop", { run_id: run(name).run_id })).toContain("by the retention policy");
    }
    const why = {
      dirty: /not committed: only-here/u,
      unpushed: /neither pushed nor merged.*Add n/u,
      detached: /On no branch/u,
      stash: /stashes: stash@\{0\}/u,
      ignored: /ignored files that exist nowhere else: out/u,
    } as const;
    for (const name of (["dirty", "unpushed", "detached", "stash", "ignored"] as const).filter((each) => names.includes(each))) {
      const told = await home.until(run(name), (_view, text) => text !== "");
      expect(told).toMatch(/^Not freed at .* by the retention policy \(reclaim_after_days 30/u);
      expect(told).toMatch(why[name]);
    }
    expect(await home.until(inPlace, (_view, text) => text !== "")).toMatch(/edits of the run that are not committed: mine/u);
    const pass = async (): Promise<string | null> =>
      home.store.retention.lastPass((await home.store.workers())[0]?.identity.host ?? "");
    for (let passes = 0, last = await pass(); passes < 2; ) {
      await sleep(200);
      const seen = await pass();
      if (seen !== last) passes += 1;
      last = seen;
    }
    for (const name of names.filter((each) => each !== "merged" && each !== "pushed")) {
      const { run: view } = await door.call("run_status", { run_id: run(name).run_id });
      expect([name, view?.["archived_at"], view?.["reclaimed_at"]]).toEqual([name, null, null]);
      expect(manifest(run(name).workspace.path)).toEqual(trees.get(name));
      const kept = (await home.events(run(name))).filter((event) => event.type === "reclaim_kept");
      expect([name, kept.length <= 1]).toEqual([name, true]);
    }
    expect(manifest(repoOf("in-place"))).toEqual(mine);
    for (const name of names) {
      const now = visible(box, repoOf(name));
      expect([...(before.get(name) ?? [])].filter((id) => !now.has(id))).toEqual([]);
    }
    expect((await door.call("run_status", { run_id: live.run_id })).run).toMatchObject({ state: "running", archived_at: null });

    // What a person took over is seen at the next pass, not after a day.
    box.sh(run("dirty").workspace.path, "git add -A && git commit -qm Taken");
    box.git(repoOf("dirty"), "merge", "-q", run("dirty").repository.branch ?? "");
    await home.until(run("dirty"), (view) => view["reclaimed_at"] !== null);
    expect(existsSync(run("dirty").workspace.path)).toBe(false);
    await door.call("run_stop", { run_id: live.run_id });
  });
});

describe("a retention policy", async () => {
  const product = await newProduct();
  const { box } = product;
  const door = await product.connect();
  const home = await retained(product, door);

  test("archives by age what stays where it is, frees the oldest until the rest fits, and spares what can be resumed", async ({
    expect,
  }) => {
    const big = [{ run: "head -c 4000000 /dev/urandom > big.bin" }, { commit: "Add a big file" }];
    const [oldest, middle, newest, resumable, dirty] = await Promise.all([
      home.ended("oldest", [[...big, verdict("done")]]),
      home.ended("middle", [[...big, verdict("done")]]),
      home.ended("newest", [[...big, verdict("done")]]),
      home.ended("resumable", [[...big, verdict("blocked")]]),
      home.ended("dirty", [[edit("only-here"), verdict("blocked")]]),
    ]);
    for (const run of [oldest, middle, newest, resumable])
      box.git(join(box.dir, String(run["objective"])), "merge", "-q", run.repository.branch ?? "");
    for (const [run, days] of [
      [resumable, 9],
      [oldest, 8],
      [middle, 7],
      [newest, 6],
      [dirty, 30],
    ] as const)
      await home.age(run, days);
    // Four worktrees of 4 MB, each with a copy of its checkpoints in the store: two have to go.
    const policy = { archive_after_days: 20, max_total_gb: 0.019 };
    const look = await home.retention(policy);
    const would = (listing: typeof look) => listing.runs.filter((row) => row.done).map((row) => [row.run_id, row.what]);
    expect(would(look)).toEqual([
      [dirty.run_id, "archive"],
      [oldest.run_id, "reclaim"],
      [middle.run_id, "reclaim"],
    ]);
    const done = await home.retention(policy, "--apply");
    expect(would(done)).toEqual(would(look));
    expect(done.freed_bytes).toBeGreaterThan(8_000_000);
    expect(done.total_bytes).toBeLessThan(0.019 * 2 ** 30);
    expect([oldest, middle, newest, resumable, dirty].map((run) => existsSync(run.workspace.path))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
    const told = await home.until(dirty, (view) => view["archived_at"] !== null);
    expect(told).toMatch(/^Archived at .* by the retention policy \(archive_after_days 20: it stopped 30 days ago\)\.$/u);
    // Brought back by a person, it is not put away again by the age of its stop.
    await door.call("run_archive", { run_id: dirty.run_id, archived: false });
    await home.retention(policy, "--apply");
    expect((await door.call("run_status", { run_id: dirty.run_id })).run).toMatchObject({ archived_at: null });
  });
});
