import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Bundled } from "../../src/checkpoint/bundles.ts";
import { createCheckpoints } from "../../src/checkpoint/create.ts";
import { makeSandbox, read, write } from "../support/repos.ts";

/** Checkpoints on their way from one clone to another, by a bundle file. */

const box = makeSandbox();
afterAll(() => box.remove());
const checkpoints = createCheckpoints({ env: box.env, home: box.home });
const RUN = "run_bundle";
let count = 0;

interface Sent {
  readonly file: string;
  readonly bundled: Bundled;
  readonly clone: string;
  /** As the checkpoint is in the bundle. */
  readonly commit: string;
}

/** A clone with an unpushed commit and uncommitted work, captured and bundled; `prepare` changes it before. */
async function sent(
  prepare: (top: string, remote: string) => void = () => {},
  maxBytes = 2 ** 26,
): Promise<Sent & { remote: string }> {
  count += 1;
  const seed = box.repo(`seed-${count}`);
  const remote = join(box.dir, `remote-${count}.git`);
  box.git(seed, "clone", "-q", "--bare", seed, remote);
  const clone = join(box.dir, `from-${count}`);
  box.git(box.dir, "clone", "-q", remote, clone);
  prepare(clone, remote);
  box.git(clone, "checkout", "-qb", "work");
  write(clone, "a.txt", "committed\n");
  box.git(clone, "commit", "-qam", "Not pushed");
  write(clone, "b.txt", "uncommitted\n");
  write(clone, "staged/id_ed25519", "k\n");
  box.git(clone, "add", "staged");
  const repo = await checkpoints.discover(clone);
  const captured = await checkpoints.capture(repo, { run_id: RUN, id: "cp_one", kind: "stop" });
  const file = join(box.dir, `bundle-${count}`);
  const bundled = await checkpoints.bundle(repo, {
    run_id: RUN,
    checkpoints: [{ id: "cp_one", commit: captured.commit }],
    branch: "work",
    base: null,
    thin: false,
    max_bytes: maxBytes,
    file,
  });
  return { file, bundled, clone, remote, commit: bundled.checkpoints[0]?.commit ?? "" };
}

function otherClone(remote: string): string {
  const other = join(box.dir, `to-${count}`);
  box.git(box.dir, "clone", "-q", remote, other);
  return other;
}

async function receive(top: string, { file }: Sent, fetch = false): Promise<void> {
  await checkpoints.unbundle(await checkpoints.discover(top), { run_id: RUN, file, branch: "work", fetch });
}

const refsOf = (top: string): string => box.git(top, "for-each-ref", "--format=%(refname)", "refs/loopkeeper", "refs/heads/work");

test("a bundle holds only what the remote lacks, and brings checkpoint and branch into another clone", async () => {
  const one = await sent();
  expect(one.bundled).toMatchObject({ too_big: false, needs: null, checkpoints: [{ left_out: ["staged/id_ed25519"] }] });
  expect(statSync(one.file).size).toBeLessThan(5_000);
  expect(refsOf(one.clone)).toBe(`refs/heads/work\nrefs/loopkeeper/runs/${RUN}/cp_one`);
  const other = otherClone(one.remote);
  await receive(other, one);
  await receive(other, one);
  expect(refsOf(other)).toBe(`refs/heads/work\nrefs/loopkeeper/runs/${RUN}/cp_one`);
  expect(box.git(other, "show", `refs/loopkeeper/runs/${RUN}/cp_one:b.txt`)).toBe("uncommitted");
  expect(box.git(other, "log", "-1", "--format=%s", "work")).toBe("Not pushed");
  expect(box.git(other, "status", "--porcelain")).toBe("");
});

