import { chmodSync, mkdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { newProduct, type Product } from "../support/product.ts";
import { write } from "../support/repos.ts";

/** A git that writes a line for each time it is started, and then is git. */
function countedGit({ box }: Product): { readonly path: string; count(): number } {
  const bin = join(box.dir, "bin");
  const log = join(box.dir, "git-calls");
  mkdirSync(bin);
  write(bin, "git", `#!/bin/sh\necho x >> '${log}'\nexec ${box.sh(box.dir, "command -v git")} "$@"\n`);
  chmodSync(join(bin, "git"), 0o755);
  write(box.dir, "git-calls", "");
  return { path: `${bin}${delimiter}${box.env["PATH"] ?? ""}`, count: () => readFileSync(log, "utf8").split("\n").length - 1 };
}

/** Processes are most of what Loopkeeper costs beside an agent: each of these grew once without anybody noticing. */
test("a start, an iteration, a stop, an explanation and a resume start no more git processes than they need", async () => {
  const product = await newProduct();
  const git = countedGit(product);
  const repo = product.box.repo();
  const agent = product.agent("edits", [
    [{ edit: { path: "a.txt", content: "1\n" } }, { report: { completed: ["1"], intended: ["2"] } }],
    [{ edit: { path: "a.txt", content: "2\n" } }, { report: { completed: ["2"], intended: ["3"] } }],
    [{ edit: { path: "a.txt", content: "3\n" } }, { report: { completed: ["3"], intended: ["4"] } }],
    [{ edit: { path: "a.txt", content: "4\n" } }, { report: { completed: ["4"], intended: ["5"] } }],
    [{ report: { completed: ["5"], intended: ["6"] } }],
    [{ report: { completed: ["6"], intended: ["7"] } }],
    [{ report: { completed: ["7"], intended: ["8"] } }],
  ]);
  const door = await product.connect({ PATH: git.path });
  let seen = 0;
  const since = (): number => {
    const before = seen;
    seen = git.count();
    return seen - before;
  };
  const { run_id } = await door.start({ repo, objective: "Count", agent, max_iterations: 1 });
  const resumed = async (iterations: number): Promise<number> => {
    await door.call("run_resume", { run_id, add_iterations: iterations });
    expect(await door.ended(run_id)).toMatchObject({ stop_reason: "max_iterations" });
    return since();
  };
  expect(await door.ended(run_id)).toMatchObject({ stop_reason: "max_iterations" });
  expect(since(), "start, entry checkpoint, one iteration, stop").toBeLessThanOrEqual(54);
  await door.call("run_explain_stop", { run_id });
  since();
  await door.call("run_explain_stop", { run_id });
  expect(since(), "explanation").toBeLessThanOrEqual(6);
  const one = await resumed(1);
  expect(one, "resume, one iteration with changes, stop").toBeLessThanOrEqual(44);
  expect((await resumed(2)) - one, "one iteration with changes").toBeLessThanOrEqual(16);
  const idle = await resumed(1);
  expect((await resumed(2)) - idle, "one iteration without changes").toBeLessThanOrEqual(4);
});
