import type {
  Captured,
  Checkpoints,
  HeadMove,
  OwnedPath,
  Repository,
  RestorePlan,
  RestoreResult,
} from "../../src/checkpoint/checkpoint.ts";
import { createCheckpoints } from "../../src/checkpoint/create.ts";
import { makeSandbox, type Sandbox } from "../support/repos.ts";

export interface Ask {
  readonly only?: readonly string[];
  readonly overwrite?: readonly string[];
  readonly head?: HeadMove;
}

/** A sandbox with the calls that a reset makes: capture, plan from one checkpoint back to another, apply. */
export function makeRestoring() {
  const box: Sandbox = makeSandbox();
  const checkpoints: Checkpoints = createCheckpoints({ env: box.env, home: box.home });
  let count = 0;

  async function capture(top: string): Promise<Captured> {
    count += 1;
    return checkpoints.capture(await checkpoints.discover(top), { run_id: "run_t", id: `cp_${count}`, kind: "iteration" });
  }

  async function planBack(top: string, target: Captured, last: Captured, ask: Ask = {}) {
    const repo = await checkpoints.discover(top);
    const changes = await checkpoints.changedPaths(repo, target.tree, last.tree);
    const paths = changes
      .filter((change) => ask.only === undefined || ask.only.includes(change.path))
      .map((change) => ({ path: change.path, target: change.from, last: change.to }));
    const staged = await checkpoints.changedPaths(repo, target.index_tree, last.index_tree);
    const entries = staged.map((change) => ({ path: change.path, target: change.from, last: change.to }));
    const plan = await checkpoints.planRestore(repo, {
      run_id: "run_t",
      paths,
      entries,
      overwrite: ask.overwrite ?? [],
      head: ask.head ?? null,
      checkpoint: target.commit,
    });
    const apply = (onSafety: () => Promise<void> = async () => {}) => applyPlan(repo, { paths, entries, onSafety }, plan, target);
    return { plan, apply };
  }

  function applyPlan(
    repo: Repository,
    owned: {
      readonly paths: readonly OwnedPath[];
      readonly entries: readonly OwnedPath[];
      readonly onSafety: () => Promise<void>;
    },
    plan: RestorePlan,
    target: Captured,
  ): Promise<RestoreResult> {
    count += 1;
    return checkpoints.applyRestore(repo, {
      run_id: "run_t",
      plan,
      ...owned,
      safety_id: `safety_${count}`,
      checkpoint: target.commit,
    });
  }

  return { box, checkpoints, capture, planBack };
}

/** What a person sees of the index: staged differences, flags, conflicts. */
export function staged(box: Sandbox, top: string): string {
  return `${box.git(top, "diff", "--cached")}\n${box.git(top, "ls-files", "-s", "-v")}`;
}
