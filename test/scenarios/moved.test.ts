import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { newDatabase } from "../support/postgres.ts";
import { type Door, newProduct, type Product, refusalOf } from "../support/product.ts";
import { read } from "../support/repos.ts";

/** A run stopped in one home and clone goes on in another one, with nothing in common but the database and the remote. */

const DONE = { report: { completed: [], intended: [], verdict: "done" } };
const key = randomBytes(32).toString("base64");
const PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----\n";

/** What the agent leaves behind: a commit that nobody pushed, an edit, a new file, and two secrets. */
const WORK = [
  { say: "WORDS-OF-A" },
  { edit: { path: "a.txt", content: "committed by the run\n" } },
  { commit: "Work of the run" },
  { edit: { path: "b.txt", content: "edited by the run\n" } },
  { edit: { path: "new/file.txt", content: "new\n" } },
  { edit: { path: ".env", content: "TOKEN=abc\n" } },
  { edit: { path: "deploy-key", content: PEM } },
];

interface Machine {
  readonly product: Product;
  readonly door: Door;
  readonly clone: string;
}

/** Both machines see one database; the bare remote lies in the folder of the first. */
async function twoMachines(
  name: string,
  keys: { readonly a: string | undefined; readonly b: string | undefined },
  turns: readonly unknown[],
) {
  const url = await newDatabase(inject("postgresHome"));
  const [a, b] = [await newProduct("sqlite"), await newProduct("sqlite")];
  const remote = join(b.box.dir, `${name}.git`);
  const seed = a.box.repo(`seed-${name}`);
  a.box.git(seed, "clone", "-q", "--bare", seed, remote);
  const machine = async (product: Product, own: string | undefined): Promise<Machine> => {
    product.agent("agent", turns);
    const clone = join(product.box.dir, name);
    product.box.git(product.box.dir, "clone", "-q", remote, clone);
    const door = await product.connect(
      { LOOPKEEPER_DATABASE_URL: url, ...(own === undefined ? {} : { LOOPKEEPER_KEY: own }) },
      clone,
    );
    return { product, door, clone };
  };
  return { a: await machine(a, keys.a), b: await machine(b, keys.b), remote };
}

/** Everything of the first machine that could help the second. */
async function destroy({ product, clone }: Machine): Promise<void> {
  await product.killEverything();
  rmSync(product.home, { recursive: true, force: true });
  rmSync(clone, { recursive: true, force: true });
  rmSync(join(product.box.dir, "scripted"), { recursive: true, force: true });
}

