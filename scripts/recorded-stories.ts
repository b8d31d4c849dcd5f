import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Answer, Door, Product, RunView } from "../test/support/product.ts";

/** What recorded runs went through. Each story plays one run in the repository `repo` and answers its id. */
type Story = (product: Product, door: Door) => Promise<string>;

const report = (verdict?: string) => ({
  report: {
    completed: ["a part"],
    intended: [],
    summary: verdict ?? "on the way",
    ...(verdict === undefined ? {} : { verdict }),
  },
});
const edit = (path: string) => ({ edit: { path, content: `${path}\n` } });

async function start(
  product: Product,
  door: Door,
  name: string,
  stopsAs: string,
  turns: readonly unknown[],
  args: Readonly<Record<string, unknown>> = {},
): Promise<RunView> {
  const repo = existsSync(join(product.box.dir, "repo")) ? join(product.box.dir, "repo") : product.box.repo("repo");
  const agent = product.agent(name, turns);
  const { run_id } = await door.start({ repo, objective: `Story ${name}`, agent, brief: "none", ...args });
  return endsAs(door, run_id, stopsAs);
}

/** A story that went another way is no record of what it is named for. */
async function endsAs(door: Door, runId: string, reason: string): Promise<RunView> {
  const run = await door.ended(runId);
  if (run.stop_reason !== reason)
    throw new Error(`run ${runId} stopped as ${run.stop_reason}, not ${reason}: ${run.stop?.headline}`);
  return run;
}

async function confirmed(door: Door, tool: string, args: Readonly<Record<string, unknown>>): Promise<Answer> {
  const preview = await door.call(tool, args);
  return door.call(tool, { ...args, confirm_token: preview.confirm_token });
}

export const STORIES: Readonly<Record<string, Story>> = {
  done: async (product, door) => {
    const plan = { plan: [{ content: "do it", status: "in_progress" }] };
    const turns = [
      [plan, { say: "I begin." }, edit("one.txt"), report()],
      [{ commit: "Add one" }, edit("two.txt"), report("done")],
    ];
    const args = { verify: ["test -f two.txt"], instructions: "Write two files.", on_done: "commit" };
    const { run_id } = await start(product, door, "done", "done", turns, args);
    return run_id;
  },
  "ceiling-granted-resumed": async (product, door) => {
    const turns = [[edit("a.txt")], [edit("b.txt")], [edit("c.txt")], [report("done")]];
    const { run_id } = await start(product, door, "ceiling", "max_iterations", turns, { max_iterations: 2 });
    await door.call("run_grant_iterations", { run_id, iterations: 2, continue: false });
    await door.call("run_instruct", { run_id, instructions: "Mind the tests." });
    await door.call("run_resume", { run_id });
    await endsAs(door, run_id, "done");
    return run_id;
  },
  "failed-redone": async (product, door) => {
    const turns = [
      { when: "THIS STEP (first", do: [edit("first.txt"), report("done")] },
      { when: "Try again", do: [edit("second.txt"), report("done")] },
      { when: "THIS STEP (second", do: [edit("bad.txt"), report("blocked")] },
      { when: "THIS STEP (third", do: [edit("third.txt"), report("done")] },
    ];
    const steps = [
      { step: "first", objective: "first" },
      { step: "second", objective: "second", needs: ["first"] },
      { step: "third", objective: "third", needs: ["second"] },
    ];
    const { run_id } = await start(product, door, "steps", "failed", turns, { steps });
    await confirmed(door, "run_redo", { run_id, step: "second", instructions: "Try again" });
    await endsAs(door, run_id, "done");
    return run_id;
  },
  reset: async (product, door) => {
    const { run_id } = await start(product, door, "reset", "max_iterations", [[edit("x.txt"), { run: "rm a.txt" }]], {
      max_iterations: 1,
    });
    await confirmed(door, "run_reset", { run_id });
    return run_id;
  },
  "escalated-permitted": async (product, door) => {
    const asks = { run: { command: "touch made", ask: true } };
    const turns = [[asks], [asks, report("done")]];
    const { run_id } = await start(product, door, "permission", "escalated", turns, { permissions: "edits" });
    await door.call("run_resume", { run_id, permission: "allow_once" });
    await endsAs(door, run_id, "done");
    return run_id;
  },
  reclaimed: async (product, door) => {
    const turns = [[edit("kept.txt"), { commit: "Add kept" }, report("done")]];
    const { run_id, repository } = await start(product, door, "reclaimed", "done", turns);
    product.box.git(join(product.box.dir, "repo"), "merge", "-q", repository.branch ?? "");
    await door.call("run_archive", { run_id, reclaim: true });
    return run_id;
  },
  /** Last, and left as it is: later versions go on with it. */
  stopped: async (product, door) => {
    const { run_id } = await start(product, door, "left", "max_iterations", [[edit("left.txt")], [report("done")]], {
      max_iterations: 1,
    });
    return run_id;
  },
};
