import { appendFileSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { newProduct, type RunView, refusalOf } from "../support/product.ts";
import { manifest, untouchables } from "../support/repos.ts";
import { retained } from "../support/retention.ts";
import { type Serve, startServe } from "../support/serve.ts";
import { backends } from "../support/stores.ts";

/** What is shown before a reclaim is what happens, and looking changes nothing. */

const told = z.object({
  freed: z.array(z.string()),
  kept: z.array(z.string()),
  freed_bytes: z.number(),
  kept_bytes: z.number(),
});
const shown = told.extend({
  revision: z.number(),
  archived: z.boolean(),
  frees: z.boolean().nullable(),
  passing: z.boolean(),
  consequences: z.object({
    happens: z.array(z.string()),
    undoes: z.array(z.string()),
    cannot_undo: z.array(z.string()),
    conflicts: z.array(z.unknown()),
  }),
});

const verdict = (word: string) => ({ report: { completed: [], intended: [], verdict: word, summary: word } });
const edit = (path: string) => ({ edit: { path, content: `${path}\n` } });
const COMMITTED = [edit("n"), { commit: "Add n" }];

describe.each(backends)("a look at a reclaim on %s", async (backend) => {
  const product = await newProduct(backend);
  const { box } = product;
  const door = await product.connect();
  const home = await retained(product, door);
  let serve: Serve;
  beforeAll(async () => {
    serve = await startServe(product.env);
  });
  afterAll(() => serve.child.kill("SIGKILL"));

  const repoOf = (name: string): string => join(box.dir, name);
  const look = async (run: RunView): Promise<z.infer<typeof shown>> => {
    const { status, body } = await serve.get(`/api/runs/${run.run_id}/reclaim_preview`);
    expect([status, body]).toEqual([200, expect.anything()]);
    return shown.parse(body);
  };
  const reclaim = async (run: RunView): Promise<z.infer<typeof told>> =>
    told.parse(await door.call("run_archive", { run_id: run.run_id, reclaim: true }));
  const merge = (name: string, run: RunView): string => box.git(repoOf(name), "merge", "-q", run.repository.branch ?? "");

  /** Everything that a look could have changed: the record, the tree, and every object and ref of the repository. */
  async function facts(name: string, run: RunView) {
    const objects = box.git(repoOf(name), "cat-file", "--batch-all-objects", "--batch-check");
    const refs = box.git(repoOf(name), "for-each-ref");
    const events = (await home.events(run)).map((event) => event.seq);
    return { ...untouchables(box, run.workspace.path), objects, refs, events, tree: manifest(run.workspace.path) };
  }

  /** Looks, reclaims and compares. */
  async function shownIsDone(name: string, run: RunView): Promise<z.infer<typeof shown>> {
    const before = await facts(name, run);
    const preview = await look(run);
    expect(await facts(name, run)).toEqual(before);
    const done = await reclaim(run);
    expect(told.parse(preview)).toEqual(done);
    expect([name, existsSync(run.workspace.path)]).toEqual([
      name,
      preview.frees !== true || run.workspace["kind"] === "in_place",
    ]);
    return preview;
  }

  test("shows what goes and what stays, with the bytes, and that is what happens", async () => {
    const merged = await home.ended("merged", [COMMITTED, [verdict("done")]]);
    merge("merged", merged);
    const preview = await shownIsDone("merged", merged);
    expect(preview).toMatchObject({ frees: true, archived: false });
    expect(preview.freed_bytes).toBeGreaterThan(4096);
    const { happens, undoes, cannot_undo, conflicts } = preview.consequences;
    expect(happens[0]).toMatch(new RegExp(`${merged.run_id}.*is archived, and its workspace is freed`, "u"));
    expect(happens.join("\n")).toMatch(/of this disk are freed.*Goes: worktree .*Goes: the agent's own files.*stay readable/su);
    expect(cannot_undo.join("\n")).toMatch(/does not come back.*cannot be resumed/su);
    expect([undoes, conflicts]).toEqual([[], []]);

    const again = await look(merged);
    expect(again).toMatchObject({ frees: false, archived: true, freed: [], kept: [], freed_bytes: 0, kept_bytes: 0 });
    expect(again.consequences.happens.join("\n")).toMatch(/nothing is left to free/u);
    expect(await door.call("run_archive", { run_id: merged.run_id, reclaim: true })).toMatchObject({ freed: [], kept: [] });
  });

  test("names what stays beside what goes: a conversation that somebody went on with, and states that exist nowhere else", async () => {
    const run = await home.ended("pushed", [[edit("draft")], [{ run: "rm draft" }, ...COMMITTED, verdict("blocked")]]);
    box.git(box.dir, "init", "-q", "--bare", join(box.dir, "remote.git"));
    box.git(repoOf("pushed"), "remote", "add", "origin", join(box.dir, "remote.git"));
    box.git(repoOf("pushed"), "push", "-q", "origin", run.repository.branch ?? "");
    const folder = join(box.dir, "scripted");
    const [conversation = ""] = readdirSync(folder)
      .map((name) => join(folder, name))
      .filter((path) => readFileSync(path, "utf8").includes(run.workspace.path));
    appendFileSync(conversation, "\n");
    const preview = await shownIsDone("pushed", run);
    expect(preview.kept.join("\n")).toMatch(/somebody went on with the conversation.*states between commits/su);
    expect(existsSync(conversation)).toBe(true);
  });

  test.for([
    ["uncommitted", [edit("only-here"), verdict("done")], /not committed: only-here/u],
    ["unpushed", [...COMMITTED, verdict("done")], /neither pushed nor merged.*Add n/u],
    [
      "ignored",
      [{ run: "echo out/ > .gitignore" }, { commit: "Ignore" }, { run: "mkdir out && echo x > out/x" }, verdict("done")],
      /ignored files that exist nowhere else: out/u,
    ],
  ] as const)("of a run with something %s says that all of it stays, and why", async ([name, turns, why]) => {
    const run = await home.ended(name, [turns]);
    if (name === "ignored") merge(name, run);
    const preview = await shownIsDone(name, run);
    expect(preview).toMatchObject({ frees: false, freed: [], freed_bytes: 0, passing: false });
    expect(preview.kept.join("\n")).toMatch(why);
    expect(preview.consequences.cannot_undo).toEqual([]);
    expect(preview.consequences.happens.join("\n")).toMatch(/nothing of it is freed/u);
  });

  test("of a worktree that its owner locked says so, and of one that git works in that this passes", async () => {
    const run = await home.ended("locked", [[...COMMITTED, verdict("done")]]);
    merge("locked", run);
    box.git(repoOf("locked"), "worktree", "lock", run.workspace.path);
    expect((await shownIsDone("locked", run)).kept.join("\n")).toMatch(/it is locked/u);
    box.git(repoOf("locked"), "worktree", "unlock", run.workspace.path);
    const gitDir = box.git(run.workspace.path, "rev-parse", "--absolute-git-dir");
    appendFileSync(join(gitDir, "index.lock"), "");
    const preview = await look(run);
    expect(preview).toMatchObject({ frees: false, passing: true, archived: true });
    expect(preview.kept.join("\n")).toMatch(/index\.lock/u);
  });

  test("of a run in place says that its files are not the run's to free", async () => {
    const run = await home.ended("in-place", [[...COMMITTED, verdict("done")]], { workspace: "in_place", permissions: "all" });
    box.git(repoOf("in-place"), "branch", "other");
    const preview = await shownIsDone("in-place", run);
    expect(preview.frees).toBe(true);
    expect(preview.consequences.happens[0]).toMatch(/is archived, and its agent's files are freed/u);
    expect(preview.kept.join("\n")).toMatch(/the repository's own working tree/u);
  });

  test("of a run on another host says where to call", async () => {
    const run = await home.ended("away", [[...COMMITTED, verdict("done")]]);
    const record = await home.store.run(run.run_id, "local");
    if (record === null) throw new Error("no record");
    await home.age(run, 0, { settings: { ...record.settings, host: "elsewhere" } });
    const preview = await shownIsDone("away", run);
    expect(preview.kept).toEqual([expect.stringContaining("on host elsewhere; call it there")]);
  });

  test("of a live run is refused by the tool's own word", async () => {
    const agent = product.agent("live", [[{ hang: true }]]);
    const { run_id } = await door.start({ repo: box.repo("live"), objective: "live", agent });
    const { status, body } = await serve.get(`/api/runs/${run_id}/reclaim_preview`);
    expect([status, body["refusal"]]).toEqual([409, "live"]);
    expect(await refusalOf(door.call("run_archive", { run_id, reclaim: true }))).toMatch(/^not_allowed: live: /u);
    await door.call("run_stop", { run_id });
    await door.ended(run_id);
  });
});