describe.concurrent("a run that moves to another machine", () => {
  test("is explained without a clone, and goes on with conversation, branch, commit and uncommitted files", async () => {
    const { a, b } = await twoMachines("moves", { a: key, b: key }, [WORK, [{ recall: true }, DONE]]);
    writeFileSync(join(a.clone, ".git/info/exclude"), "local.conf\n");
    writeFileSync(join(b.clone, ".git/info/exclude"), "local.conf\n");
    writeFileSync(join(b.clone, "local.conf"), "of B\n");
    const { run_id } = await a.door.start({
      repo: a.clone,
      objective: "OBJECTIVE-OF-A",
      agent: "agent",
      max_iterations: 1,
      setup: ["echo set-up >> setup.log", 'echo setup.log >> "$(git rev-parse --git-common-dir)/info/exclude"'],
      copy_ignored: ["local.conf"],
    });
    const stopped = await a.door.ended(run_id);
    expect(stopped).toMatchObject({ stop_reason: "max_iterations" });
    const explainedHere = (await a.door.call("run_explain_stop", { run_id })).explanation;
    expect(explainedHere).toMatchObject({
      context: { engine_session: "available", gaps: [expect.stringMatching(/secrets: \.env, deploy-key/u)] },
    });
    const packed = readFileSync(join(a.clone, ".git/packed-refs"), "utf8");
    expect(packed).toContain(`refs/loopkeeper/runs/${run_id}/`);
    await destroy(a);

    const { explanation } = await b.door.call("run_explain_stop", { run_id });
    expect(explanation).toMatchObject({
      uncommitted: { total_files: 4 },
      drift: { workspace_missing: true, head_moved: null },
      context: { engine_session: "portable_copy" },
    });
    expect(await refusalOf(b.door.call("run_resume", { run_id, add_iterations: 1, repo: b.product.box.repo("other") }))).toMatch(
      /^repository_problem: .*another one/u,
    );
    await b.door.call("run_resume", { run_id, add_iterations: 1, repo: b.clone, instructions: "GO ON" });
    const ended = await b.door.ended(run_id);
    expect(ended).toMatchObject({ state: "done" });
    expect(await b.door.call("run_status", { run_id })).toMatchObject({ context: "native" });
    const tree = ended.workspace.path;
    expect(tree.startsWith(b.product.home)).toBe(true);
    const { git } = b.product.box;
    expect(git(tree, "branch", "--show-current")).toBe(ended.repository.branch);
    expect(git(tree, "log", "-1", "--format=%s")).toBe("Work of the run");
    expect([read(tree, "a.txt"), read(tree, "b.txt"), read(tree, "new/file.txt")]).toEqual([
      "committed by the run\n",
      "edited by the run\n",
      "new\n",
    ]);
    expect([read(tree, ".env"), read(tree, "deploy-key")]).toEqual([null, null]);
    expect([read(tree, "setup.log"), read(tree, "local.conf")]).toEqual(["set-up\n", "of B\n"]);
    expect(git(b.clone, "status", "--porcelain")).toBe("");
    const sessions = join(b.product.box.dir, "scripted");
    expect(sessionIn(sessions)).toMatch(/OBJECTIVE-OF-A[\s\S]*GO ON/u);
  });

  test("whose driver was killed with its machine goes on from its last iteration", async () => {
    const { a, b } = await twoMachines("crash", { a: key, b: key }, [WORK, [{ run: "touch inside" }, { hang: true }]]);
    // The copy is that of the last finished iteration: the turn that was cut off is played again.
    b.product.agent("agent", [WORK, [{ recall: true }, DONE]]);
    const { run_id, workspace } = await a.door.start({ repo: a.clone, objective: "O", agent: "agent", max_iterations: 4 });
    while (!existsSync(join(workspace.path, "inside"))) await new Promise((resolve) => setTimeout(resolve, 100));
    await destroy(a);
    expect(await b.door.ended(run_id)).toMatchObject({ stop_reason: "interrupted", iteration: 1 });
    const { explanation } = await b.door.call("run_explain_stop", { run_id });
    expect(explanation).toMatchObject({
      cause: { source: "recovery" },
      uncommitted: { total_files: 4, truncated: true },
      context: { engine_session: "portable_copy" },
    });
    expect(JSON.stringify(explanation)).toContain("is not here to be looked at");
    // Without `repo`, the caller's own folder is looked at.
    await b.door.call("run_resume", { run_id });
    const ended = await b.door.ended(run_id);
    expect(ended).toMatchObject({ state: "done" });
    expect(await b.door.call("run_status", { run_id })).toMatchObject({ context: "native" });
    expect(read(ended.workspace.path, "b.txt")).toBe("edited by the run\n");
    expect(b.product.box.git(ended.workspace.path, "log", "-1", "--format=%s")).toBe("Work of the run");
  });

  test.each([
    ["another key", { a: key, b: randomBytes(32).toString("hex") }, /another LOOPKEEPER_KEY/u],
    ["no key on either", { a: undefined, b: undefined }, /LOOPKEEPER_KEY is not set/u],
  ])("with %s goes on by hand-off from what was pushed, and says what is missing and why", async (what, keys, why) => {
    const push = { run: "git push -q origin HEAD" };
    const { a, b } = await twoMachines(what.replaceAll(" ", "-"), keys, [[...WORK.slice(0, 3), push, ...WORK.slice(3)], [DONE]]);
    const started = await a.door.call("coding_loop_start", { repo: a.clone, objective: "O", agent: "agent", max_iterations: 1 });
    const run_id = String(started.run?.run_id);
    const warned = /LOOPKEEPER_KEY is not set/u.test(JSON.stringify([started, await a.door.call("run_status", { run_id })]));
    expect(warned).toBe(keys.a === undefined);
    await a.door.ended(run_id);
    await destroy(a);
    b.product.agent("agent", [[DONE]]);

    const { explanation } = await b.door.call("run_explain_stop", { run_id });
    expect(explanation).toMatchObject({ context: { engine_session: "lost" } });
    expect(JSON.stringify(explanation)).toMatch(why);
    // Looking at remotes is off here: what was pushed has to be fetched by hand.
    b.product.box.git(b.clone, "fetch", "-q");
    const { resumed } = await b.door.call("run_resume", { run_id, add_iterations: 1, repo: b.clone });
    expect(resumed).toMatchObject({ why_handoff: expect.stringMatching(why) });
    expect(resumed?.note).toContain("4 uncommitted files");
    const ended = await b.door.ended(run_id);
    expect(ended).toMatchObject({ state: "done" });
    expect(await b.door.call("run_status", { run_id })).toMatchObject({ context: "handoff" });
    expect(b.product.box.git(ended.workspace.path, "log", "-1", "--format=%s")).toBe("Work of the run");
  });
});

function sessionIn(folder: string): string {
  const [file = ""] = readdirSync(folder);
  return readFileSync(join(folder, file), "utf8");
}
