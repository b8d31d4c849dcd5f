import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Door, newProduct, type RunView, refusalOf } from "../support/product.ts";

const diffSchema = z.looseObject({
  summary: z.string(),
  total_files: z.number(),
  added: z.number(),
  removed: z.number(),
  files: z.array(
    z.looseObject({
      path: z.string(),
      from_path: z.string().nullable(),
      status: z.string(),
      binary: z.boolean(),
      mode: z.string().nullable(),
    }),
  ),
  patch: z.string(),
  next_cursor: z.string().nullable(),
});
type Diff = z.infer<typeof diffSchema>;

const product = await newProduct();
let door: Door;
let repo: string;
let run: RunView;
let tree: string;

async function diff(args: Readonly<Record<string, unknown>> = {}, of: RunView = run): Promise<Diff> {
  const answer = await door.call("run_diff", { run_id: of.run_id, ...args });
  expect(JSON.stringify(answer).length).toBeLessThan(8_400);
  return diffSchema.parse(answer);
}

async function whole(
  args: Readonly<Record<string, unknown>> = {},
): Promise<{ files: Diff["files"]; patch: string; pages: number }> {
  const files: Diff["files"] = [];
  let patch = "";
  let pages = 0;
  for (let cursor: string | null | undefined = undefined; cursor !== null; ) {
    const page: Diff = await diff(cursor === undefined ? args : { ...args, cursor });
    files.push(...page.files);
    patch += page.patch;
    pages += 1;
    cursor = page.next_cursor;
  }
  return { files, patch, pages };
}

/** What an agent does to files, as one shell command. */
const WORK = String.raw`
git mv old-name.txt new-name.txt
chmod +x script.sh
printf 'a\0b' > data.bin
printf 'caf\351 latin\n' > latin.txt
printf 'odd\n' > "$(printf 'odd\377name.txt')"
rm gone.txt
ln -s script.sh link
seq 1 700 | sed 's/$/ of a long file that changes much/' > many.txt
mkdir -p deep/er && for i in $(seq 1 60); do echo "$i" > "deep/er/file-$i.txt"; done
head -c 20000 /dev/zero | tr '\0' x > one-line.txt
`;

beforeAll(async () => {
  repo = product.box.repo("differences");
  writeFileSync(join(repo, "old-name.txt"), Array.from({ length: 30 }, (_, line) => `renamed line ${line}\n`).join(""));
  writeFileSync(join(repo, "script.sh"), "#!/bin/sh\n");
  writeFileSync(join(repo, "gone.txt"), "going\n");
  writeFileSync(join(repo, ".gitattributes"), "*.txt diff=evil\n");
  product.box.git(repo, "add", "-A");
  product.box.git(repo, "commit", "-q", "-m", "files");
  // What a hostile repository would have run by a careless diff.
  const evil = join(product.box.dir, "evil.sh");
  writeFileSync(evil, `#!/bin/sh\ntouch ${join(product.box.dir, "EVIL")}\n`);
  chmodSync(evil, 0o755);
  for (const [name, value] of [
    ["diff.external", evil],
    ["diff.evil.command", evil],
    ["diff.evil.textconv", evil],
    ["diff.noprefix", "true"],
  ] as const)
    product.box.git(repo, "config", name, value);
  const agent = product.agent("worker", [[{ run: WORK }], [{ edit: { path: "second.txt", content: "second iteration\n" } }]]);
  door = await product.connect();
  run = await door.start({ repo, objective: "Change much", agent, max_iterations: 2 });
  run = await door.ended(run.run_id);
  tree = run.workspace.path;
});