test("files that look like secrets and are in no commit stay behind, staged or not; what only looks so by its folder goes along", async () => {
  const one = await sent((top) => {
    write(top, ".env", "TOKEN=1\n");
    write(top, "deep/server.pem", "x\n");
    write(top, "key.txt", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n");
    write(top, ".env.example", "TOKEN=\n");
    write(top, "secrets/readme.md", "how to\n");
  });
  const [entry] = one.bundled.checkpoints;
  expect(entry?.left_out).toEqual([".env", "deep/server.pem", "key.txt", "staged/id_ed25519"]);
  expect(entry?.commit).not.toBe(box.git(one.clone, "rev-parse", `refs/loopkeeper/runs/${RUN}/cp_one`));
  const other = otherClone(one.remote);
  await receive(other, one);
  const names = box.git(other, "ls-tree", "-r", "--name-only", `refs/loopkeeper/runs/${RUN}/cp_one`).split("\n");
  expect(names).toEqual(expect.arrayContaining([".env.example", "secrets/readme.md", "b.txt"]));
  expect(names).not.toEqual(expect.arrayContaining([".env"]));
  expect(box.tryGit(other, "cat-file", "-e", box.git(one.clone, "hash-object", "key.txt"))).toBeNull();
  const here = await checkpoints.discover(other);
  expect(await checkpoints.isPresent(here, entry?.commit ?? "")).toBe(true);
});

test("commits that the clone lacks are fetched from its remote when that is allowed, else the command is told", async () => {
  const before = await sent();
  const other = otherClone(before.remote);
  const one = await sent((top, remote) => {
    write(top, "c.txt", "pushed after the other was cloned\n");
    box.git(top, "commit", "-qam", "Pushed");
    box.git(top, "push", "-q", "origin", "HEAD");
    box.git(other, "remote", "set-url", "origin", remote);
    box.git(other, "config", "core.sshCommand", `touch ${box.dir}/ran`);
  });
  await expect(receive(other, one, false)).rejects.toMatchObject({
    code: "repository_problem",
    message: expect.stringMatching(/git -C .* fetch origin [0-9a-f]{40}/u),
  });
  expect(refsOf(other)).toBe("");
  const tracking = box.git(other, "rev-parse", "refs/remotes/origin/main");
  await receive(other, one, true);
  expect(refsOf(other)).toBe(`refs/heads/work\nrefs/loopkeeper/runs/${RUN}/cp_one`);
  expect(box.git(other, "rev-parse", "refs/remotes/origin/main")).toBe(tracking);
  expect(existsSync(join(other, ".git/FETCH_HEAD"))).toBe(false);
});

test("what is there under the same names keeps its bytes: an own checkpoint under a kept ref, a branch that went elsewhere", async () => {
  const one = await sent();
  const other = otherClone(one.remote);
  box.git(other, "checkout", "-qb", "work");
  write(other, "f.txt", "of the other clone\n");
  box.git(other, "commit", "-qam", "Elsewhere");
  const own = box.git(other, "rev-parse", "HEAD");
  box.git(other, "update-ref", `refs/loopkeeper/runs/${RUN}/cp_one`, own);
  await receive(other, one);
  expect(box.git(other, "rev-parse", "work")).toBe(own);
  expect(box.git(other, "rev-parse", `refs/loopkeeper/kept/${own}`)).toBe(own);
  expect(box.git(other, "rev-parse", `refs/loopkeeper/runs/${RUN}/cp_one`)).toBe(one.commit);
  expect(read(other, "f.txt")).toBe("of the other clone\n");
});

test("a bundle over the limit is not written, and a damaged one is refused without a trace", async () => {
  const big = await sent(
    (top) => write(top, "big.bin", Buffer.from(Array.from({ length: 200_000 }, (_, n) => (n * 7919) % 251))),
    10,
  );
  expect(big.bundled).toMatchObject({ too_big: true });
  expect(existsSync(big.file)).toBe(false);
  const one = await sent();
  write(box.dir, "torn", readFileSync(one.file).subarray(0, statSync(one.file).size - 40));
  const other = otherClone(one.remote);
  await expect(receive(other, { ...one, file: join(box.dir, "torn") })).rejects.toMatchObject({ code: "repository_problem" });
  expect(refsOf(other)).toBe("");
});
