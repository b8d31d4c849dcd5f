import { expect, test } from "vitest";
import { sleep } from "../../src/run/clock.ts";
import { type Answer, type Door, newProduct, type RunView } from "../support/product.ts";
import { manifest, read } from "../support/repos.ts";

const product = await newProduct();
const { box } = product;

/** As many as make the writing take longer than a look at the tree. */
const FILES = 200;

test("a reset whose process is killed while it writes loses nothing: it can be finished, and its safety checkpoint brings all back", async () => {
  const repo = box.repo("crash");
  box.sh(repo, `mkdir d; for n in $(seq ${FILES}); do echo before > d/$n; done; git add .; git commit -qm files`);
  const agent = product.agent("crash", [
    [
      { run: `for n in $(seq ${FILES}); do echo run > d/$n; done; echo new > made; git add made` },
      { report: { completed: [], intended: [], verdict: "blocked", summary: "stop here" } },
    ],
  ]);
  let door = await product.connect();
  const run = await startAndEnd(door, repo, agent);
  const tree = run.workspace.path;
  const stopped = manifest(tree);
  const staged = box.git(tree, "diff", "--cached");

  const preview = await door.call("run_reset", { run_id: run.run_id });
  const broken = door.call("run_reset", { run_id: run.run_id, confirm_token: preview.confirm_token }).catch(() => null);
  while (read(tree, "made") !== null) await sleep(1);
  await product.killEverything();
  await broken;

  door = await product.connect();
  const { explanation } = await door.call("run_explain_stop", { run_id: run.run_id });
  const safety = explanation?.checkpoints.find((checkpoint) => checkpoint.kind === "reset");
  expect(safety).toMatchObject({ state: "present" });
  const done = await reset(door, run, {});
  expect(done.reset?.kept).toEqual([]);
  expect(new Set(Object.values(manifest(tree)))).toEqual(new Set(Object.values(manifest(repo))));
  await reset(door, run, { to: safety?.id });
  expect(manifest(tree)).toEqual(stopped);
  expect(box.git(tree, "diff", "--cached")).toBe(staged);
});

async function startAndEnd(door: Door, repo: string, agent: string): Promise<RunView> {
  const { run_id } = await door.start({ repo, objective: "crash", agent });
  return door.ended(run_id);
}

async function reset(door: Door, { run_id }: RunView, args: Readonly<Record<string, unknown>>): Promise<Answer> {
  const preview = await door.call("run_reset", { run_id, ...args });
  expect(preview.consequences?.conflicts).toEqual([]);
  return door.call("run_reset", { run_id, confirm_token: preview.confirm_token });
}