describe("run_diff", () => {
  test("shows what the run changed from its base to its latest checkpoint, in pages that join to git's own patch", async () => {
    const all = await whole();
    expect(all.pages).toBeGreaterThan(5);
    const byPath = new Map(all.files.map((file) => [file.path, file]));
    expect(byPath.get("new-name.txt")).toMatchObject({ status: "renamed", from_path: "old-name.txt" });
    expect(byPath.get("script.sh")).toMatchObject({ status: "modified", mode: "100644 -> 100755" });
    expect(byPath.get("data.bin")).toMatchObject({ status: "added", binary: true });
    expect(byPath.get("gone.txt")).toMatchObject({ status: "deleted" });
    expect(byPath.get(String.raw`odd\xffname.txt`)).toMatchObject({ status: "added" });
    expect(byPath.get("link")).toMatchObject({ status: "added" });
    expect(all.files.filter((file) => file.path.startsWith("deep/er/"))).toHaveLength(60);
    expect(new Set(all.files.map((file) => file.path)).size).toBe(all.files.length);
    expect(all.patch).toContain(String.raw`+caf\xe9 latin`);
    expect(all.patch).toContain("+700 of a long file");
    expect(all.patch).toContain("diff --git a/old-name.txt b/new-name.txt");
    expect(all.patch.match(/^\+x{20000}$/mu)).not.toBeNull();
    expect(all.patch.match(/^diff --git /gmu)?.length).toBe(all.files.length);
  });

  test("runs nothing that the repository names", async () => {
    await whole({ path: "deep" });
    expect(() => renameSync(join(product.box.dir, "EVIL"), join(product.box.dir, "EVIL2"))).toThrow(/ENOENT/u);
  });

  test("compares any two of base, stop, now and checkpoints", async () => {
    const explained = await door.call("run_explain_stop", { run_id: run.run_id });
    const ends = explained.explanation?.checkpoints ?? [];
    const [first, second] = ends.filter((one) => one.kind === "iteration").toReversed();
    expect((await diff({ from: first?.id, to: second?.id })).files.map((file) => file.path)).toEqual(["second.txt"]);
    expect((await diff({ from: second?.id, to: first?.id })).files).toMatchObject([{ path: "second.txt", status: "deleted" }]);
    expect((await diff({ from: "stop", to: "now" })).total_files).toBe(0);
    writeFileSync(join(tree, "by-somebody.txt"), "later\n");
    expect((await diff({ from: "stop", to: "now" })).patch).toContain("+later");
    expect((await diff({ from: "base", to: "base" })).patch).toBe("");
  });

  test("looks at now without touching the index, the files or the refs", async () => {
    const look = (): string =>
      [product.box.git(tree, "status", "--porcelain=v2", "--untracked-files=all"), product.box.git(repo, "for-each-ref")].join(
        "\n",
      );
    product.box.git(tree, "add", "second.txt");
    const before = look();
    await diff({ to: "now" });
    expect(look()).toBe(before);
  });

  test("path narrows it to a file or a folder, odd names too, and leads out of nothing", async () => {
    expect((await diff({ path: "deep/" })).total_files).toBe(60);
    expect((await diff({ path: "./deep/er/file-7.txt" })).files.map((file) => file.path)).toEqual(["deep/er/file-7.txt"]);
    expect((await diff({ path: join(tree, "second.txt") })).total_files).toBe(1);
    expect((await diff({ path: String.raw`odd\xffname.txt` })).files).toMatchObject([{ path: String.raw`odd\xffname.txt` }]);
    expect((await diff({ path: "*.txt" })).total_files).toBe(0);
    expect(await refusalOf(diff({ path: "../outside" }))).toMatch(/^bad_input: path/u);
    expect(await refusalOf(diff({ path: "/etc/passwd" }))).toMatch(/^bad_input: path/u);
  });

  test("a later page shows what the first one compared, whatever moved since", async () => {
    const first = await diff({ from: "stop", to: "now", path: "by-somebody.txt" });
    expect(first.next_cursor).toBeNull();
    writeFileSync(join(tree, "by-somebody.txt"), Array.from({ length: 900 }, (_, line) => `was ${line}\n`).join(""));
    const page = await diff({ from: "stop", to: "now", path: "by-somebody.txt" });
    writeFileSync(join(tree, "by-somebody.txt"), "quite other\n");
    const next = await diff({ from: "stop", to: "now", path: "by-somebody.txt", cursor: page.next_cursor });
    expect(next.patch).toMatch(/^\+was \d+\n/u);
  });

  test("refuses what is no side and no cursor, with the valid ones", async () => {
    expect(await refusalOf(diff({ from: "yesterday" }))).toMatch(/^bad_input: "yesterday" is no checkpoint.*base, stop, now/u);
    expect(await refusalOf(diff({ cursor: "zzz" }))).toMatch(/^bad_input: cursor/u);
    expect(await refusalOf(diff({ cursor: `${"0".repeat(40)}.${"1".repeat(40)}.0.0` }))).toMatch(
      /^repository_problem: .*objects/u,
    );
  });

  test("works from its checkpoints when the worktree is gone; only now has nothing to look at", async () => {
    rmSync(tree, { recursive: true, force: true });
    expect((await diff({ path: "second.txt" })).patch).toContain("+second iteration");
    expect(await refusalOf(diff({ to: "now" }))).toMatch(/^repository_problem: .*gone.*stop/u);
    symlinkSync("/nowhere", tree);
    expect(await refusalOf(diff({ to: "now" }))).toMatch(/^repository_problem: /u);
  });

  test("a checkpoint whose objects are gone is a clear error, and the others still serve", async () => {
    const explained = await door.call("run_explain_stop", { run_id: run.run_id });
    const stop = explained.explanation?.uncommitted.checkpoint ?? "";
    for (const line of product.box.git(repo, "for-each-ref", "--format=%(refname)", "refs/loopkeeper").trim().split("\n"))
      product.box.git(repo, "update-ref", "-d", line);
    product.box.git(repo, "worktree", "prune");
    product.box.git(repo, "branch", "-D", run.repository.branch ?? "");
    product.box.git(repo, "reflog", "expire", "--expire=all", "--expire-unreachable=all", "--all");
    product.box.git(repo, "gc", "-q", "--prune=now");
    expect(await refusalOf(diff())).toMatch(/^repository_problem: .*objects of checkpoint cp_\w+ are gone/u);
    expect(await refusalOf(diff({ from: stop }))).toContain(stop);
    const after = await door.call("run_explain_stop", { run_id: run.run_id });
    expect(after.explanation?.checkpoints.map((one) => one.state)).not.toContain("present");
  });

  test("a repository that is gone is named with where it was", async () => {
    mkdirSync(join(product.box.dir, "moved"));
    renameSync(repo, join(product.box.dir, "moved", "differences"));
    expect(await refusalOf(diff())).toMatch(/^repository_problem: .*not at .*differences/u);
  });
});
